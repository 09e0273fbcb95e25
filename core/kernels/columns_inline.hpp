// Sums over rows, column by column, beside other work on the rows. Internal to the kernels.
#pragma once

#include <algorithm>
#include <array>

#include "../array.hpp"
#include "parallel_inline.hpp"

namespace xgrad::detail {

/// Room for N sums a column. Rows are cut into at most 16 parts, by their number alone, so that the result does not
/// depend on the threads that share the parts out. Within a part, T sums over 32 rows are added up in double. Parts lie
/// a page apart: two threads never write to one cache line, nor to neighbours fetched together.
template <std::size_t N, class T>
class ColumnSums {
 public:
  static constexpr std::size_t kBlock = 32;

  /// Without `wanted`, no room: the sums that rows are given are null.
  ColumnSums(std::size_t rows, std::size_t width, bool wanted)
      : rows_(rows),
        width_(wanted ? width : 0),
        part_((rows / 16 / kBlock + 1) * kBlock),
        stride_(N * width_ + (parts() > 1 ? 4096 / sizeof(T) : 0)),
        totals_(empty<double>({parts() * stride_})),
        blocks_(empty<T>({parts() * stride_})) {}

  std::size_t parts() const { return (rows_ + part_ - 1) / part_; }
  std::size_t part_rows() const { return std::min(rows_, part_); }

  /// Runs row(i, sums) for the rows of one part; sums[k] is where row adds its numbers to sum k.
  template <class Row>
  XGRAD_INLINE void run(std::size_t part, Row row) {
    double* const total = totals_.data() + part * stride_;
    T* const block = blocks_.data() + part * stride_;
    std::fill(total, total + N * width_, 0.0);
    std::fill(block, block + N * width_, T(0));
    std::array<T*, N> sums{};
    for (std::size_t k = 0; width_ && k < N; ++k) sums[k] = block + k * width_;
    const std::size_t first = part * part_, last = std::min(rows_, first + part_);
    for (std::size_t begin = first; begin < last; begin += kBlock) {
      const std::size_t end = std::min(last, begin + kBlock);
      for (std::size_t i = begin; i < end; ++i) row(i, sums);
      for (std::size_t j = 0; j < N * width_; ++j) {
        total[j] += static_cast<double>(block[j]);
        block[j] = 0;
      }
    }
  }

  void store(std::size_t k, T* to) const {
    for (std::size_t j = 0; j < width_; ++j) {
      double sum = 0;
      for (std::size_t part = 0; part < parts(); ++part) sum += totals_.data()[part * stride_ + k * width_ + j];
      to[j] = static_cast<T>(sum);
    }
  }

 private:
  std::size_t rows_, width_, part_, stride_;
  Array<double> totals_;
  Array<T> blocks_;
};

/// Runs row(i, sums) for all rows and writes the N sums of each column to `to`. When none of them is wanted (all are
/// null) the sums given to row are null too. `cost` of a number in nanoseconds.
template <std::size_t N, class T, class Row>
void each_row_with_sums(std::size_t rows, std::size_t width, double cost, std::array<T*, N> to, Row row) {
  const bool wanted = std::any_of(to.begin(), to.end(), [](T* p) { return p != nullptr; });
  ColumnSums<N, T> sums(rows, width, wanted);
  ColumnSums<N, T>* const s = &sums;
  const double part_cost = cost * static_cast<double>(width * sums.part_rows());
  parallel(sums.parts(), 1, part_cost, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
    for (std::size_t part = begin; part < end; ++part) s->run(part, row);
  });
  for (std::size_t k = 0; k < N; ++k)
    if (to[k]) sums.store(k, to[k]);
}

}  // namespace xgrad::detail
