// Matrix products of Variables.
#pragma once

#include "operands.hpp"

namespace xgrad {

/// The matrix product of NumPy's `matmul`: (..., m, k) x (..., k, n) gives (..., m, n), leading axes broadcast.
///
/// A flag takes the last two axes of its operand as transposed. An operand with one axis is a row on the left, a column
/// on the right, and that axis is missing in the result; it takes no flag. Gradients g b^T and a^T g, each computed
/// only if wanted; that of a plain matrix beside a batch is one product over all rows, never a batch of matrices.
/// Throws ShapeError for a 0-d operand, a flag on one axis, and sizes that do not fit.
template <class T>
Variable<T> matmul(const Variable<T>& a, const Variable<T>& b, bool transpose_a = false, bool transpose_b = false);

XGRAD_TAKES_CONSTANTS(matmul)

/// x weight^T + bias: (..., in) becomes (..., out) with a weight of shape (out, in), as in PyTorch, and a bias of shape
/// (out) or, when undefined, none. Gradients g weight, g^T x and sum(g), the latter two over all rows at once.
/// Throws ShapeError for a 0-d x, a weight that is no matrix, and sizes that do not fit.
template <class T>
Variable<T> linear(const Variable<T>& x, const Variable<T>& weight,
                   const typename detail::not_deduced<Variable<T>>::type& bias = {});

XGRAD_TAKES_CONSTANTS(linear)

}  // namespace xgrad
