// Softmax along one axis, in the form that cannot overflow: the largest number of each row is subtracted first. T
// is float or double.
#pragma once

#include "../array.hpp"

namespace xgrad {

/// exp(x) / sum(exp(x)) along an axis. A row of all -inf gives zeros; +inf or NaN in a row gives NaN.
template <class T>
Array<T> softmax(const Array<T>& x, std::ptrdiff_t axis = -1);

/// Softmax of the entries whose mask is not 0, and 0 elsewhere; a row without any gives zeros. Masked entries have no
/// influence, not even NaN. Throws ShapeError unless the mask broadcasts to x's shape.
template <class T>
Array<T> softmax(const Array<T>& x, const Array<T>& mask, std::ptrdiff_t axis = -1);

/// y (g - sum(g y)) along an axis: the gradient of softmax from its output y and the gradient g at it.
/// Throws ShapeError unless g has y's shape.
template <class T>
Array<T> softmax_backward(const Array<T>& y, const Array<T>& g, std::ptrdiff_t axis = -1);

/// x - logsumexp(x) along an axis. A row of all -inf gives -inf; +inf or NaN in a row gives NaN.
template <class T>
Array<T> log_softmax(const Array<T>& x, std::ptrdiff_t axis = -1);

/// g - exp(y) sum(g) along an axis: the gradient of log_softmax from its output y and the gradient g at it; 0 in rows
/// of -inf. Throws ShapeError unless g has y's shape.
template <class T>
Array<T> log_softmax_backward(const Array<T>& y, const Array<T>& g, std::ptrdiff_t axis = -1);

XGRAD_TAKES_EXPRESSIONS(softmax)
XGRAD_TAKES_EXPRESSIONS(softmax_backward)
XGRAD_TAKES_EXPRESSIONS(log_softmax)

}  // namespace xgrad
