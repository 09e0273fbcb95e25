#include "softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "reduce.hpp"
#include "reduce_inline.hpp"
#include "shape.hpp"

namespace xgrad {

namespace {

using detail::extreme_of_row;
using detail::Largest;
using detail::sum_of;

// Calls rows(arrays..., out) for arrays whose rows lie along the last axis; another axis is moved there and back.
template <class T, class F, class... Arrays>
Array<T> along_last(const char* who, std::ptrdiff_t axis, F rows, const Array<T>& x, const Arrays&... others) {
  const std::size_t rank = x.dimension(), at = normalize_axis(who, axis, rank);
  Array<T> result(x.shape());
  const std::size_t width = x.shape()[at];
  if (x.size() == 0) return result;
  if (at + 1 == rank) {
    for (std::size_t i = 0; i < x.size(); i += width)
      rows(width, result.data() + i, x.data() + i, others.data() + i...);
    return result;
  }
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::swap(order[at], order[rank - 1]);  // its own inverse
  return xgrad::permute(along_last(who, -1, rows, xgrad::permute(x, order), xgrad::permute(others, order)...), order);
}

template <class T>
void softmax_row(std::size_t n, T* y, const T* x) {  // y may be x
  const T largest = extreme_of_row(x, n, Largest());
  if (largest == -std::numeric_limits<T>::infinity()) return std::fill(y, y + n, T(0));
  for (std::size_t i = 0; i < n; ++i) y[i] = std::exp(x[i] - largest);
  const T scale = static_cast<T>(1 / sum_of(n, [y](std::size_t i) { return static_cast<double>(y[i]); }));
  for (std::size_t i = 0; i < n; ++i) y[i] *= scale;
}

}  // namespace

template <class T>
Array<T> softmax(const Array<T>& x, std::ptrdiff_t axis) {
  return along_last("softmax", axis, softmax_row<T>, x);
}

template <class T>
Array<T> softmax(const Array<T>& x, const Array<T>& mask, std::ptrdiff_t axis) {
  if (broadcast_shape("softmax", x.shape(), mask.shape()) != x.shape())
    fail<ShapeError>("softmax", "mask of shape ", to_string(mask.shape()), " must broadcast to ", to_string(x.shape()));
  const auto row = [](std::size_t n, T* y, const T* v, const T* keep) {
    for (std::size_t i = 0; i < n; ++i) y[i] = keep[i] != 0 ? v[i] : -std::numeric_limits<T>::infinity();
    softmax_row(n, y, y);
    for (std::size_t i = 0; i < n; ++i) y[i] = keep[i] != 0 ? y[i] : T(0);  // beside a NaN too
  };
  if (mask.shape() == x.shape()) return along_last("softmax", axis, row, x, mask);
  return along_last("softmax", axis, row, x, xgrad::broadcast_to(mask, x.shape()));
}

template <class T>
Array<T> softmax_backward(const Array<T>& y, const Array<T>& g, std::ptrdiff_t axis) {
  check_shape("softmax_backward", "g", y.shape(), g.shape());
  const auto row = [](std::size_t n, T* dx, const T* p, const T* d) {
    const T dot = static_cast<T>(
        sum_of(n, [p, d](std::size_t i) { return static_cast<double>(p[i]) * static_cast<double>(d[i]); }));
    for (std::size_t i = 0; i < n; ++i) dx[i] = p[i] * (d[i] - dot);
  };
  return along_last("softmax_backward", axis, row, y, g);
}

template <class T>
Array<T> log_softmax(const Array<T>& x, std::ptrdiff_t axis) {
  const auto row = [](std::size_t n, T* y, const T* v) {
    const T largest = extreme_of_row(v, n, Largest());
    if (!std::isfinite(largest)) return std::fill(y, y + n, largest < 0 ? largest : largest - largest);  // -inf or NaN
    const auto best = static_cast<std::size_t>(std::find(v, v + n, largest) - v);
    // The largest term is exactly 1; log1p of the others keeps the digits of a sum close to 1.
    for (std::size_t i = 0; i < n; ++i) y[i] = std::exp(v[i] - largest);
    const auto term = [y](std::size_t i) { return static_cast<double>(y[i]); };
    const double others = sum_of(0, best, term) + sum_of(best + 1, n, term);
    const T log_sum = static_cast<T>(std::log1p(others));
    for (std::size_t i = 0; i < n; ++i) y[i] = (v[i] - largest) - log_sum;
  };
  return along_last("log_softmax", axis, row, x);
}

#define XGRAD_INSTANTIATE(T)                                                            \
  template Array<T> softmax(const Array<T>&, std::ptrdiff_t);                           \
  template Array<T> softmax(const Array<T>&, const Array<T>&, std::ptrdiff_t);          \
  template Array<T> softmax_backward(const Array<T>&, const Array<T>&, std::ptrdiff_t); \
  template Array<T> log_softmax(const Array<T>&, std::ptrdiff_t);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
