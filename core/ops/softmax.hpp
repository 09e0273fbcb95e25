// Softmax along one axis, in the form that cannot overflow. g is the gradient of the result y.
#pragma once

#include "../kernels/softmax.hpp"
#include "operands.hpp"

namespace xgrad {

/// exp(x) / sum(exp(x)) along an axis; gradient y (g - sum(g y)). A row of all -inf gives zeros and zero gradient.
template <class T>
Variable<T> softmax(const Variable<T>& x, std::ptrdiff_t axis = -1);

/// Softmax of the entries whose mask is not 0, and 0 elsewhere; a row without any gives zeros. Masked entries have no
/// influence, not even NaN, and zero gradient of every order. The mask is an array, an expression or a constant
/// Variable. Throws ShapeError unless it broadcasts to x's shape, GraphError if it requires a gradient.
template <class T>
Variable<T> softmax(const Variable<T>& x, const typename detail::not_deduced<Variable<T>>::type& mask,
                    std::ptrdiff_t axis = -1);

/// x - logsumexp(x) along an axis; gradient g - exp(y) sum(g). A row of all -inf gives -inf and zero gradient.
template <class T>
Variable<T> log_softmax(const Variable<T>& x, std::ptrdiff_t axis = -1);

/// y (g - sum(g y)) along an axis, composed of other ops: the gradient of softmax, which can be differentiated again.
template <class T>
Variable<T> softmax_backward(const Variable<T>& y, const Variable<T>& g, std::ptrdiff_t axis = -1);

}  // namespace xgrad
