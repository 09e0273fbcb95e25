// Reductions over all axes or some. Sums accumulate in double, pairwise, so that the error stays flat over long axes;
// results do not depend on the number of threads. T is float or double.
#pragma once

#include "../array.hpp"

namespace xgrad {

/// Sum over `axes` (default: all); 0 over an empty extent. Reduced axes stay with extent 1 if `keep`.
template <class T>
Array<T> sum(const Array<T>& x, const Axes& axes = {}, bool keep = false);

/// Mean over `axes`; throws ShapeError over an empty extent.
template <class T>
Array<T> mean(const Array<T>& x, const Axes& axes = {}, bool keep = false);

/// sum((x - mean)^2) / (n - ddof) in two passes: population variance by default, the sample's with ddof = 1.
/// Throws ShapeError unless n > ddof.
template <class T>
Array<T> variance(const Array<T>& x, const Axes& axes = {}, bool keep = false, std::size_t ddof = 0);

/// Square root of `variance`, taken in double and without overflow: exactly 0 for equal numbers. Throws ShapeError
/// unless n > ddof.
template <class T>
Array<T> stddev(const Array<T>& x, const Axes& axes = {}, bool keep = false, std::size_t ddof = 0);

/// Largest number; NaN if there is one. Throws ShapeError over an empty extent.
template <class T>
Array<T> amax(const Array<T>& x, const Axes& axes = {}, bool keep = false);

/// Smallest number; NaN if there is one. Throws ShapeError over an empty extent.
template <class T>
Array<T> amin(const Array<T>& x, const Axes& axes = {}, bool keep = false);

/// log(sum(exp(x))) without overflow; -inf over an empty extent.
template <class T>
Array<T> logsumexp(const Array<T>& x, const Axes& axes = {}, bool keep = false);

/// Where along one axis the largest number stands: the first of equals, the first NaN if there is one (as in NumPy).
/// Throws ShapeError over an empty extent.
template <class T>
Index argmax(const Array<T>& x, std::ptrdiff_t axis = -1, bool keep = false);

/// As argmax, for the smallest number.
template <class T>
Index argmin(const Array<T>& x, std::ptrdiff_t axis = -1, bool keep = false);

/// Sums x down to a shape that broadcasts to x's: undoes broadcasting. Throws ShapeError if it does not broadcast.
template <class T>
Array<T> sum_to(const Array<T>& x, const Shape& shape);

/// x repeated along axes that it lacks or where its extent is 1; throws ShapeError if x does not broadcast to shape.
template <class T>
Array<T> broadcast_to(const Array<T>& x, const Shape& shape);

XGRAD_TAKES_EXPRESSIONS(sum)
XGRAD_TAKES_EXPRESSIONS(mean)
XGRAD_TAKES_EXPRESSIONS(variance)
XGRAD_TAKES_EXPRESSIONS(stddev)
XGRAD_TAKES_EXPRESSIONS(amax)
XGRAD_TAKES_EXPRESSIONS(amin)
XGRAD_TAKES_EXPRESSIONS(logsumexp)
XGRAD_TAKES_EXPRESSIONS(argmax)
XGRAD_TAKES_EXPRESSIONS(argmin)
XGRAD_TAKES_EXPRESSIONS(sum_to)
XGRAD_TAKES_EXPRESSIONS(broadcast_to)

}  // namespace xgrad
