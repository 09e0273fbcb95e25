// Functions of one array, number by number. NaN in gives NaN out. T is float or double.
#pragma once

#include "../array.hpp"

namespace xgrad {

/// e^x.
template <class T>
Array<T> exp(const Array<T>& x);

/// Natural logarithm; -inf at 0, NaN below.
template <class T>
Array<T> log(const Array<T>& x);

/// log(1 + x), with all digits near 0.
template <class T>
Array<T> log1p(const Array<T>& x);

/// e^x - 1, with all digits near 0.
template <class T>
Array<T> expm1(const Array<T>& x);

/// Square root; NaN below 0.
template <class T>
Array<T> sqrt(const Array<T>& x);

/// 1 / sqrt(x); +inf at 0, NaN below.
template <class T>
Array<T> rsqrt(const Array<T>& x);

/// |x|.
template <class T>
Array<T> abs(const Array<T>& x);

/// x * x.
template <class T>
Array<T> square(const Array<T>& x);

/// -1, 0 or 1.
template <class T>
Array<T> sign(const Array<T>& x);

/// Sine, x in radians.
template <class T>
Array<T> sin(const Array<T>& x);

/// Cosine, x in radians.
template <class T>
Array<T> cos(const Array<T>& x);

/// Hyperbolic tangent.
template <class T>
Array<T> tanh(const Array<T>& x);

/// Error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.
template <class T>
Array<T> erf(const Array<T>& x);

// --- activations (activations.cpp) ---

/// 1 / (1 + e^-x), without overflow at either end.
template <class T>
Array<T> sigmoid(const Array<T>& x);

/// log(1 + e^x), without overflow.
template <class T>
Array<T> softplus(const Array<T>& x);

/// max(x, 0); NaN stays NaN, -0 becomes 0.
template <class T>
Array<T> relu(const Array<T>& x);

/// x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel 2016, the erf form); 0 at -inf.
template <class T>
Array<T> gelu(const Array<T>& x);

/// Derivative of gelu: Phi(x) + x phi(x).
template <class T>
Array<T> gelu_grad(const Array<T>& x);

/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the approximation of gelu in BERT and GPT-2; differs from gelu by
/// up to 4.8e-4.
template <class T>
Array<T> gelu_tanh(const Array<T>& x);

/// Derivative of gelu_tanh.
template <class T>
Array<T> gelu_tanh_grad(const Array<T>& x);

/// x sigmoid(x), also named swish; 0 at -inf.
template <class T>
Array<T> silu(const Array<T>& x);

/// Derivative of silu: s + x s (1 - s), s = sigmoid(x).
template <class T>
Array<T> silu_grad(const Array<T>& x);

// Gradients in one pass, from the gradient g of the result and the input x or result y; g must have their shape.

/// g where y > 0, else 0.
template <class T>
Array<T> relu_backward(const Array<T>& g, const Array<T>& y);

/// g y (1 - y).
template <class T>
Array<T> sigmoid_backward(const Array<T>& g, const Array<T>& y);

/// g (1 - y^2).
template <class T>
Array<T> tanh_backward(const Array<T>& g, const Array<T>& y);

/// g gelu_grad(x).
template <class T>
Array<T> gelu_backward(const Array<T>& g, const Array<T>& x);

/// g gelu_tanh_grad(x).
template <class T>
Array<T> gelu_tanh_backward(const Array<T>& g, const Array<T>& x);

/// g silu_grad(x).
template <class T>
Array<T> silu_backward(const Array<T>& g, const Array<T>& x);

/// Density of the standard normal distribution, exp(-x^2/2) / sqrt(2 pi).
template <class T>
Array<T> normal_pdf(const Array<T>& x);

/// Distribution function of the standard normal, erfc(-x/sqrt(2)) / 2: keeps its digits far below 0.
template <class T>
Array<T> normal_cdf(const Array<T>& x);

XGRAD_TAKES_EXPRESSIONS(exp)
XGRAD_TAKES_EXPRESSIONS(log)
XGRAD_TAKES_EXPRESSIONS(log1p)
XGRAD_TAKES_EXPRESSIONS(expm1)
XGRAD_TAKES_EXPRESSIONS(sqrt)
XGRAD_TAKES_EXPRESSIONS(rsqrt)
XGRAD_TAKES_EXPRESSIONS(abs)
XGRAD_TAKES_EXPRESSIONS(square)
XGRAD_TAKES_EXPRESSIONS(sign)
XGRAD_TAKES_EXPRESSIONS(sin)
XGRAD_TAKES_EXPRESSIONS(cos)
XGRAD_TAKES_EXPRESSIONS(tanh)
XGRAD_TAKES_EXPRESSIONS(erf)
XGRAD_TAKES_EXPRESSIONS(sigmoid)
XGRAD_TAKES_EXPRESSIONS(softplus)
XGRAD_TAKES_EXPRESSIONS(relu)
XGRAD_TAKES_EXPRESSIONS(gelu)
XGRAD_TAKES_EXPRESSIONS(gelu_grad)
XGRAD_TAKES_EXPRESSIONS(gelu_tanh)
XGRAD_TAKES_EXPRESSIONS(gelu_tanh_grad)
XGRAD_TAKES_EXPRESSIONS(silu)
XGRAD_TAKES_EXPRESSIONS(silu_grad)
XGRAD_TAKES_EXPRESSIONS(normal_pdf)
XGRAD_TAKES_EXPRESSIONS(normal_cdf)

}  // namespace xgrad
