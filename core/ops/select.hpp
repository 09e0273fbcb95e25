// Choosing between numbers: the larger, the smaller, by a condition; and comparisons, which give constants.
//
// All broadcast as in NumPy and throw ShapeError for shapes that do not. Arrays, lazy expressions and numbers stand in
// any place beside a Variable. g is the gradient of the result.
#pragma once

#include "operands.hpp"

namespace xgrad {

/// The larger of a and b; NaN when either is. g goes to the larger one, half to each at a tie (total exactly g), and
/// to both where one is NaN.
template <class T>
Variable<T> maximum(const Variable<T>& a, const Variable<T>& b);

/// The smaller of a and b; NaN when either is. Gradient as for `maximum`.
template <class T>
Variable<T> minimum(const Variable<T>& a, const Variable<T>& b);

/// x held within [lo, hi]; gradient g where lo <= x <= hi, bounds included, else 0 (also at NaN, which stays NaN).
/// Throws std::invalid_argument unless lo <= hi.
template <class T>
Variable<T> clip(const Variable<T>& x, typename detail::not_deduced<T>::type lo,
                 typename detail::not_deduced<T>::type hi);

/// a where the condition is not 0, else b. g goes to the number that was chosen; the other one gets exactly 0, even
/// where it or g is inf or NaN. Throws GraphError for a condition that requires a gradient, since it has none.
/// Write `xgrad::where`: with an array among the arguments xt::where may be picked, which does not compile here.
template <class T>
Variable<T> where(const Variable<T>& condition, const Variable<T>& a, const Variable<T>& b);

/// -1, 0 or 1: a constant. (So are the comparisons below: their derivative is 0 wherever there is one.)
template <class T>
Variable<T> sign(const Variable<T>& x);

/// 1 where a == b, else 0; NaN equals nothing. A constant.
template <class T>
Variable<T> equal(const Variable<T>& a, const Variable<T>& b) {
  return xgrad::compare(a, b, "==");
}

/// 1 where a != b, else 0. A constant.
template <class T>
Variable<T> not_equal(const Variable<T>& a, const Variable<T>& b) {
  return xgrad::compare(a, b, "!=");
}

/// 1 where a > b, else 0. A constant; also written a > b.
template <class T>
Variable<T> greater(const Variable<T>& a, const Variable<T>& b) {
  return xgrad::compare(a, b, ">");
}

/// 1 where a >= b, else 0. A constant; also written a >= b.
template <class T>
Variable<T> greater_equal(const Variable<T>& a, const Variable<T>& b) {
  return xgrad::compare(a, b, ">=");
}

/// 1 where a < b, else 0. A constant; also written a < b.
template <class T>
Variable<T> less(const Variable<T>& a, const Variable<T>& b) {
  return xgrad::compare(a, b, "<");
}

/// 1 where a <= b, else 0. A constant; also written a <= b.
template <class T>
Variable<T> less_equal(const Variable<T>& a, const Variable<T>& b) {
  return xgrad::compare(a, b, "<=");
}

XGRAD_TAKES_CONSTANTS(maximum)
XGRAD_TAKES_CONSTANTS(minimum)
XGRAD_TAKES_CONSTANTS(equal)
XGRAD_TAKES_CONSTANTS(not_equal)
XGRAD_TAKES_CONSTANTS(greater)
XGRAD_TAKES_CONSTANTS(greater_equal)
XGRAD_TAKES_CONSTANTS(less)
XGRAD_TAKES_CONSTANTS(less_equal)

/// `where` on any mix that has a Variable in it.
template <class C, class A, class B>
detail::mixed_result<A, B, C> where(const C& condition, const A& a, const B& b) {
  using V = detail::mixed_result<A, B, C>;
  return ::xgrad::where(static_cast<const V&>(condition), static_cast<const V&>(a), static_cast<const V&>(b));
}

}  // namespace xgrad
