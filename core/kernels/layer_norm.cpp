#include "layer_norm.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "../memory.hpp"
#include "sum_inline.hpp"

namespace xgrad {

namespace {

using detail::sum_of;

// x - mean in T, with the digits of the double mean: the first difference is all but exact, and `low` is what the mean
// loses when rounded to T (0 for double).
template <class T>
struct Centre {
  explicit Centre(double mean) : high(static_cast<T>(mean)), low(static_cast<T>(mean - static_cast<double>(high))) {}
  T operator()(T x) const { return (x - high) - low; }
  T high, low;
};

// Summed relative to the first number: a constant row has exactly its mean, and a common offset costs no digits.
template <class T>
double mean_of(const T* x, std::size_t width) {
  const double first = static_cast<double>(x[0]);
  return first + sum_of(width, [x, first](std::size_t j) { return static_cast<double>(x[j]) - first; }) /
                     static_cast<double>(width);
}

template <class T>
double squared_deviations(const T* x, std::size_t width, double mean) {
  return sum_of(width, [x, mean](std::size_t j) {
    const double d = static_cast<double>(x[j]) - mean;
    return d * d;
  });
}

double deviation(double squares, std::size_t width) { return std::sqrt(squares / static_cast<double>(width - 1)); }

using Sums = std::vector<double, memory::Allocator<double>>;  // one per column, over the rows

template <class T>
void copy_rounded(const Sums& from, T* to) {
  for (std::size_t j = 0; j < from.size(); ++j) to[j] = static_cast<T>(from[j]);
}

}  // namespace

template <class T>
void layer_norm_forward(const T* x, std::size_t rows, std::size_t width, const T* gamma, const T* beta, double eps,
                        NormForm form, T* y, double* mean, double* rstd) {
  if (width == 0) return;
  for (std::size_t i = 0; i < rows; ++i, x += width, y += width) {
    const double m = mean_of(x, width), squares = squared_deviations(x, width, m);
    const double r = form == NormForm::population ? 1 / std::sqrt(squares / static_cast<double>(width) + eps)
                                                  : 1 / (deviation(squares, width) + eps);
    if (mean) mean[i] = m;
    if (rstd) rstd[i] = r;
    const Centre<T> centred(m);
    const T scale = static_cast<T>(r);
    if (gamma && beta)
      for (std::size_t j = 0; j < width; ++j) y[j] = centred(x[j]) * scale * gamma[j] + beta[j];
    else
      for (std::size_t j = 0; j < width; ++j)
        y[j] = centred(x[j]) * scale * (gamma ? gamma[j] : T(1)) + (beta ? beta[j] : T(0));
  }
}

template <class T>
void layer_norm_backward(const T* dy, const T* x, std::size_t rows, std::size_t width, const T* gamma, NormForm form,
                         const double* mean, const double* rstd, T* dx, T* dgamma, T* dbeta) {
  Sums gamma_sum(dgamma ? width : 0, 0.0), beta_sum(dbeta ? width : 0, 0.0);
  const double n = static_cast<double>(width);
  for (std::size_t i = 0; i < rows && width > 0; ++i, dy += width, x += width) {
    const Centre<T> centred(mean[i]);
    const double r = rstd[i];
    const T scale = static_cast<T>(r);
    if (dgamma)
      for (std::size_t j = 0; j < width; ++j) gamma_sum[j] += static_cast<double>(dy[j] * (centred(x[j]) * scale));
    if (dbeta)
      for (std::size_t j = 0; j < width; ++j) beta_sum[j] += static_cast<double>(dy[j]);
    if (!dx) continue;
    // With a = dy gamma and xh = (x - mean) r:  dx = r (a - mean(a) - xh pull).
    const auto a = [dy, gamma](std::size_t j) { return gamma ? dy[j] * gamma[j] : dy[j]; };
    const auto xh = [x, centred, scale](std::size_t j) { return centred(x[j]) * scale; };
    const T a_mean = static_cast<T>(sum_of(width, [a](std::size_t j) { return static_cast<double>(a(j)); }) / n);
    double pull =
        sum_of(width, [a, xh](std::size_t j) { return static_cast<double>(a(j)) * static_cast<double>(xh(j)); });
    if (form == NormForm::population) {
      pull /= n;
    } else {
      const double s = deviation(squared_deviations(x, width, mean[i]), width);
      pull = s > 0 ? pull / (n * s * r) : s;  // a NaN stays
    }
    const T k = static_cast<T>(pull);
    for (std::size_t j = 0; j < width; ++j) dx[j] = scale * ((a(j) - a_mean) - xh(j) * k);
    dx += width;
  }
  copy_rounded(gamma_sum, dgamma);
  copy_rounded(beta_sum, dbeta);
}

template <class T>
void rms_norm_forward(const T* x, std::size_t rows, std::size_t width, const T* gamma, double eps, T* y, double* rrms) {
  if (width == 0) return;
  for (std::size_t i = 0; i < rows; ++i, x += width, y += width) {
    const auto square = [x](std::size_t j) { return static_cast<double>(x[j]) * static_cast<double>(x[j]); };
    const double r = 1 / std::sqrt(sum_of(width, square) / static_cast<double>(width) + eps);
    if (rrms) rrms[i] = r;
    const T scale = static_cast<T>(r);
    for (std::size_t j = 0; j < width; ++j) y[j] = x[j] * scale * (gamma ? gamma[j] : T(1));
  }
}

template <class T>
void rms_norm_backward(const T* dy, const T* x, std::size_t rows, std::size_t width, const T* gamma, const double* rrms,
                       T* dx, T* dgamma) {
  Sums gamma_sum(dgamma ? width : 0, 0.0);
  for (std::size_t i = 0; i < rows && width > 0; ++i, dy += width, x += width) {
    const T scale = static_cast<T>(rrms[i]);
    if (dgamma)
      for (std::size_t j = 0; j < width; ++j) gamma_sum[j] += static_cast<double>(dy[j] * (x[j] * scale));
    if (!dx) continue;
    // With a = dy gamma and xh = x r:  dx = r (a - xh mean(a xh)).
    const auto a = [dy, gamma](std::size_t j) { return gamma ? dy[j] * gamma[j] : dy[j]; };
    const auto product = [a, x, scale](std::size_t j) {
      return static_cast<double>(a(j)) * static_cast<double>(x[j] * scale);
    };
    const T k = static_cast<T>(sum_of(width, product) / static_cast<double>(width));
    for (std::size_t j = 0; j < width; ++j) dx[j] = scale * (a(j) - x[j] * scale * k);
    dx += width;
  }
  copy_rounded(gamma_sum, dgamma);
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
