#include "elementwise.hpp"

#include <cmath>

#include "activations_inline.hpp"
#include "broadcast_inline.hpp"

namespace xgrad {

using detail::map;
using detail::vector_map;

template <class T>
Array<T> exp(const Array<T>& x) {
  return vector_map(x, detail::cost_of<T>(0.5), [](T v) XGRAD_INLINE { return detail::exp_of(v); });
}

template <class T>
Array<T> log(const Array<T>& x) {
  return map(x, [](T v) { return std::log(v); });
}

template <class T>
Array<T> log1p(const Array<T>& x) {
  return map(x, [](T v) { return std::log1p(v); });
}

template <class T>
Array<T> expm1(const Array<T>& x) {
  return map(x, [](T v) { return std::expm1(v); });
}

template <class T>
Array<T> sqrt(const Array<T>& x) {
  return vector_map(x, 0.3, [](T v) XGRAD_INLINE { return std::sqrt(v); });
}

template <class T>
Array<T> rsqrt(const Array<T>& x) {
  return vector_map(x, 0.4, [](T v) XGRAD_INLINE { return T(1) / std::sqrt(v); });
}

template <class T>
Array<T> abs(const Array<T>& x) {
  return vector_map(x, 0.2, [](T v) XGRAD_INLINE { return std::abs(v); });
}

template <class T>
Array<T> square(const Array<T>& x) {
  return vector_map(x, 0.2, [](T v) XGRAD_INLINE { return v * v; });
}

template <class T>
Array<T> sign(const Array<T>& x) {
  return map(x, [](T v) { return v > 0 ? T(1) : v < 0 ? T(-1) : v == 0 ? T(0) : v; });
}

template <class T>
Array<T> sin(const Array<T>& x) {
  return map(x, [](T v) { return std::sin(v); });
}

template <class T>
Array<T> cos(const Array<T>& x) {
  return map(x, [](T v) { return std::cos(v); });
}

template <class T>
Array<T> tanh(const Array<T>& x) {
  return vector_map(x, detail::cost_of<T>(0.6), [](T v) XGRAD_INLINE { return detail::tanh_of(v); });
}

template <class T>
Array<T> erf(const Array<T>& x) {
  return map(x, [](T v) { return std::erf(v); });
}

#define XGRAD_INSTANTIATE(T)                 \
  template Array<T> exp(const Array<T>&);    \
  template Array<T> log(const Array<T>&);    \
  template Array<T> log1p(const Array<T>&);  \
  template Array<T> expm1(const Array<T>&);  \
  template Array<T> sqrt(const Array<T>&);   \
  template Array<T> rsqrt(const Array<T>&);  \
  template Array<T> abs(const Array<T>&);    \
  template Array<T> square(const Array<T>&); \
  template Array<T> sign(const Array<T>&);   \
  template Array<T> sin(const Array<T>&);    \
  template Array<T> cos(const Array<T>&);    \
  template Array<T> tanh(const Array<T>&);   \
  template Array<T> erf(const Array<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
