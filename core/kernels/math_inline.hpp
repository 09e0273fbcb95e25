// Functions of one number that compilers turn into vector code: no calls, no branches. For double they are the standard
// library's. Internal to the kernels.
//
// The float forms take every input: infinities and NaN as the standard functions do, denormal inputs and results too.
// Their errors, against double and over all of float (tests/core/kernels/math.cpp measures them, with and without FMA):
//
//     exp         1.5 ulp, denormal results half a step more
//     tanh        6 ulp
//     logistic    3 ulp
//     normal_cdf  2e-7 absolute; 0 below -5.5 and 1 above 5.5, where it is within 2e-8 of them
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "parallel_inline.hpp"

namespace xgrad::detail {

template <class To, class From>
XGRAD_INLINE inline To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

template <class T>
XGRAD_INLINE inline T magnitude(T x) {
  return std::abs(x);
}

/// 2^k for k in [-126, 127].
XGRAD_INLINE inline float power_of_two(std::int32_t k) {
  return bit_cast<float>(static_cast<std::uint32_t>(k + 127) << 23);
}

/// e^x = 2^k e^r, k whole and |r| <= log(2) / 2; e^r by a polynomial. Adding `shift`, 1.5 * 2^23 and a whole number,
/// rounds to whole numbers: then the last bits of `shifted` are k and that number.
struct ExpParts {
  XGRAD_INLINE ExpParts(float x, float shift) {
    const float sum = x * 1.44269504f + shift;  // 1 / log(2)
    const float k = sum - shift;
    // log(2) in two parts, of which the first times k is exact.
    const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    float p = 0.00139264004798f;
    p = p * r + 0.00836335268256f;
    p = p * r + 0.0416665533108f;
    p = p * r + 0.166665759439f;
    p = p * r + 0.5f;
    power = (p * r) * r + r + 1.0f;
    shifted = bit_cast<std::uint32_t>(sum);
  }
  float power;
  std::uint32_t shifted;
};

XGRAD_INLINE inline float exp_of(float x) {
  const float high = 89.0f, low = -104.0f;  // beyond, inf and 0 in any case
  const float shift = 12582912.0f;
  const ExpParts e(x > high ? high : x < low ? low : x, shift);
  const auto k = static_cast<std::int32_t>(e.shifted - bit_cast<std::uint32_t>(shift));
  const std::int32_t half = k >> 1;  // in two steps, since 2^k alone may be out of range
  return e.power * power_of_two(half) * power_of_two(k - half);
}

/// The same for x <= 0, with less work: 2^k = 2^(k + 64) 2^-64, the first of which is always in range.
XGRAD_INLINE inline float exp_of_negative(float x) {
  const float low = -104.0f;
  const ExpParts e(x < low ? low : x, 12582912.0f + 64.0f);
  return e.power * bit_cast<float>((e.shifted << 23) + 0x3f800000u) * 0x1p-64f;
}
XGRAD_INLINE inline double exp_of_negative(double x) { return std::exp(x); }
XGRAD_INLINE inline double exp_of(double x) { return std::exp(x); }

XGRAD_INLINE inline float tanh_of(float x) {
  const float held = x > 9.1f ? 9.1f : x < -9.1f ? -9.1f : x, t = held * held;
  float p = 3.64029274266e-11f, q = 2.93098259195e-9f;
  p = p * t + 1.10633426796e-7f;
  p = p * t + 4.21797991787e-5f;
  p = p * t + 0.00442231619969f;
  p = p * t + 0.14096486465f;
  p = p * t + 1.0f;
  q = q * t + 2.59510304011e-6f;
  q = q * t + 0.000500134408908f;
  q = q * t + 0.0291883828357f;
  q = q * t + 0.474298197555f;
  q = q * t + 1.0f;
  const float y = held * p / q;
  return y > 1.0f ? 1.0f : y < -1.0f ? -1.0f : y;
}
XGRAD_INLINE inline double tanh_of(double x) { return std::tanh(x); }

/// 1 / (1 + e^-x); e^-|x| is at most 1, so neither branch overflows or loses digits.
template <class T>
XGRAD_INLINE inline T logistic(T x) {
  const T e = exp_of_negative(-magnitude(x));
  return (x < 0 ? e : T(1)) / (T(1) + e);
}

/// The normal distribution function: 1/2 + x P(x^2) / Q(x^2).
XGRAD_INLINE inline float normal_cdf_of(float x) {
  const float t = x * x;
  float p = 2.2757427776e-8f, q = 1.19742776637e-6f;
  p = p * t + 6.34796405734e-6f;
  p = p * t + 0.000168531779288f;
  p = p * t + 0.00467547864282f;
  p = p * t + 0.0338261234398f;
  p = p * t + 0.398942237397f;
  q = q * t + 7.35415574825e-5f;
  q = q * t + 0.00188280754575f;
  q = q * t + 0.0286302749911f;
  q = q * t + 0.251455473517f;
  q = q * t + 1.0f;
  const float y = 0.5f + x * p / q;
  return x > 5.5f ? 1.0f : x < -5.5f ? 0.0f : y;
}
XGRAD_INLINE inline double normal_cdf_of(double x) { return 0.5 * std::erfc(-0.70710678118654752440 * x); }

template <class T>
XGRAD_INLINE inline T normal_pdf_of(T x) {
  return T(0.39894228040143267794) * exp_of_negative(T(-0.5) * x * x);  // 1 / sqrt(2 pi)
}

}  // namespace xgrad::detail
