// The same numbers in another shape or another order of axes; gradients go the way back. (`broadcast_to`, `slice` and
// `take` are in core/accumulate.hpp.)
#pragma once

#include "../accumulate.hpp"
#include "../kernels/shape.hpp"
#include "../variable.hpp"

namespace xgrad {

/// The same numbers, in row-major order, in another shape; one extent may be -1 and follows from the rest.
/// Throws ShapeError when the counts differ.
template <class T>
Variable<T> reshape(const Variable<T>& x, const Extents& shape);

/// Reverses the order of all axes; a matrix is transposed.
template <class T>
Variable<T> transpose(const Variable<T>& x);

/// Axis i of the result is axis order[i] of x. Throws ShapeError unless `order` names every axis once.
template <class T>
Variable<T> permute(const Variable<T>& x, const AxisOrder& order);

/// Inserts an axis of extent 1 so that it becomes axis `axis` of the result (-1: the last).
/// Throws ShapeError for an axis out of range.
template <class T>
Variable<T> expand_dims(const Variable<T>& x, std::ptrdiff_t axis);

/// Drops the given axes, or by default all those of extent 1; throws ShapeError for an axis of another extent.
template <class T>
Variable<T> squeeze(const Variable<T>& x, const Axes& axes = {});

}  // namespace xgrad
