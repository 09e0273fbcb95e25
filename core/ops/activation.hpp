// Activation functions, number by number, safe at both ends of the range. g is the gradient of the result, y the
// result. Derivatives of every order; T is float or double.
#pragma once

#include "../kernels/elementwise.hpp"
#include "../variable.hpp"

namespace xgrad {

/// 1 / (1 + e^-x); gradient g y (1 - y).
template <class T>
Variable<T> sigmoid(const Variable<T>& x);

/// log(1 + e^x); gradient g sigmoid(x).
template <class T>
Variable<T> softplus(const Variable<T>& x);

/// max(x, 0); gradient g where x > 0, 0 at and below 0. NaN is not hidden: value and gradient are NaN there.
template <class T>
Variable<T> relu(const Variable<T>& x);

/// x Phi(x), Phi the normal distribution function: the erf form (Hendrycks and Gimpel 2016), accurate far below 0.
/// Gradient g (Phi(x) + x phi(x)).
template <class T>
Variable<T> gelu(const Variable<T>& x);

/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): another function than `gelu`, by up to 4.8e-4. Gradient g
/// gelu_tanh_grad(x).
template <class T>
Variable<T> gelu_tanh(const Variable<T>& x);

/// x sigmoid(x), also named swish; gradient g (s + x s (1 - s)), s = sigmoid(x).
template <class T>
Variable<T> silu(const Variable<T>& x);

/// Distribution function of the standard normal; gradient g normal_pdf(x).
template <class T>
Variable<T> normal_cdf(const Variable<T>& x);

/// Density of the standard normal, exp(-x^2/2) / sqrt(2 pi); gradient -g x y.
template <class T>
Variable<T> normal_pdf(const Variable<T>& x);

/// The derivative of gelu, composed of other ops: Phi(x) + x phi(x).
template <class T>
Variable<T> gelu_grad(const Variable<T>& x);

/// The derivative of gelu_tanh, composed of other ops.
template <class T>
Variable<T> gelu_tanh_grad(const Variable<T>& x);

/// The derivative of silu, composed of other ops.
template <class T>
Variable<T> silu_grad(const Variable<T>& x);

}  // namespace xgrad
