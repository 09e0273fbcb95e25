// Functions of two or three arrays with NumPy's broadcasting. Throw ShapeError for shapes that do not broadcast.
//
// Every argument may also be a lazy xtensor expression or a plain number, as long as one is an array or expression.
// T is float or double: an Index is converted first, `equal(from<double>(predicted), from<double>(labels))`.
#pragma once

#include "../array.hpp"

namespace xgrad {

/// a + b.
template <class T>
Array<T> add(const Array<T>& a, const Array<T>& b);

/// a - b.
template <class T>
Array<T> sub(const Array<T>& a, const Array<T>& b);

/// a * b, number by number.
template <class T>
Array<T> mul(const Array<T>& a, const Array<T>& b);

/// a / b; a zero divisor gives inf or NaN as in IEEE 754.
template <class T>
Array<T> div(const Array<T>& a, const Array<T>& b);

/// a^b; NaN for a < 0 with b not whole, 1 for b = 0.
template <class T>
Array<T> pow(const Array<T>& a, const Array<T>& b);

/// The larger of a and b; NaN when either is.
template <class T>
Array<T> maximum(const Array<T>& a, const Array<T>& b);

/// The smaller of a and b; NaN when either is.
template <class T>
Array<T> minimum(const Array<T>& a, const Array<T>& b);

/// 1 where a > b, else 0.
template <class T>
Array<T> greater(const Array<T>& a, const Array<T>& b);

/// 1 where a >= b, else 0.
template <class T>
Array<T> greater_equal(const Array<T>& a, const Array<T>& b);

/// 1 where a < b, else 0.
template <class T>
Array<T> less(const Array<T>& a, const Array<T>& b);

/// 1 where a <= b, else 0.
template <class T>
Array<T> less_equal(const Array<T>& a, const Array<T>& b);

/// 1 where a == b, else 0; NaN equals nothing.
template <class T>
Array<T> equal(const Array<T>& a, const Array<T>& b);

/// 1 where a != b, else 0.
template <class T>
Array<T> not_equal(const Array<T>& a, const Array<T>& b);

/// a where the condition is not 0, else b; all three broadcast. The number that is not chosen has no influence.
template <class T>
Array<T> where(const Array<T>& condition, const Array<T>& a, const Array<T>& b);

namespace detail {

/// T in a place from which a template argument is not deduced: the other arguments say what it is.
template <class T>
struct not_deduced {
  using type = T;
};

}  // namespace detail

/// x to one power; `pow(x, 2)` is x * x.
template <class T>
Array<T> pow(const Array<T>& x, typename detail::not_deduced<T>::type exponent);

/// x held within [lo, hi]; NaN stays. Throws std::invalid_argument unless lo <= hi.
template <class T>
Array<T> clip(const Array<T>& x, typename detail::not_deduced<T>::type lo, typename detail::not_deduced<T>::type hi);

namespace detail {

template <class A>
struct is_array : std::false_type {};
template <class T>
struct is_array<Array<T>> : std::true_type {};

template <class A>
inline constexpr bool is_number = std::is_arithmetic_v<A>;
template <class A>
inline constexpr bool is_lazy = is_expression<A> && !is_array<A>::value;

template <class A, bool = is_number<A>>
struct element {  // of a number: nothing, it follows the others
  using type = void;
};
template <class A>
struct element<A, false> {
  using type = typename A::value_type;
};

// The T of a mixed call: that of an array if there is one, else the common type of the expressions.
template <class A, class B>
struct operand_type {
  using EA = typename element<A>::type;
  using EB = typename element<B>::type;
  template <class X, class Y>
  static auto common() {
    if constexpr (std::is_void_v<X>) return Y();
    else if constexpr (std::is_void_v<Y>) return X();
    else return std::common_type_t<X, Y>();
  }
  static auto pick() {
    if constexpr (is_array<A>::value) return EA();
    else if constexpr (is_array<B>::value) return EB();
    else return common<EA, EB>();
  }
  using type = decltype(pick());
};

template <class A>
inline constexpr bool is_operand = is_expression<A> || is_number<A>;

// Operands of which at least one is an expression and at least one is no array.
template <class... A>
inline constexpr bool mixed = (is_operand<A> && ...) && (is_expression<A> || ...) && !(is_array<A>::value && ...);

/// The operand as an Array<T>: itself, the expression evaluated, or a number as a 0-d array.
template <class T, class A>
decltype(auto) operand(const A& a) {
  if constexpr (is_number<A>) return full<T>({}, static_cast<T>(a));
  else if constexpr (std::is_same_v<A, Array<T>>) return static_cast<const A&>(a);
  else return from<T>(a);
}

}  // namespace detail

/// Lets either argument of `function` be an xtensor expression or a number.
#define XGRAD_TAKES_OPERANDS(function)                                                \
  template <class A, class B, class = std::enable_if_t<::xgrad::detail::mixed<A, B>>> \
  auto function(const A& a, const B& b) {                                             \
    using T = typename ::xgrad::detail::operand_type<A, B>::type;                     \
    using ::xgrad::detail::operand;                                                   \
    return ::xgrad::function(operand<T>(a), operand<T>(b));                           \
  }
XGRAD_TAKES_OPERANDS(add)
XGRAD_TAKES_OPERANDS(sub)
XGRAD_TAKES_OPERANDS(mul)
XGRAD_TAKES_OPERANDS(div)
XGRAD_TAKES_OPERANDS(maximum)
XGRAD_TAKES_OPERANDS(minimum)
XGRAD_TAKES_OPERANDS(greater)
XGRAD_TAKES_OPERANDS(greater_equal)
XGRAD_TAKES_OPERANDS(less)
XGRAD_TAKES_OPERANDS(less_equal)
XGRAD_TAKES_OPERANDS(equal)
XGRAD_TAKES_OPERANDS(not_equal)

/// `pow` on any mix of arrays, expressions and numbers.
template <class A, class B,
          class = std::enable_if_t<detail::mixed<A, B> && !(detail::is_array<A>::value && detail::is_number<B>)>>
auto pow(const A& a, const B& b) {
  using T = typename detail::operand_type<A, B>::type;
  if constexpr (detail::is_number<B>) return ::xgrad::pow(detail::operand<T>(a), static_cast<T>(b));
  else return ::xgrad::pow(detail::operand<T>(a), detail::operand<T>(b));
}

/// `where` on any mix of arrays, expressions (a condition such as `x > 0`) and numbers.
template <class C, class A, class B,
          class = std::enable_if_t<detail::mixed<C, A, B> && (is_expression<A> || is_expression<B>)>>
auto where(const C& condition, const A& a, const B& b) {
  using T = typename detail::operand_type<A, B>::type;
  return ::xgrad::where(detail::operand<T>(condition), detail::operand<T>(a), detail::operand<T>(b));
}

/// `clip` of an expression.
template <class E, class = std::enable_if_t<detail::is_lazy<E>>>
auto clip(const E& x, typename E::value_type lo, typename E::value_type hi) {
  return ::xgrad::clip(from(x), lo, hi);
}

}  // namespace xgrad
