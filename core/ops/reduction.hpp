// Reductions over all axes (the default) or some. `axes` is one axis, a list or {} for all; negative axes count from
// the end; with `keep` (or `keep_dims`) reduced axes stay with extent 1. An axis out of range or named twice throws
// ShapeError. g is the gradient of the result y, n the count of numbers that go into one.
#pragma once

#include "../kernels/reduce.hpp"
#include "../variable.hpp"

namespace xgrad {

/// Sum, 0 over an empty extent; gradient g for each number.
template <class T>
Variable<T> sum(const Variable<T>& x, const Axes& axes = {}, bool keep = false);

/// Mean; gradient g / n. Throws ShapeError over an empty extent.
template <class T>
Variable<T> mean(const Variable<T>& x, const Axes& axes = {}, bool keep = false);

/// sum((x - mean)^2) / (n - ddof): the population's by default (PyTorch's default is the sample's, ddof = 1). Gradient
/// 2 g (x - mean) / (n - ddof), with the digits of the deviations whatever the mean. The value is infinite for float
/// deviations of 1e20; `stddev` is not. Throws ShapeError unless n > ddof.
template <class T>
Variable<T> variance(const Variable<T>& x, const Axes& axes = {}, bool keep = false, std::size_t ddof = 0);

/// Square root of `variance`, without its overflow; gradient g (x - mean) / ((n - ddof) y). Sums of x must be numbers
/// of double, and deviations numbers of T. Where all numbers are equal, value and gradient are exactly 0. Throws
/// ShapeError unless n > ddof.
template <class T>
Variable<T> stddev(const Variable<T>& x, const Axes& axes = {}, bool keep = false, std::size_t ddof = 0);

/// Largest number, NaN if there is one. g is shared evenly by the numbers that equal it (by the NaNs, if any).
/// Throws ShapeError over an empty extent.
template <class T>
Variable<T> amax(const Variable<T>& x, const Axes& axes = {}, bool keep = false);

/// Smallest number, as `amax`.
template <class T>
Variable<T> amin(const Variable<T>& x, const Axes& axes = {}, bool keep = false);

/// Euclidean norm sqrt(sum(x^2)), scaled where squares would overflow or vanish; gradient g x / y, and 0 where y is 0.
template <class T>
Variable<T> norm(const Variable<T>& x, const Axes& axes = {}, bool keep = false);

/// log(sum(exp(x))) without overflow; gradient g softmax(x). Where all numbers are -inf, the value is -inf and the
/// gradient 0.
template <class T>
Variable<T> logsumexp(const Variable<T>& x, const Axes& axes = {}, bool keep = false);

/// Where along one axis the largest number stands, the first of equals. Has no derivative: throws GraphError when x
/// requires a gradient; pass x.detach(). Throws ShapeError over an empty extent.
template <class T>
Index argmax(const Variable<T>& x, std::ptrdiff_t axis = -1, bool keep = false);

/// As `argmax`, for the smallest number.
template <class T>
Index argmin(const Variable<T>& x, std::ptrdiff_t axis = -1, bool keep = false);

}  // namespace xgrad
