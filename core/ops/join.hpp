// Joining Variables and cutting them into parts.
#pragma once

#include <initializer_list>
#include <vector>

#include "../kernels/index.hpp"
#include "../variable.hpp"

namespace xgrad {

/// Variables one after the other along an existing axis; each gets its part of the gradient.
/// Throws ShapeError for none, or when other axes differ.
/// @{
template <class T>
Variable<T> concatenate(const std::vector<Variable<T>>& parts, std::ptrdiff_t axis = 0);
template <class T>
Variable<T> concatenate(std::initializer_list<Variable<T>> parts, std::ptrdiff_t axis = 0) {
  return ::xgrad::concatenate(std::vector<Variable<T>>(parts), axis);
}
/// @}

/// Variables of one shape along a new axis. Throws ShapeError for none, or when shapes differ.
/// @{
template <class T>
Variable<T> stack(const std::vector<Variable<T>>& parts, std::ptrdiff_t axis = 0);
template <class T>
Variable<T> stack(std::initializer_list<Variable<T>> parts, std::ptrdiff_t axis = 0) {
  return ::xgrad::stack(std::vector<Variable<T>>(parts), axis);
}
/// @}

/// Equal parts along an axis; throws ShapeError unless its extent is a multiple of `parts`. The backward pass through
/// all parts together costs one pass over x's gradient.
template <class T>
std::vector<Variable<T>> split(const Variable<T>& x, std::size_t parts, std::ptrdiff_t axis = 0);

/// Parts of the given sizes along an axis; throws ShapeError when they do not add up to the extent.
/// (Careful: `split(x, {3})` is three equal parts.)
template <class T>
std::vector<Variable<T>> split(const Variable<T>& x, const std::vector<std::size_t>& sizes, std::ptrdiff_t axis = 0);

}  // namespace xgrad
