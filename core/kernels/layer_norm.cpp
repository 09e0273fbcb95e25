#include "layer_norm.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "../memory.hpp"
#include "parallel_inline.hpp"

namespace xgrad {

namespace {

using detail::lane_sum;
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

// Summed relative to the first number: a constant row has exactly its mean, and a common offset costs no digits.
template <class T>
XGRAD_INLINE inline double mean_of(const T* x, std::size_t width) {
  const double first = static_cast<double>(x[0]);
  const auto offset = [=](std::size_t j) XGRAD_INLINE { return static_cast<double>(x[j]) - first; };
  return first + lane_sum<double>(width, offset) / static_cast<double>(width);
}

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

XGRAD_INLINE inline double deviation(double squares, std::size_t width) {
  return std::sqrt(squares / static_cast<double>(width - 1));
}

// Sums over rows of up to two terms a column. Rows are cut into at most 16 parts, by their number alone, so that the
// result does not depend on the threads that share the parts out. Within a part, T sums over 32 rows are added up in
// double. Parts lie a page apart: two threads never write to one cache line, nor to neighbours fetched together.
template <class T>
class ColumnSums {
 public:
  ColumnSums(std::size_t rows, std::size_t width, std::size_t terms)
      : rows_(rows),
        width_(width),
        part_((rows / 16 / kBlock + 1) * kBlock),
        stride_((terms * width * (sizeof(double) + sizeof(T)) / 4096 + 2) * 4096 / sizeof(double)),
        terms_(terms),
        sums_(terms > 0 ? parts() * stride_ : 0) {}

  static constexpr std::size_t kBlock = 32;
  std::size_t parts() const { return (rows_ + part_ - 1) / part_; }
  std::size_t first_row(std::size_t part) const { return std::min(rows_, part * part_); }

  // Of one part: where the double sums and the T sums of a term are.
  double* total(std::size_t part, std::size_t term) { return sums_.data() + part * stride_ + term * width_; }
  T* block(std::size_t part, std::size_t term) { return reinterpret_cast<T*>(total(part, terms_)) + term * width_; }

  void store(std::size_t term, T* to) {
    for (std::size_t j = 0; j < width_; ++j) {
      double sum = 0;
      for (std::size_t part = 0; part < parts(); ++part) sum += total(part, term)[j];
      to[j] = static_cast<T>(sum);
    }
  }

 private:
  std::size_t rows_, width_, part_, stride_, terms_;
  std::vector<double, memory::Allocator<double>> sums_;
};

// Adds what a block of rows has summed to the part's total, and starts the next block.
template <class T>
XGRAD_INLINE inline void flush(T* block, double* total, std::size_t width) {
  for (std::size_t j = 0; j < width; ++j) {
    total[j] += static_cast<double>(block[j]);
    block[j] = 0;
  }
}

// What one number costs, in nanoseconds.
template <class T>
constexpr double kCost = sizeof(T) == 4 ? 0.3 : 0.6;

template <class T>
struct Backward {
  const T *dy, *x, *gamma;
  std::size_t width;
  T* dx;

  // With a = dy gamma, xh = (x - mean) r and pull = mean(a xh):  dx = r (a - mean(a) - xh pull). The first pass over
  // the row also sums dgamma and dbeta; a null pointer says that they are not wanted.
  template <bool kScaled, bool kSums, class Centred, class Pull>
  XGRAD_INLINE void row(std::size_t i, Centred centred, T scale, bool subtract_mean, Pull pull_of, T* gamma_sum,
                        T* beta_sum) const {
    const T* const d = dy + i * width;
    const T* const v = x + i * width;
    const T* const g = gamma;
    double a_total = 0, product_total = 0;
    for (std::size_t begin = 0; begin < width; begin += 256) {
      const std::size_t end = std::min(width, begin + 256);
      T a_part = 0, product_part = 0;
#pragma omp simd reduction(+ : a_part, product_part)
      for (std::size_t j = begin; j < end; ++j) {
        const T a = kScaled ? d[j] * g[j] : d[j], xh = centred(v[j]) * scale;
        a_part += a;
        product_part += a * xh;
        if (kSums) {
          gamma_sum[j] += d[j] * xh;
          beta_sum[j] += d[j];
        }
      }
      a_total += static_cast<double>(a_part);
      product_total += static_cast<double>(product_part);
    }
    if (!dx) return;
    const T a_mean = subtract_mean ? static_cast<T>(a_total / static_cast<double>(width)) : T(0);
    const T k = static_cast<T>(pull_of(product_total));
    T* const to = dx + i * width;
    // A fused multiply-subtract would leave the rounding of a.
    if (width == 1 && subtract_mean) return void(to[0] = (a_mean - a_mean) + (k - k));
#pragma omp simd
    for (std::size_t j = 0; j < width; ++j) {
      const T a = kScaled ? d[j] * g[j] : d[j], xh = centred(v[j]) * scale;
      to[j] = scale * ((a - a_mean) - xh * k);
    }
  }
};

// Runs row(i, gamma_sum, beta_sum) for all rows and stores the sums that are wanted.
template <class T, class Row>
void each_row_with_sums(std::size_t rows, std::size_t width, T* dgamma, T* dbeta, Row row) {
  const bool wanted = dgamma || dbeta;
  ColumnSums<T> sums(rows, width, wanted ? 2 : 0);
  ColumnSums<T>* const s = &sums;
  if (!wanted) {
    parallel(rows, 1, kCost<T> * static_cast<double>(width), [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
      for (std::size_t i = begin; i < end; ++i) row(i, static_cast<T*>(nullptr), static_cast<T*>(nullptr));
    });
    return;
  }
  const double part_cost = kCost<T> * static_cast<double>(width) * static_cast<double>(sums.first_row(1));
  parallel(sums.parts(), 1, part_cost, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
    for (std::size_t part = begin; part < end; ++part) {
      T *const gamma_sum = s->block(part, 0), *const beta_sum = s->block(part, 1);
      std::fill(gamma_sum, gamma_sum + 2 * width, T(0));
      const std::size_t first = s->first_row(part), last = s->first_row(part + 1);
      for (std::size_t i = first; i < last; ++i) {
        row(i, gamma_sum, beta_sum);
        if ((i - first) % ColumnSums<T>::kBlock + 1 < ColumnSums<T>::kBlock && i + 1 < last) continue;
        flush(gamma_sum, s->total(part, 0), width);
        flush(beta_sum, s->total(part, 1), width);
      }
    }
  });
  if (dgamma) sums.store(0, dgamma);
  if (dbeta) sums.store(1, dbeta);
}

}  // namespace

template <class T>
void layer_norm_forward(const T* x, std::size_t rows, std::size_t width, const T* gamma, const T* beta, double eps,
                        NormForm form, T* y, double* mean, double* rstd) {
  if (width == 0) return;
  parallel(rows, 1, kCost<T> * static_cast<double>(width), [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
    for (std::size_t i = begin; i < end; ++i) {
      const T* const from = x + i * width;
      T* const to = y + i * width;
      const double m = mean_of(from, width), squares = squared_deviations(from, width, m);
      const double r = form == NormForm::population ? 1 / std::sqrt(squares / static_cast<double>(width) + eps)
                                                    : 1 / (deviation(squares, width) + eps);
      if (mean) mean[i] = m;
      if (rstd) rstd[i] = r;
      const Centre<T> centred(m);
      const T scale = static_cast<T>(r);
      if (gamma && beta) {
#pragma omp simd
        for (std::size_t j = 0; j < width; ++j) to[j] = centred(from[j]) * scale * gamma[j] + beta[j];
      } else {
        for (std::size_t j = 0; j < width; ++j)
          to[j] = centred(from[j]) * scale * (gamma ? gamma[j] : T(1)) + (beta ? beta[j] : T(0));
      }
    }
  });
}

template <class T>
void layer_norm_backward(const T* dy, const T* x, std::size_t rows, std::size_t width, const T* gamma, NormForm form,
                         const double* mean, const double* rstd, T* dx, T* dgamma, T* dbeta) {
  const Backward<T> backward{dy, x, gamma, width, dx};
  const double n = static_cast<double>(width);
  each_row_with_sums(rows, width, dgamma, dbeta, [=](std::size_t i, T* gamma_sum, T* beta_sum) XGRAD_INLINE {
    const double r = rstd[i], m = mean[i];
    const auto pull = [=](double product) XGRAD_INLINE {
      if (form == NormForm::population) return product / n;
      const double s = deviation(squared_deviations(x + i * width, width, m), width);
      return s > 0 ? product / ((n - 1) * s * r) : s;  // a NaN stays
    };
    const Centre<T> centred(m);
    const T scale = static_cast<T>(r);
    if (gamma && gamma_sum) backward.template row<true, true>(i, centred, scale, true, pull, gamma_sum, beta_sum);
    else if (gamma) backward.template row<true, false>(i, centred, scale, true, pull, gamma_sum, beta_sum);
    else if (gamma_sum) backward.template row<false, true>(i, centred, scale, true, pull, gamma_sum, beta_sum);
    else backward.template row<false, false>(i, centred, scale, true, pull, gamma_sum, beta_sum);
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
  const auto nothing = static_cast<T*>(nullptr);
  each_row_with_sums(rows, width, dgamma, nothing, [=](std::size_t i, T* gamma_sum, T* beta_sum) XGRAD_INLINE {
    const auto pull = [=](double product) XGRAD_INLINE { return product / n; };
    const auto itself = [](T v) XGRAD_INLINE { return v; };
    const T scale = static_cast<T>(rrms[i]);
    if (gamma && gamma_sum) backward.template row<true, true>(i, itself, scale, false, pull, gamma_sum, beta_sum);
    else if (gamma) backward.template row<true, false>(i, itself, scale, false, pull, gamma_sum, beta_sum);
    else if (gamma_sum) backward.template row<false, true>(i, itself, scale, false, pull, gamma_sum, beta_sum);
    else backward.template row<false, false>(i, itself, scale, false, pull, gamma_sum, beta_sum);
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
