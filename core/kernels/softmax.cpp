#include "softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "activations_inline.hpp"
#include "reduce.hpp"
#include "shape.hpp"

namespace xgrad {

namespace {

using detail::cost_of;
using detail::exp_of_negative;
using detail::lane_max;
using detail::lane_sum;

constexpr double kCost = 1;  // of a float, in nanoseconds

template <class T>
constexpr T kNothing = -std::numeric_limits<T>::infinity();

// Calls row(n, out, arrays...) for arrays whose rows lie along the last axis; another axis is moved there and back.
template <class T, class F, class... Arrays>
Array<T> along_last(const char* who, std::ptrdiff_t axis, F row, const Array<T>& x, const Arrays&... others) {
  const std::size_t rank = x.dimension(), at = normalize_axis(who, axis, rank);
  Array<T> result(x.shape());
  const std::size_t width = x.shape()[at];
  if (x.size() == 0) return result;
  if (at + 1 == rank) {
    const auto run = [row, width, count = x.size() / width](T* out, auto... in) {
      const double cost = cost_of<T>(kCost) * static_cast<double>(width);
      detail::parallel(count, 1, cost, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
        for (std::size_t i = begin * width; i < end * width; i += width) row(width, out + i, (in + i)...);
      });
    };
    run(result.data(), x.data(), others.data()...);
    return result;
  }
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::swap(order[at], order[rank - 1]);  // its own inverse
  return xgrad::permute(along_last(who, -1, row, xgrad::permute(x, order), xgrad::permute(others, order)...), order);
}

// The sum of a row that holds nothing above -inf: 0, or NaN if it holds a NaN.
template <class T>
XGRAD_INLINE inline T nothing_or_nan(std::size_t n, const T* x) {
  bool nan = false;
  for (std::size_t i = 0; i < n; ++i) nan |= x[i] != x[i];
  return nan ? std::numeric_limits<T>::quiet_NaN() : T(0);
}

template <class T>
XGRAD_INLINE inline void softmax_row(std::size_t n, T* y, const T* x) {  // y may be x
  const T largest = lane_max(x, n);
  if (largest == kNothing<T>) return std::fill(y, y + n, nothing_or_nan(n, x));
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = exp_of_negative(x[i] - largest);
  const T scale = static_cast<T>(1 / lane_sum<T>(n, [=](std::size_t i) XGRAD_INLINE { return y[i]; }));
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] *= scale;
}

}  // namespace

template <class T>
Array<T> softmax(const Array<T>& x, std::ptrdiff_t axis) {
  return along_last(
      "softmax", axis, [](std::size_t n, T* y, const T* v) XGRAD_INLINE { softmax_row(n, y, v); }, x);
}

template <class T>
Array<T> softmax(const Array<T>& x, const Array<T>& mask, std::ptrdiff_t axis) {
  if (broadcast_shape("softmax", x.shape(), mask.shape()) != x.shape())
    fail<ShapeError>("softmax", "mask of shape ", to_string(mask.shape()), " must broadcast to ", to_string(x.shape()));
  const auto row = [](std::size_t n, T* y, const T* v, const T* keep) XGRAD_INLINE {
    for (std::size_t i = 0; i < n; ++i) y[i] = keep[i] != 0 ? v[i] : kNothing<T>;
    softmax_row(n, y, y);
    for (std::size_t i = 0; i < n; ++i) y[i] = keep[i] != 0 ? y[i] : T(0);  // beside a NaN too
  };
  if (mask.shape() == x.shape()) return along_last("softmax", axis, row, x, mask);
  return along_last("softmax", axis, row, x, xgrad::broadcast_to(mask, x.shape()));
}

template <class T>
Array<T> softmax_backward(const Array<T>& y, const Array<T>& g, std::ptrdiff_t axis) {
  check_shape("softmax_backward", "g", y.shape(), g.shape());
  const auto row = [](std::size_t n, T* dx, const T* p, const T* d) XGRAD_INLINE {
    const T dot = static_cast<T>(lane_sum<T>(n, [=](std::size_t i) XGRAD_INLINE { return p[i] * d[i]; }));
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) dx[i] = p[i] * (d[i] - dot);
  };
  return along_last("softmax_backward", axis, row, y, g);
}

template <class T>
Array<T> log_softmax(const Array<T>& x, std::ptrdiff_t axis) {
  const auto row = [](std::size_t n, T* y, const T* v) XGRAD_INLINE {
    const T largest = lane_max(v, n);
    if (largest == kNothing<T>) return std::fill(y, y + n, kNothing<T> + nothing_or_nan(n, v));
    const auto best = static_cast<std::size_t>(std::find(v, v + n, largest) - v);
    // The largest term is exactly 1 (or NaN); log1p of the others keeps the digits of a sum close to 1.
    const auto term = [=](std::size_t i) XGRAD_INLINE { return exp_of_negative(v[i] - largest); };
    const auto later = [=](std::size_t i) XGRAD_INLINE { return exp_of_negative(v[best + 1 + i] - largest); };
    const double others = lane_sum<T>(best, term) + lane_sum<T>(n - best - 1, later);
    const T log_sum = static_cast<T>(std::log1p(others)) + (largest - largest);
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) y[i] = (v[i] - largest) - log_sum;
  };
  return along_last("log_softmax", axis, row, x);
}

template <class T>
Array<T> log_softmax_backward(const Array<T>& y, const Array<T>& g, std::ptrdiff_t axis) {
  check_shape("log_softmax_backward", "g", y.shape(), g.shape());
  const auto row = [](std::size_t n, T* dx, const T* l, const T* d) XGRAD_INLINE {
    if (lane_max(l, n) == kNothing<T>) return std::fill(dx, dx + n, nothing_or_nan(n, l));
    const T total = static_cast<T>(lane_sum<T>(n, [=](std::size_t i) XGRAD_INLINE { return d[i]; }));
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) dx[i] = d[i] - exp_of_negative(l[i]) * total;
  };
  return along_last("log_softmax_backward", axis, row, y, g);
}

#define XGRAD_INSTANTIATE(T)                                                            \
  template Array<T> softmax(const Array<T>&, std::ptrdiff_t);                           \
  template Array<T> softmax(const Array<T>&, const Array<T>&, std::ptrdiff_t);          \
  template Array<T> softmax_backward(const Array<T>&, const Array<T>&, std::ptrdiff_t); \
  template Array<T> log_softmax(const Array<T>&, std::ptrdiff_t);                       \
  template Array<T> log_softmax_backward(const Array<T>&, const Array<T>&, std::ptrdiff_t);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
