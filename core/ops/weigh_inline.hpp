// Building blocks of derivatives that are locally constant or divide by something that can be 0. Each works on arrays
// in an ordinary pass and on Variables in a recorded one. Internal to the ops.
#pragma once

#include "../kernels/broadcast_inline.hpp"
#include "../record.hpp"
#include "reduction.hpp"
#include "select.hpp"

namespace xgrad::detail {

/// g w(x) number by number, and exactly 0 where w(x) is 0, even for an infinite g. w is locally constant in x.
template <class T, class W>
Array<T> weigh(const Array<T>& g, const Array<T>& x, W w) {
  return binary("backward", g, x, [w](T g_, T x_) {
    const T weight = w(x_);
    return weight == T(0) ? T(0) : g_ * weight;
  });
}
template <class T, class W>
Variable<T> weigh(const Variable<T>& g, const Variable<T>& x, W w) {
  const Variable<T> weight(map(x.value(), w));
  return xgrad::where(weight, g, Variable<T>(0)) * weight;
}

/// The share of a in max(a, b), or with -1 for `side` in min(a, b): 1, 0, or 1/2 at a tie.
template <class G>
auto share(const G& a, const G& b, int side) {
  using T = typename G::value_type;
  return G(binary("backward", array_of(a), array_of(b), [side](T x, T y) {
    if (x == y) return T(0.5);
    return (side > 0 ? x < y : x > y) ? T(0) : T(1);
  }));
}

/// 1 where y is 0, else 0; a constant.
template <class G>
G is_zero(const G& y) {
  using T = typename G::value_type;
  return G(map(array_of(y), [](T v) { return T(v == T(0)); }));
}

/// g / y, but 0 where both are 0.
template <class T>
Array<T> quotient(const Array<T>& g, const Array<T>& y) {
  return binary("backward", g, y, [](T a, T b) { return a == T(0) && b == T(0) ? T(0) : a / b; });
}
template <class T>
Variable<T> quotient(const Variable<T>& g, const Variable<T>& y) {
  const Variable<T> none = is_zero(g) * is_zero(y);
  return g * (T(1) - none) / (y + none);
}

/// g / y, but 0 where y is 0.
template <class T>
Array<T> over(const Array<T>& g, const Array<T>& y) {
  return binary("backward", g, y, [](T a, T b) { return b == T(0) ? T(0) : a / b; });
}
template <class T>
Variable<T> over(const Variable<T>& g, const Variable<T>& y) {
  const Variable<T> none = is_zero(y);
  return g * (T(1) - none) / (y + none);
}

/// x - mean(x), twice: the mean of a large offset loses digits when it is rounded to T, and what is left of it has a
/// mean of its own.
template <class G>
G centred(const G& x, const Axes& axes) {
  const G once = xgrad::sub(x, xgrad::mean(x, axes, keep_dims));
  return xgrad::sub(once, xgrad::mean(once, axes, keep_dims));
}

/// x within the range outside of which e^-|x| is 0. A derivative that falls at least so fast has all its limits at the
/// ends of that range, and there no power of x overflows to give inf * 0.
template <class G>
G held(const G& x) {
  using T = typename G::value_type;
  const T end = sizeof(T) == 4 ? T(128) : T(1024);
  return xgrad::clip(x, -end, end);
}

}  // namespace xgrad::detail
