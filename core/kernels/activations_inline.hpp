// Each activation as its value and its slope at one number. Internal to the kernels.
#pragma once

#include "math_inline.hpp"

namespace xgrad::detail {

/// x * factor where the factor wins against an infinite x.
template <class T>
XGRAD_INLINE inline T damped(T x, T factor) {
  return factor == 0 ? T(0) : x * factor;
}

struct Relu {
  static constexpr double cost = 0.2;  // nanoseconds a float
  template <class T>
  XGRAD_INLINE static T value(T x) {
    return x <= 0 ? T(0) : x;  // this way round NaN stays
  }
  template <class T>
  XGRAD_INLINE static T slope(T x) {
    return x <= 0 ? T(0) : x > 0 ? T(1) : x;
  }
};

struct Gelu {
  static constexpr double cost = 0.8;
  template <class T>
  XGRAD_INLINE static T value(T x) {
    return damped(x, normal_cdf_of(x));
  }
  template <class T>
  XGRAD_INLINE static T slope(T x) {
    return normal_cdf_of(x) + damped(x, normal_pdf_of(x));
  }
};

struct GeluTanh {
  static constexpr double cost = 0.8;
  // x sigmoid(2 u), since (1 + tanh u) / 2 = sigmoid(2 u), which keeps its digits far below 0.
  template <class T>
  XGRAD_INLINE static T twice_u(T x) {
    return T(2 * 0.79788456080286535588) * (x + T(0.044715) * x * x * x);  // sqrt(2 / pi)
  }
  template <class T>
  XGRAD_INLINE static T value(T x) {
    return damped(x, logistic(twice_u(x)));
  }
  template <class T>
  XGRAD_INLINE static T slope(T x) {
    const T s = logistic(twice_u(x)), rest = logistic(-twice_u(x));
    const T steep = T(2 * 0.79788456080286535588) * (T(1) + T(3 * 0.044715) * x * x);  // of 2 u
    return s + damped(x * steep, s * rest);
  }
};

struct Silu {
  static constexpr double cost = 0.8;
  template <class T>
  XGRAD_INLINE static T value(T x) {
    return damped(x, logistic(x));
  }
  template <class T>
  XGRAD_INLINE static T slope(T x) {
    const T s = logistic(x);
    return s + damped(x, s * logistic(-x));
  }
};

/// A cost in nanoseconds of float vector code as that of T; the double functions are calls.
template <class T>
constexpr double cost_of(double of_float) {
  return sizeof(T) == 4 ? of_float : 10 * of_float;
}

}  // namespace xgrad::detail
