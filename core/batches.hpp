// Mini-batches: the rows of two arrays, some at a time, shuffled or in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <vector>

#include "random.hpp"
#include "variable.hpp"

namespace xgrad {

/// What a batch of an Array<T> is: a constant Variable, ready for layers and losses, or an Index for class labels.
template <class T>
using BatchOf = std::conditional_t<std::is_floating_point_v<T>, Variable<T>, Array<T>>;

/// The same rows of both arrays.
template <class X, class Y>
struct Batch {
  BatchOf<X> x;  ///< Rows of the first array.
  BatchOf<Y> y;  ///< The same rows of the second.
};

/// Options of `batches`.
struct BatchOptions {
  bool drop_last = false;  ///< Leave out a last batch that is smaller than the others.
  std::size_t first = 0;   ///< Start at this batch of the epoch: where a run that was stopped goes on.
};

namespace detail {

/// Checks the arguments of batches(): both arrays have axes and equally many rows, and size > 0.
void check_batches(const Shape& x, const Shape& y, std::size_t size);

/// A copy of the rows order[0], ..., order[count - 1] of a.
template <class T>
Array<T> gather_rows(const Array<T>& a, const std::int64_t* order, std::size_t count);

}  // namespace detail

/// A range of batches, made by `batches`; refers to the two arrays, which must outlive it. Rows are copied when a
/// batch is reached.
template <class X, class Y>
class Batches {
 public:
  /// Goes through the batches once; each `*it` copies rows.
  class Iterator {
   public:
    /// What the standard library asks of an iterator.
    /// @{
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch<X, Y>;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Batch<X, Y>;

    Iterator(const Batches* range, std::size_t batch) : range_(range), batch_(batch) {}
    Batch<X, Y> operator*() const { return (*range_)[batch_]; }
    Iterator& operator++() {
      ++batch_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return batch_ == other.batch_; }
    bool operator!=(const Iterator& other) const { return batch_ != other.batch_; }
    /// @}

   private:
    const Batches* range_;
    std::size_t batch_;
  };

  /// For `batches`, which checks the arguments: the rows order[0], order[1], ... in batches of `size`.
  Batches(const Array<X>& x, const Array<Y>& y, std::size_t size, Index order, const BatchOptions& options)
      : x_(x), y_(y), row_count_(order.size()), size_(size), first_(options.first), order_(std::move(order)) {
    const std::size_t count = row_count_ / size + (row_count_ % size != 0 && !options.drop_last);
    count_ = count - (first_ < count ? first_ : count);
  }

  /// Number of batches, from the first asked for.
  std::size_t size() const noexcept { return count_; }
  /// The first batch, and past the last.
  /// @{
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, count_}; }
  /// @}

  /// A batch by number, below size().
  Batch<X, Y> operator[](std::size_t batch) const {
    const std::size_t first = (first_ + batch) * size_, left = row_count_ - first;
    const std::int64_t* rows = order_.data() + first;
    return {detail::gather_rows(x_, rows, left < size_ ? left : size_),
            detail::gather_rows(y_, rows, left < size_ ? left : size_)};
  }

 private:
  const Array<X>& x_;
  const Array<Y>& y_;
  std::size_t row_count_, size_, first_, count_;
  Index order_;
};

/// One epoch of mini-batches of `size` rows (entries of axis 0) of x and y in random order:
///
///     for (auto [x, y] : xgrad::batches(features, targets, 64, rng)) { ... }
///
/// The order depends on the generator alone (one `permutation`), and a next call gives another. The last batch holds
/// what is left, unless drop_last. No rows give no batch. Batches of floats or doubles are constant Variables, those
/// of integers are Index. The mean of batch means counts a small last batch too much: see WeightedMean.
///
/// To go on within an epoch, keep the generator's state from before this call and the number of batches done:
///
///     rng.set_state(saved_state);
///     for (auto [x, y] : xgrad::batches(features, targets, 64, rng, {false, batches_done})) { ... }
///
/// Throws ShapeError for 0-d arrays or unequal row counts, std::invalid_argument for size 0.
template <class X, class Y>
Batches<X, Y> batches(const Array<X>& x, const Array<Y>& y, std::size_t size, Rng& rng,
                      const BatchOptions& options = {}) {
  detail::check_batches(x.shape(), y.shape(), size);
  return {x, y, size, rng.permutation(x.shape()[0]), options};
}

/// The same with the rows in their own order.
template <class X, class Y>
Batches<X, Y> batches(const Array<X>& x, const Array<Y>& y, std::size_t size, const BatchOptions& options = {}) {
  detail::check_batches(x.shape(), y.shape(), size);
  return {x, y, size, arange<std::int64_t>(static_cast<std::int64_t>(x.shape()[0])), options};
}

// A range would outlive temporaries.
template <class X, class Y, class... Rest>
void batches(const Array<X>&&, const Array<Y>&, Rest&&...) = delete;
template <class X, class Y, class... Rest>
void batches(const Array<X>&, const Array<Y>&&, Rest&&...) = delete;
template <class X, class Y, class... Rest>
void batches(const Array<X>&&, const Array<Y>&&, Rest&&...) = delete;

}  // namespace xgrad
