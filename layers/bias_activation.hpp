// Bias, activation and dropout as one op: what stands between two linear maps.
#pragma once

#include "../core/kernels/bias_activation.hpp"
#include "../core/variable.hpp"

namespace xgrad {

/// dropout(f(x + bias), p, key): what the three ops give, in one pass forward and one backward.
///
/// x is (..., width); bias is (width), or undefined: zeros. No mask is stored; with relu nothing but the result is,
/// with the others x. Throws ShapeError for a 0-d x or another bias, std::invalid_argument unless p is in [0, 1].
template <class T>
Variable<T> bias_activation(const Variable<T>& x, const Variable<T>& bias, Nonlinearity f, double p = 0,
                            std::uint64_t key = 0);

}  // namespace xgrad
