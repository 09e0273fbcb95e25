// Functions of several Variables take arrays, lazy expressions and numbers in any place, as constants.
#pragma once

#include "../arithmetic.hpp"
#include "../kernels/binary.hpp"
#include "../variable.hpp"

namespace xgrad {

namespace detail {

template <class A>
struct variable_element {
  using type = void;
};
template <class T>
struct variable_element<Variable<T>> {
  using type = T;
};

template <class A>
inline constexpr bool is_variable = !std::is_void_v<typename variable_element<A>::type>;

// Operands of which some are Variables and some are not.
template <class... A>
inline constexpr bool mixes_variables = ((is_operand<A> || is_variable<A>)&&...) && (is_variable<A> || ...) &&
                                        !(is_variable<A> && ...);

/// The T of the first Variable among the operands; another Variable must be of the same T.
template <class A, class... Rest>
struct variables_type : std::conditional_t<is_variable<A>, variable_element<A>, variables_type<Rest...>> {};
template <class A>
struct variables_type<A> : variable_element<A> {};

/// What such a call gives: a Variable. No type, so that the overload steps aside, for any other operands.
template <class... A>
using mixed_result = std::enable_if_t<mixes_variables<A...>, Variable<typename variables_type<A...>::type>>;

}  // namespace detail

/// Lets either of the first two arguments of `function` be an array, an expression or a number beside a Variable.
#define XGRAD_TAKES_CONSTANTS(function)                                                       \
  template <class A, class B, class... Rest>                                                  \
  ::xgrad::detail::mixed_result<A, B> function(const A& a, const B& b, const Rest&... rest) { \
    using V = ::xgrad::detail::mixed_result<A, B>;                                            \
    return ::xgrad::function(static_cast<const V&>(a), static_cast<const V&>(b), rest...);    \
  }
XGRAD_TAKES_CONSTANTS(add)
XGRAD_TAKES_CONSTANTS(sub)
XGRAD_TAKES_CONSTANTS(mul)
XGRAD_TAKES_CONSTANTS(div)

}  // namespace xgrad
