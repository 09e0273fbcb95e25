#include "elementwise.hpp"

#include <cmath>

#include "broadcast_inline.hpp"

namespace xgrad {

using detail::map;

template <class T>
Array<T> exp(const Array<T>& x) {
  return map(x, [](T v) { return std::exp(v); });
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
  return map(x, [](T v) { return std::sqrt(v); });
}

template <class T>
Array<T> rsqrt(const Array<T>& x) {
  return map(x, [](T v) { return T(1) / std::sqrt(v); });
}

template <class T>
Array<T> abs(const Array<T>& x) {
  return map(x, [](T v) { return std::abs(v); });
}

template <class T>
Array<T> square(const Array<T>& x) {
  return map(x, [](T v) { return v * v; });
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
  return map(x, [](T v) { return std::tanh(v); });
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
