// Gradient clipping, between backward() and step().
#pragma once

#include <vector>

#include "../core/variable.hpp"

namespace xgrad {

/// Scales all gradients by max_norm / norm when their joint L2 norm is larger than max_norm, and returns the norm
/// before clipping. The sum runs in double and does not overflow. Parameters that are frozen or have no gradient are
/// left out; one given twice counts once. A norm that is not finite is returned and changes nothing, so that the
/// caller can skip the step; max_norm = infinity only measures. Throws std::invalid_argument unless max_norm >= 0.
/// Source: Pascanu, Mikolov, Bengio, "On the difficulty of training recurrent neural networks", 2013. (PyTorch divides
/// by norm + 1e-6 instead of norm.)
template <class T>
double clip_grad_norm(const std::vector<Variable<T>>& parameters, double max_norm);

/// Moves every entry of every gradient into [-bound, bound]; NaN stays NaN. Throws std::invalid_argument unless
/// bound >= 0.
template <class T>
void clip_grad_value(const std::vector<Variable<T>>& parameters, double bound);

}  // namespace xgrad
