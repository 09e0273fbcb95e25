// The same numbers in another shape or another order of axes.
#pragma once

#include "../array.hpp"

namespace xgrad {

/// A short list of signed integers, written `{2, -1}`: extents of which one may be -1, or an order of axes.
/// Integers of any type mix; a Shape converts.
class Extents {
 public:
  /// An integer of any type.
  struct Value {
    /// Converts it.
    template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
    Value(I i) : value(static_cast<std::ptrdiff_t>(i)) {}
    std::ptrdiff_t value;  ///< The integer.
  };

  /// From a list, a shape or a vector of integers; none by default.
  /// @{
  Extents() = default;
  Extents(std::initializer_list<Value> values) {
    for (const Value v : values) values_.push_back(v.value);
  }
  Extents(const Shape& shape) {
    for (const std::size_t extent : shape) values_.push_back(static_cast<std::ptrdiff_t>(extent));
  }
  template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
  Extents(const std::vector<I>& values) {
    for (const I v : values) values_.push_back(static_cast<std::ptrdiff_t>(v));
  }
  /// @}

  /// How many integers.
  std::size_t size() const { return values_.size(); }
  /// Integer i, which is not checked.
  std::ptrdiff_t operator[](std::size_t i) const { return values_[i]; }

 private:
  xt::svector<std::ptrdiff_t, 4> values_;
};

/// The order of axes that `permute` takes.
using AxisOrder = Extents;

/// The same numbers, in row-major order, in another shape; one extent may be -1 and follows from the rest.
/// T is float, double or std::int64_t. Throws ShapeError when the counts differ.
template <class T>
Array<T> reshape(const Array<T>& x, const Extents& shape);

/// The shape that `reshape` gives; throws as it does.
Shape reshaped(const Shape& from, const Extents& to);

/// Reverses the order of all axes; a matrix is transposed. T is float, double or std::int64_t.
template <class T>
Array<T> transpose(const Array<T>& x);

/// Axis i of the result is axis order[i] of x. T is float, double or std::int64_t. Throws ShapeError unless `order`
/// names every axis once.
template <class T>
Array<T> permute(const Array<T>& x, const AxisOrder& order);

/// Inserts an axis of extent 1 so that it becomes axis `axis` of the result (-1: the last). T is float, double or
/// std::int64_t.
template <class T>
Array<T> expand_dims(const Array<T>& x, std::ptrdiff_t axis);

/// Drops the given axes, or by default all those of extent 1. T is float, double or std::int64_t. Throws ShapeError for
/// an axis of another extent.
template <class T>
Array<T> squeeze(const Array<T>& x, const Axes& axes = {});

XGRAD_TAKES_EXPRESSIONS(reshape)
XGRAD_TAKES_EXPRESSIONS(transpose)
XGRAD_TAKES_EXPRESSIONS(permute)
XGRAD_TAKES_EXPRESSIONS(expand_dims)
XGRAD_TAKES_EXPRESSIONS(squeeze)

}  // namespace xgrad
