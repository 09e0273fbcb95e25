// The loops of all elementwise functions: of one array, and of two that broadcast. Internal to the kernels.
#pragma once

#include "../array.hpp"
#include "parallel_inline.hpp"
#include "strides_inline.hpp"

namespace xgrad::detail {

/// f of every number.
template <class T, class F>
Array<T> map(const Array<T>& x, F f) {
  Array<T> result(x.shape());
  const T* in = x.data();
  T* out = result.data();
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i) out[i] = f(in[i]);
  return result;
}

/// The same for an f whose lambda is XGRAD_INLINE: in vector code and threads; `cost` of a number in nanoseconds.
template <class T, class F>
Array<T> vector_map(const Array<T>& x, double cost, F f) {
  Array<T> result(x.shape());
  const T* const in = x.data();
  T* const out = result.data();
  parallel(x.size(), 1024, cost, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
#pragma omp simd
    for (std::size_t i = begin; i < end; ++i) out[i] = f(in[i]);
  });
  return result;
}

/// And for f(a, b) of two arrays of one shape.
template <class T, class F>
Array<T> vector_map(const Array<T>& a, const Array<T>& b, double cost, F f) {
  Array<T> result(a.shape());
  const T *const first = a.data(), *const second = b.data();
  T* const out = result.data();
  parallel(a.size(), 1024, cost, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
#pragma omp simd
    for (std::size_t i = begin; i < end; ++i) out[i] = f(first[i], second[i]);
  });
  return result;
}

/// One row of `binary`: a stride is 1, or 0 for a number that is repeated.
template <class T, class F>
void binary_row(const T* a, std::ptrdiff_t step_a, const T* b, std::ptrdiff_t step_b, T* out, std::size_t n, F f) {
  if (step_a == 1 && step_b == 1) {
    for (std::size_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  } else if (step_b == 0) {
    const T y = *b;
    for (std::size_t i = 0; i < n; ++i) out[i] = f(a[i], y);
  } else {
    const T x = *a;
    for (std::size_t i = 0; i < n; ++i) out[i] = f(x, b[i]);
  }
}

/// f(a, b) number by number with NumPy's broadcasting. A number, a row or a column against a matrix, and equal shapes
/// each come out as plain loops over long rows, since the walk joins the axes.
template <class T, class F>
Array<T> binary(const char* who, const Array<T>& a, const Array<T>& b, F f) {
  if (same_shape(a.shape(), b.shape())) {
    Array<T> result(a.shape());
    binary_row(a.data(), 1, b.data(), 1, result.data(), result.size(), f);
    return result;
  }
  Array<T> result = empty<T>(broadcast_shape(who, a.shape(), b.shape()));  // may be too large
  T* out = result.data();
  const auto row = [&](const auto& at, std::size_t n, const auto& step) {
    binary_row(a.data() + at[0], step[0], b.data() + at[1], step[1], out, n, f);
    out += n;
  };
  broadcast_walk(result.shape(), a.shape(), b.shape()).each_row(row);
  return result;
}

}  // namespace xgrad::detail
