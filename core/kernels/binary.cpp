#include "binary.hpp"

#include <cmath>

#include "broadcast_inline.hpp"

namespace xgrad {

using detail::binary;
using detail::map;

namespace {

// Equal shapes, by far the most frequent, in vector code and threads.
template <class T, class F>
Array<T> arithmetic(const char* who, const Array<T>& a, const Array<T>& b, F f) {
  return same_shape(a.shape(), b.shape()) ? detail::vector_map(a, b, 0.2, f) : binary(who, a, b, f);
}

}  // namespace

template <class T>
Array<T> add(const Array<T>& a, const Array<T>& b) {
  return arithmetic("add", a, b, [](T x, T y) XGRAD_INLINE { return x + y; });
}

template <class T>
Array<T> sub(const Array<T>& a, const Array<T>& b) {
  return arithmetic("sub", a, b, [](T x, T y) XGRAD_INLINE { return x - y; });
}

template <class T>
Array<T> mul(const Array<T>& a, const Array<T>& b) {
  return arithmetic("mul", a, b, [](T x, T y) XGRAD_INLINE { return x * y; });
}

template <class T>
Array<T> div(const Array<T>& a, const Array<T>& b) {
  return arithmetic("div", a, b, [](T x, T y) XGRAD_INLINE { return x / y; });
}

template <class T>
Array<T> pow(const Array<T>& a, const Array<T>& b) {
  return binary("pow", a, b, [](T x, T y) { return std::pow(x, y); });
}

template <class T>
Array<T> pow(const Array<T>& x, typename detail::not_deduced<T>::type exponent) {
  if (exponent == 2) return map(x, [](T v) { return v * v; });
  return map(x, [exponent](T v) { return std::pow(v, exponent); });
}

// A comparison with NaN is false, so each picks b when b is NaN; a is looked at explicitly.
template <class T>
Array<T> maximum(const Array<T>& a, const Array<T>& b) {
  return binary("maximum", a, b, [](T x, T y) { return x > y || x != x ? x : y; });
}

template <class T>
Array<T> minimum(const Array<T>& a, const Array<T>& b) {
  return binary("minimum", a, b, [](T x, T y) { return x < y || x != x ? x : y; });
}

template <class T>
Array<T> clip(const Array<T>& x, typename detail::not_deduced<T>::type lo, typename detail::not_deduced<T>::type hi) {
  if (!(lo <= hi)) fail<std::invalid_argument>("clip", "lo must not be above hi but got lo ", lo, " and hi ", hi);
  return map(x, [lo, hi](T v) { return v < lo ? lo : v > hi ? hi : v; });
}

template <class T>
Array<T> where(const Array<T>& condition, const Array<T>& a, const Array<T>& b) {
  const Shape values = broadcast_shape("where", a.shape(), b.shape());
  Array<T> result = empty<T>(broadcast_shape("where", condition.shape(), values));
  T* out = result.data();
  const auto row = [&](const auto& at, std::size_t n, const auto& step) {
    const T *c = condition.data() + at[0], *x = a.data() + at[1], *y = b.data() + at[2];
    if (step[0] == 1 && step[1] == 1 && step[2] == 1) {
      for (std::size_t i = 0; i < n; ++i) out[i] = c[i] != 0 ? x[i] : y[i];
    } else if (step[0] == 1 && step[1] == 1 && step[2] == 0) {
      for (std::size_t i = 0; i < n; ++i) out[i] = c[i] != 0 ? x[i] : *y;
    } else {
      for (std::size_t i = 0; i < n; ++i, c += step[0], x += step[1], y += step[2]) out[i] = *c != 0 ? *x : *y;
    }
    out += n;
  };
  detail::broadcast_walk(result.shape(), condition.shape(), a.shape(), b.shape()).each_row(row);
  return result;
}

#define XGRAD_INSTANTIATE(T)                                   \
  template Array<T> add(const Array<T>&, const Array<T>&);     \
  template Array<T> sub(const Array<T>&, const Array<T>&);     \
  template Array<T> mul(const Array<T>&, const Array<T>&);     \
  template Array<T> div(const Array<T>&, const Array<T>&);     \
  template Array<T> pow(const Array<T>&, const Array<T>&);     \
  template Array<T> pow<T>(const Array<T>&, T);                \
  template Array<T> maximum(const Array<T>&, const Array<T>&); \
  template Array<T> minimum(const Array<T>&, const Array<T>&); \
  template Array<T> clip<T>(const Array<T>&, T, T);            \
  template Array<T> where(const Array<T>&, const Array<T>&, const Array<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
