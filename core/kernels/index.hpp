// Parts of arrays: slices, rows by number, joining and splitting.
#pragma once

#include <optional>

#include "../array.hpp"

namespace xgrad {

/// What to take along one axis: an integer (that index; the axis is dropped), `range(...)` or `all()`.
class Slice {
 public:
  /// One index, counted from the end when negative; the axis is dropped.
  template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
  Slice(I index) : start_(static_cast<std::ptrdiff_t>(index)), index_(true) {}

  /// The numbers taken along an axis: first, first + step, ..., `count` of them.
  struct Run {
    std::size_t first = 0;    ///< The first index taken.
    std::size_t count = 0;    ///< How many are taken.
    std::ptrdiff_t step = 1;  ///< From one to the next; may be negative.
    bool dropped = false;     ///< The result lacks this axis.
  };

  /// Resolves the slice on an axis; an index outside it throws ShapeError naming `who`.
  Run resolve(const char* who, std::size_t axis, std::size_t extent) const;

 private:
  friend Slice range(std::optional<std::ptrdiff_t> start, std::optional<std::ptrdiff_t> stop, std::ptrdiff_t step);
  Slice() = default;

  std::optional<std::ptrdiff_t> start_, stop_;
  std::ptrdiff_t step_ = 1;
  bool index_ = false;
};

/// Python's start:stop:step. Negative ends count from the end of the axis, ends outside it are moved to it, an end left
/// out (std::nullopt) is the axis's own, and a negative step walks backwards. Throws std::invalid_argument for step 0.
Slice range(std::optional<std::ptrdiff_t> start, std::optional<std::ptrdiff_t> stop = std::nullopt,
            std::ptrdiff_t step = 1);

/// The whole axis.
inline Slice all() { return range(std::nullopt); }

/// One slice per axis from the front; axes left out are taken whole. (In a template clang 14 takes the temporary
/// `Slices{1}` for a vector of a given size and stops with an error; `Slices{Slice(1)}` is what it understands.)
using Slices = std::vector<Slice>;

/// Shape of `slice(x, slices)`.
Shape slice_shape(const Shape& shape, const Slices& slices);

/// A copy of a part of x: `slice(x, {0, range(1, -1)})`. T is float, double or std::int64_t. Throws ShapeError for too
/// many slices or an index outside.
template <class T>
Array<T> slice(const Array<T>& x, const Slices& slices);

/// Adds `values` to that part of target. Throws ShapeError, before any change, unless values has its exact shape.
template <class T>
void add_to_slice(Array<T>& target, const Slices& slices, const Array<T>& values);

/// Rows of x (entries of axis 0) by number, of shape rows.shape + x.shape[1:]. Throws ShapeError, naming value and
/// position, for a number outside [0, x.shape[0]); -1 is outside. T is float, double or std::int64_t.
/// @{
template <class T>
Array<T> take(const Array<T>& x, const Index& rows);
template <class T, class E, class = if_real<E>>
Array<T> take(const Array<T>& x, const E& rows) = delete;  // rows must be an Index
/// @}

/// target[rows[i]] += values[i] for each i in order, so that repeated rows add up. Throws ShapeError, before any
/// change, for a row outside the target or another shape than rows.shape + target.shape[1:].
template <class T>
void add_rows(Array<T>& target, const Index& rows, const Array<T>& values);

/// Arrays one after the other along an existing axis. T is float, double or std::int64_t. Throws ShapeError for none,
/// or when other axes differ.
template <class T>
Array<T> concatenate(const std::vector<Array<T>>& parts, std::ptrdiff_t axis = 0);

/// The same without copying the parts into a vector.
template <class T>
Array<T> concatenate(const std::vector<const Array<T>*>& parts, std::ptrdiff_t axis = 0);

/// Arrays of one shape along a new axis. T is float, double or std::int64_t. Throws ShapeError for none, or when shapes
/// differ.
template <class T>
Array<T> stack(const std::vector<Array<T>>& parts, std::ptrdiff_t axis = 0);

/// The same without copying the parts into a vector.
template <class T>
Array<T> stack(const std::vector<const Array<T>*>& parts, std::ptrdiff_t axis = 0);

/// Equal parts along an axis. T is float, double or std::int64_t. Throws ShapeError when the extent is not a multiple
/// of `parts`.
template <class T>
std::vector<Array<T>> split(const Array<T>& x, std::size_t parts, std::ptrdiff_t axis = 0);

/// Parts of the given sizes along an axis. T is float, double or std::int64_t. Throws ShapeError when they do not add
/// up to the extent. (Careful: `split(x, {3})` is three equal parts.)
template <class T>
std::vector<Array<T>> split(const Array<T>& x, const std::vector<std::size_t>& sizes, std::ptrdiff_t axis = 0);

XGRAD_TAKES_EXPRESSIONS(slice)
XGRAD_TAKES_EXPRESSIONS(take)
XGRAD_TAKES_EXPRESSIONS(split)

}  // namespace xgrad
