// Which numbers a reduction reads, and the loop over its results. Internal to the kernels.
#pragma once

#include "../array.hpp"
#include "shape.hpp"
#include "sum_inline.hpp"

namespace xgrad::detail {

// NaN is taken from either side: comparisons with it are false, and v is looked at explicitly.
struct Largest {
  template <class T>
  T operator()(T best, T v) const {
    return v > best || v != v ? v : best;
  }
};
struct Smallest {
  template <class T>
  T operator()(T best, T v) const {
    return v < best || v != v ? v : best;
  }
};

/// The largest or smallest of n > 0 numbers.
template <class T, class Pick>
T extreme_of_row(const T* x, std::size_t n, Pick pick) {
  T lane[8];
  std::fill(lane, lane + 8, x[0]);
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t k = 0; k < 8; ++k) lane[k] = pick(lane[k], x[i + k]);
  for (; i < n; ++i) lane[0] = pick(lane[0], x[i]);
  for (std::size_t k = 1; k < 8; ++k) lane[0] = pick(lane[0], lane[k]);
  return lane[0];
}

/// A reduction seen as (outer, n, inner), reduced over the middle axis. When the axes are not neighbours the array is
/// permuted so that they come last.
template <class T>
struct Reduction {
  Reduction(const char* who, const Array<T>& x, const Axes& axes, bool keep) : data(x.data()) {
    const std::size_t rank = x.dimension();
    xt::svector<bool, 8> reduced(rank, false);
    for (const std::size_t axis : axes.resolve(who, rank)) reduced[axis] = true;
    std::size_t runs = 0;  // of neighbouring reduced axes; those of extent 1 do not matter
    bool inside = false;
    for (std::size_t i = 0; i < rank; ++i) {
      const std::size_t extent = x.shape()[i];
      if (!reduced[i]) shape.push_back(extent);
      else if (keep) shape.push_back(1);
      if (extent == 1) continue;
      if (reduced[i] && !inside) ++runs;
      inside = reduced[i];
      (reduced[i] ? n : runs == 0 ? outer : inner) *= extent;
    }
    if (runs < 2) return;
    std::vector<std::ptrdiff_t> order;
    for (const bool last : {false, true})
      for (std::size_t i = 0; i < rank; ++i)
        if (reduced[i] == last) order.push_back(static_cast<std::ptrdiff_t>(i));
    moved = xgrad::permute(x, order);
    data = moved.data();
    outer *= inner;
    inner = 1;
  }
  Reduction(const Reduction&) = delete;

  /// row(x) gives the result for n neighbouring numbers; columns(x, width, out) those for up to kColumns columns of n
  /// rows that are `inner` apart.
  template <class Row, class Columns>
  Array<T> run(Row row, Columns columns) const {
    Array<T> result(shape);
    T* out = result.data();
    for (std::size_t o = 0; o < outer; ++o) {
      const T* x = data + o * n * inner;
      if (inner == 1) out[o] = row(x);
      else
        for (std::size_t j = 0; j < inner; j += kColumns)
          columns(x + j, std::min(kColumns, inner - j), out + o * inner + j);
    }
    return result;
  }

  Shape shape;
  std::size_t outer = 1, n = 1, inner = 1;
  const T* data;

 private:
  Array<T> moved;
};

}  // namespace xgrad::detail
