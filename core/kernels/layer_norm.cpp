#include "layer_norm.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "columns_inline.hpp"

namespace xgrad {

namespace {

using detail::lane_sum;
using detail::lane_sums;
using detail::parallel;

// x - mean in T, with the digits of the double mean: the first difference is all but exact, and `low` is what the mean
// loses when rounded to T (0 for double).
template <class T>
struct Centre {
  XGRAD_INLINE explicit Centre(double mean)
      : high(static_cast<T>(mean)), low(static_cast<T>(mean - static_cast<double>(high))) {}
  XGRAD_INLINE T operator()(T x) const { return (x - high) - low; }
  T high, low;
};

// sum f(j)^2 in T; in double where that overflows.
template <class T, class F>
XGRAD_INLINE inline double sum_of_squares(std::size_t width, F f) {
  const double total = lane_sum<T>(width, [=](std::size_t j) XGRAD_INLINE { return f(j) * f(j); });
  if (std::isfinite(total)) return total;
  return lane_sum<double>(width, [=](std::size_t j) XGRAD_INLINE {
    const double v = static_cast<double>(f(j));
    return v * v;
  });
}

template <class T>
XGRAD_INLINE inline double squared_deviations(const T* x, std::size_t width, double mean) {
  const Centre<T> centred(mean);
  return sum_of_squares<T>(width, [=](std::size_t j) XGRAD_INLINE { return centred(x[j]); });
}

struct Moments {
  double mean, squares;  // squares: the sum of squared deviations
};

// A first sum relative to the first number, so that a constant row has exactly its mean and a common offset costs no
// digits; then deviations from that, whose own mean says what it missed. In double where T overflows.
template <class T>
XGRAD_INLINE inline Moments moments(const T* x, std::size_t width) {
  const double n = static_cast<double>(width);
  const T first = x[0];
  const double shift = lane_sum<T>(width, [=](std::size_t j) XGRAD_INLINE { return x[j] - first; });
  const double mean = static_cast<double>(first) + shift / n;
  const Centre<T> centred(mean);
  const auto sums = lane_sums<T, 2>(width, [=](std::size_t j) XGRAD_INLINE {
    const T v = centred(x[j]);
    return std::array<T, 2>{v, v * v};
  });
  if (!std::isfinite(sums[1])) {
    const double wide = lane_sum<double>(
        width, [=](std::size_t j) XGRAD_INLINE { return static_cast<double>(x[j]) - static_cast<double>(first); });
    const double exact = static_cast<double>(first) + wide / n;
    return {exact, squared_deviations(x, width, exact)};
  }
  const double missed = sums[0] / n;
  return {mean + missed, std::max(sums[1] - missed * sums[0], 0.0)};
}

XGRAD_INLINE inline double deviation(double squares, std::size_t width) {
  return std::sqrt(squares / static_cast<double>(width - 1));
}

// What one number costs, in nanoseconds.
template <class T>
constexpr double kCost = sizeof(T) == 4 ? 0.3 : 0.6;

// (x - mean) r: the centre as above, and what it lost subtracted last.
template <class T>
struct Normalized {
  XGRAD_INLINE Normalized(double mean, double r)
      : high(static_cast<T>(mean)),
        scale(static_cast<T>(r)),
        low(static_cast<T>((mean - static_cast<double>(high)) * r)) {}
  XGRAD_INLINE T operator()(T x) const { return (x - high) * scale - low; }
  T high, scale, low;
};

template <class T>
struct Backward {
  const T *dy, *x, *gamma;
  std::size_t width;
  T* dx;

  // With a = dy gamma, xh = (x - mean) r and pull = mean(a xh):  dx = r (a - mean(a) - xh pull). The first pass over
  // the row also sums dgamma and dbeta; a null pointer says that they are not wanted.
  template <bool kScaled, bool kSums, class Pull>
  XGRAD_INLINE void row(std::size_t i, Normalized<T> normalized, bool subtract_mean, Pull pull_of, T* gamma_sum,
                        T* beta_sum) const {
    const T* const d = dy + i * width;
    const T* const v = x + i * width;
    const T* const g = gamma;
    const auto totals = detail::lane_sums<T, 2>(width, [=](std::size_t j) XGRAD_INLINE {
      const T a = kScaled ? d[j] * g[j] : d[j], xh = normalized(v[j]);
      if (kSums) {
        gamma_sum[j] += d[j] * xh;
        beta_sum[j] += d[j];
      }
      return std::array<T, 2>{a, a * xh};
    });
    if (!dx) return;
    const T a_mean = subtract_mean ? static_cast<T>(totals[0] / static_cast<double>(width)) : T(0);
    const T k = static_cast<T>(pull_of(totals[1])), scale = normalized.scale;
    T* const to = dx + i * width;
    // A fused multiply-subtract would leave the rounding of a.
    if (width == 1 && subtract_mean) return void(to[0] = (a_mean - a_mean) + (k - k));
#pragma omp simd
    for (std::size_t j = 0; j < width; ++j)
      to[j] = scale * (((kScaled ? d[j] * g[j] : d[j]) - a_mean) - normalized(v[j]) * k);
  }
};

}  // namespace

template <class T>
void layer_norm_forward(const T* x, std::size_t rows, std::size_t width, const T* gamma, const T* beta, double eps,
                        NormForm form, T* y, double* mean, double* rstd) {
  if (width == 0) return;
  parallel(rows, 1, kCost<T> * static_cast<double>(width), [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
    for (std::size_t i = begin; i < end; ++i) {
      const T* const from = x + i * width;
      T* const to = y + i * width;
      const auto [m, squares] = moments(from, width);
      const double r = form == NormForm::population ? 1 / std::sqrt(squares / static_cast<double>(width) + eps)
                                                    : 1 / (deviation(squares, width) + eps);
      if (mean) mean[i] = m;
      if (rstd) rstd[i] = r;
      const Normalized<T> normalized(m, r);
      if (gamma && beta) {
#pragma omp simd
        for (std::size_t j = 0; j < width; ++j) to[j] = normalized(from[j]) * gamma[j] + beta[j];
      } else {
        for (std::size_t j = 0; j < width; ++j)
          to[j] = normalized(from[j]) * (gamma ? gamma[j] : T(1)) + (beta ? beta[j] : T(0));
      }
    }
  });
}

template <class T>
void layer_norm_backward(const T* dy, const T* x, std::size_t rows, std::size_t width, const T* gamma, NormForm form,
                         const double* mean, const double* rstd, T* dx, T* dgamma, T* dbeta) {
  const Backward<T> backward{dy, x, gamma, width, dx};
  const double n = static_cast<double>(width);
  const std::array<T*, 2> sums{dgamma, dbeta};
  detail::each_row_with_sums(rows, width, kCost<T>, sums, [=](std::size_t i, std::array<T*, 2> sum) XGRAD_INLINE {
    T *const gamma_sum = sum[0], *const beta_sum = sum[1];
    const double r = rstd[i], m = mean[i];
    const auto pull = [=](double product) XGRAD_INLINE {
      if (form == NormForm::population) return product / n;
      const double s = deviation(squared_deviations(x + i * width, width, m), width);
      return s > 0 ? product / ((n - 1) * s * r) : s;  // a NaN stays
    };
    const Normalized<T> normalized(m, r);
    if (gamma && gamma_sum) backward.template row<true, true>(i, normalized, true, pull, gamma_sum, beta_sum);
    else if (gamma) backward.template row<true, false>(i, normalized, true, pull, gamma_sum, beta_sum);
    else if (gamma_sum) backward.template row<false, true>(i, normalized, true, pull, gamma_sum, beta_sum);
    else backward.template row<false, false>(i, normalized, true, pull, gamma_sum, beta_sum);
  });
}

template <class T>
void rms_norm_forward(const T* x, std::size_t rows, std::size_t width, const T* gamma, double eps, T* y, double* rrms) {
  if (width == 0) return;
  parallel(rows, 1, kCost<T> * static_cast<double>(width), [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
    for (std::size_t i = begin; i < end; ++i) {
      const T* const from = x + i * width;
      T* const to = y + i * width;
      const double squares = sum_of_squares<T>(width, [=](std::size_t j) XGRAD_INLINE { return from[j]; });
      const double r = 1 / std::sqrt(squares / static_cast<double>(width) + eps);
      if (rrms) rrms[i] = r;
      const T scale = static_cast<T>(r);
#pragma omp simd
      for (std::size_t j = 0; j < width; ++j) to[j] = from[j] * scale * (gamma ? gamma[j] : T(1));
    }
  });
}

template <class T>
void rms_norm_backward(const T* dy, const T* x, std::size_t rows, std::size_t width, const T* gamma, const double* rrms,
                       T* dx, T* dgamma) {
  const Backward<T> backward{dy, x, gamma, width, dx};
  const double n = static_cast<double>(width);
  const std::array<T*, 2> sums{dgamma, nullptr};
  detail::each_row_with_sums(rows, width, kCost<T>, sums, [=](std::size_t i, std::array<T*, 2> sum) XGRAD_INLINE {
    T *const gamma_sum = sum[0], *const beta_sum = sum[1];
    const auto pull = [=](double product) XGRAD_INLINE { return product / n; };
    const Normalized<T> normalized(0, rrms[i]);
    if (gamma && gamma_sum) backward.template row<true, true>(i, normalized, false, pull, gamma_sum, beta_sum);
    else if (gamma) backward.template row<true, false>(i, normalized, false, pull, gamma_sum, beta_sum);
    else if (gamma_sum) backward.template row<false, true>(i, normalized, false, pull, gamma_sum, beta_sum);
    else backward.template row<false, false>(i, normalized, false, pull, gamma_sum, beta_sum);
  });
}

#define XGRAD_INSTANTIATE(T)                                                                                         \
  template void layer_norm_forward(const T*, std::size_t, std::size_t, const T*, const T*, double, NormForm, T*,     \
                                   double*, double*);                                                                \
  template void layer_norm_backward(const T*, const T*, std::size_t, std::size_t, const T*, NormForm, const double*, \
                                    const double*, T*, T*, T*);                                                      \
  template void rms_norm_forward(const T*, std::size_t, std::size_t, const T*, double, T*, double*);                 \
  template void rms_norm_backward(const T*, const T*, std::size_t, std::size_t, const T*, const double*, T*, T*);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
