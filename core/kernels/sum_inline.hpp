// Sums whose error stays flat, in an order that depends on the length alone. Internal to the kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace xgrad::detail {

/// f(begin) + ... + f(end - 1): eight running sums in blocks of up to 1024, blocks added pairwise.
template <class F>
double sum_of(std::size_t begin, std::size_t end, F f) {
  const std::size_t n = end - begin;
  if (n > 1024) {
    const std::size_t middle = begin + (n / 2 + 1023) / 1024 * 1024;
    return sum_of(begin, middle, f) + sum_of(middle, end, f);
  }
  double lane[8] = {}, rest = 0;
  std::size_t i = begin;
  for (; i + 8 <= end; i += 8)
    for (std::size_t k = 0; k < 8; ++k) lane[k] += f(i + k);
  for (; i < end; ++i) rest += f(i);
  return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7])) + rest;
}

template <class F>
double sum_of(std::size_t n, F f) {
  return sum_of(0, n, f);
}

/// sqrt(squares / divisor), squares being the sum of v^2 over all v that each(f) hands to f. Squares of numbers above
/// 1e154 or below 1e-154 leave the range of double; measured by the largest they do not.
template <class Each>
double root_of_squares(double squares, double divisor, Each each) {
  if (std::isnormal(squares)) return std::sqrt(squares / divisor);
  double largest = 0;
  each([&](double v) { largest = std::abs(v) > largest || std::isnan(v) ? std::abs(v) : largest; });
  if (largest == 0 || !std::isfinite(largest)) return largest;
  squares = 0;
  each([&](double v) { squares += (v / largest) * (v / largest); });
  return largest * std::sqrt(squares / divisor);
}

/// Columns are summed this many at a time, so that the running sums stay in the first-level cache.
constexpr std::size_t kColumns = 256;

/// total[j] = sum over rows i < n of f(x[i * stride + j], j), for j < width <= kColumns; blocks of rows added pairwise.
template <class T, class F>
void sum_columns(const T* x, std::size_t n, std::size_t stride, std::size_t width, double* total, F f) {
  if (n > 64) {
    const std::size_t half = n / 2;
    double rest[kColumns];
    sum_columns(x, half, stride, width, total, f);
    sum_columns(x + half * stride, n - half, stride, width, rest, f);
    for (std::size_t j = 0; j < width; ++j) total[j] += rest[j];
    return;
  }
  std::fill(total, total + width, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < width; ++j) total[j] += f(x[i * stride + j], j);
}

}  // namespace xgrad::detail
