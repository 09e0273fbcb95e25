// The activations of elementwise.hpp.
#include <cmath>

#include "broadcast_inline.hpp"
#include "elementwise.hpp"

namespace xgrad {

using detail::map;

namespace {

constexpr double kInverseSqrt2 = 0.70710678118654752440;    // 1 / sqrt(2)
constexpr double kInverseSqrt2Pi = 0.39894228040143267794;  // 1 / sqrt(2 pi)
constexpr double kSqrt2OverPi = 0.79788456080286535588;     // sqrt(2 / pi)
constexpr double kCubic = 0.044715;

// e^-|x| is at most 1, so neither branch overflows or loses digits.
template <class T>
T logistic(T x) {
  const T e = std::exp(-std::abs(x));
  return (x < 0 ? e : T(1)) / (T(1) + e);
}

template <class T>
T pdf(T x) {
  return T(kInverseSqrt2Pi) * std::exp(T(-0.5) * x * x);
}

template <class T>
T cdf(T x) {
  return T(0.5) * std::erfc(T(-kInverseSqrt2) * x);
}

// x * factor where the factor wins against an infinite x.
template <class T>
T damped(T x, T factor) {
  return factor == 0 ? T(0) : x * factor;
}

// gelu_tanh is x sigmoid(2 u), since (1 + tanh u) / 2 = sigmoid(2 u), which keeps its digits far below 0.
template <class T>
T twice_u(T x) {
  return T(2 * kSqrt2OverPi) * (x + T(kCubic) * x * x * x);
}

}  // namespace

template <class T>
Array<T> sigmoid(const Array<T>& x) {
  return map(x, [](T v) { return logistic(v); });
}

template <class T>
Array<T> softplus(const Array<T>& x) {
  return map(x, [](T v) { return (v > 0 ? v : T(0)) + std::log1p(std::exp(-std::abs(v))); });
}

template <class T>
Array<T> relu(const Array<T>& x) {
  return map(x, [](T v) { return v <= 0 ? T(0) : v; });  // this way round NaN stays
}

template <class T>
Array<T> gelu(const Array<T>& x) {
  return map(x, [](T v) { return damped(v, cdf(v)); });
}

template <class T>
Array<T> gelu_grad(const Array<T>& x) {
  return map(x, [](T v) { return cdf(v) + damped(v, pdf(v)); });
}

template <class T>
Array<T> gelu_tanh(const Array<T>& x) {
  return map(x, [](T v) { return damped(v, logistic(twice_u(v))); });
}

template <class T>
Array<T> gelu_tanh_grad(const Array<T>& x) {
  return map(x, [](T v) {
    const T s = logistic(twice_u(v)), rest = logistic(-twice_u(v));
    const T slope = T(2 * kSqrt2OverPi) * (T(1) + T(3 * kCubic) * v * v);  // of 2 u
    return s + damped(v * slope, s * rest);
  });
}

template <class T>
Array<T> silu(const Array<T>& x) {
  return map(x, [](T v) { return damped(v, logistic(v)); });
}

template <class T>
Array<T> silu_grad(const Array<T>& x) {
  return map(x, [](T v) {
    const T s = logistic(v);
    return s + damped(v, s * logistic(-v));
  });
}

template <class T>
Array<T> normal_pdf(const Array<T>& x) {
  return map(x, [](T v) { return pdf(v); });
}

template <class T>
Array<T> normal_cdf(const Array<T>& x) {
  return map(x, [](T v) { return cdf(v); });
}

#define XGRAD_INSTANTIATE(T)                         \
  template Array<T> sigmoid(const Array<T>&);        \
  template Array<T> softplus(const Array<T>&);       \
  template Array<T> relu(const Array<T>&);           \
  template Array<T> gelu(const Array<T>&);           \
  template Array<T> gelu_grad(const Array<T>&);      \
  template Array<T> gelu_tanh(const Array<T>&);      \
  template Array<T> gelu_tanh_grad(const Array<T>&); \
  template Array<T> silu(const Array<T>&);           \
  template Array<T> silu_grad(const Array<T>&);      \
  template Array<T> normal_pdf(const Array<T>&);     \
  template Array<T> normal_cdf(const Array<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
