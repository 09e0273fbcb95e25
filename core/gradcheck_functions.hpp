// What gradcheck takes for a function (of Variables or of plain arrays, double or float), brought to one form.
#pragma once

#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "variable.hpp"

namespace xgrad::detail {

template <class T>
using CheckedFunction = std::function<Variable<T>(const std::vector<Variable<T>>&)>;

/// A function of plain arrays with its backward pass; float ones are converted on the way in and out.
struct ArrayFunction {
  using Inputs = std::vector<const Array<double>*>;
  std::function<Array<double>(const Inputs&)> value;
  std::function<std::vector<Array<double>>(const Inputs&, const Array<double>&)> gradients;
};

/// How many A a function F takes whose result converts to R: one to five, `any_number` in a vector, or `none`.
inline constexpr std::size_t any_number = 0, none = 9;
template <class A, std::size_t>
using Repeat = const A&;
template <class R, class F, class A, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_r_v<R, F&, Repeat<A, I>...>;
}
template <class R, class F, class A, std::size_t n = 1>
constexpr std::size_t arity() {
  if constexpr (n > 5) return std::is_invocable_r_v<R, F&, const std::vector<A>&> ? any_number : none;
  else if constexpr (takes<R, F, A>(std::make_index_sequence<n>())) return n;
  else return arity<R, F, A, n + 1>();
}

void check_arity(std::size_t takes, std::size_t given);

template <class F, class A, std::size_t... I, class... Last>
decltype(auto) call(F& f, const std::vector<A>& v, std::index_sequence<I...>, const Last&... last) {
  return f(v[I]..., last...);
}
/// f of the n entries of v, or of v itself, and of what comes last.
template <std::size_t n, class F, class A, class... Last>
decltype(auto) spread(F& f, const std::vector<A>& v, const Last&... last) {
  if constexpr (n == any_number) return f(v, last...);
  else return check_arity(n, v.size()), call(f, v, std::make_index_sequence<n>(), last...);
}

// --- functions of Variables ---------------------------------------------------

template <class T, class F>
inline constexpr bool takes_variables = arity<Variable<T>, F, Variable<T>>() != none;

/// Refers to f.
template <class T, class F>
CheckedFunction<T> checked_function(F& f) {
  static_assert(takes_variables<T, F>,
                "gradcheck needs a function of one to five Variables, or of a std::vector of them, that returns a "
                "Variable of the same number type");
  constexpr std::size_t n = arity<Variable<T>, F, Variable<T>>();
  return [&f](const std::vector<Variable<T>>& v) -> Variable<T> { return spread<n>(f, v); };
}

// --- functions of plain arrays ------------------------------------------------

/// The number type of the first argument, when it is an array or a vector of them.
template <class A>
struct NumberOf {
  using type = double;
};
template <>
struct NumberOf<Array<float>> {
  using type = float;
};
template <>
struct NumberOf<std::vector<Array<float>>> {
  using type = float;
};
template <class R, class A, class... B>
NumberOf<std::decay_t<A>> first_argument(R (*)(A, B...));
template <class C, class R, class A, class... B>
NumberOf<std::decay_t<A>> first_argument(R (C::*)(A, B...));
template <class C, class R, class A, class... B>
NumberOf<std::decay_t<A>> first_argument(R (C::*)(A, B...) const);

/// float for a function of Array<float>; double for one of Array<double>, and for a generic one.
template <class F, class = void>
struct ArrayNumber : NumberOf<void> {};
template <class F>
struct ArrayNumber<F, std::void_t<decltype(first_argument(&F::operator()))>>
    : decltype(first_argument(&F::operator())) {};
template <class F>
struct ArrayNumber<F, std::enable_if_t<std::is_function_v<std::remove_pointer_t<F>>>>
    : decltype(first_argument(std::declval<std::decay_t<F>>())) {};

template <class T, class X>
Array<T> as_array(X&& x) {
  using D = std::decay_t<X>;
  if constexpr (std::is_arithmetic_v<D>) return full<T>({}, static_cast<T>(x));
  else if constexpr (std::is_same_v<D, std::vector<T>>) return from(x);
  else {
    static_assert(std::is_same_v<D, Array<T>>,
                  "gradcheck: functions on arrays must return an Array of their inputs' number type, a std::vector of "
                  "numbers or a number; a lazy expression may refer to arrays that are gone: write the return type");
    return std::forward<X>(x);
  }
}

template <class G, class = void>
inline constexpr bool is_tuple = false;
template <class G>
inline constexpr bool is_tuple<G, std::void_t<decltype(std::tuple_size<G>::value)>> = true;

template <class T, class G>
std::vector<Array<T>> as_list(G&& g) {
  using D = std::decay_t<G>;
  std::vector<Array<T>> list;
  if constexpr (std::is_same_v<D, std::vector<Array<T>>>) list = std::forward<G>(g);
  else if constexpr (is_tuple<D>)
    std::apply([&](auto&&... x) { (list.push_back(as_array<T>(std::forward<decltype(x)>(x))), ...); },
               std::forward<G>(g));  // a tuple of references leaves what it refers to
  else list.push_back(as_array<T>(std::forward<G>(g)));
  return list;
}

template <class T>
std::vector<Array<T>> numbers_as(const ArrayFunction::Inputs& arrays) {
  std::vector<Array<T>> result;
  for (const auto* a : arrays) result.push_back(from<T>(*a));
  return result;
}

/// Refers to both functions.
template <class T, class Forward, class Backward>
ArrayFunction array_function(Forward& forward, Backward& backward) {
  constexpr std::size_t n = arity<void, Forward, Array<T>>();
  static_assert(n != none, "gradcheck: forward must take one to five Arrays, or a std::vector of them");
  constexpr bool listed = std::is_invocable_v<Backward&, const std::vector<Array<T>>&, const Array<T>&>;
  constexpr bool spreads =
      n != any_number && n != none && takes<void, Backward, Array<T>>(std::make_index_sequence<n + 1>());
  static_assert(spreads || listed,
                "gradcheck: backward must take the Arrays that forward takes, or a std::vector of them, and then the "
                "gradient of forward's result");
  constexpr std::size_t m = spreads ? n : any_number;
  ArrayFunction f;
  f.value = [&forward](const ArrayFunction::Inputs& x) {
    return from<double>(as_array<T>(spread<n>(forward, numbers_as<T>(x))));
  };
  f.gradients = [&backward](const ArrayFunction::Inputs& x, const Array<double>& upstream) {
    const Array<T> last = from<T>(upstream);
    const auto gradients = as_list<T>(spread<m>(backward, numbers_as<T>(x), last));
    std::vector<Array<double>> result;
    for (const auto& g : gradients) result.push_back(from<double>(g));
    return result;
  };
  return f;
}

}  // namespace xgrad::detail
