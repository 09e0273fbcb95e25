// Differentiable functions of one Variable, number by number, and powers. g is the gradient of the result, y the
// result. All give a Variable of x's shape, keep NaN, and have derivatives of every order. T is float or double.
#pragma once

#include "../kernels/elementwise.hpp"
#include "operands.hpp"

namespace xgrad {

/// e^x; gradient g y.
template <class T>
Variable<T> exp(const Variable<T>& x);

/// Natural logarithm; gradient g / x: +-inf at 0, but 0 where g is 0 too. Below 0 the value is NaN.
template <class T>
Variable<T> log(const Variable<T>& x);

/// log(1 + x), with all digits near 0; gradient g / (1 + x).
template <class T>
Variable<T> log1p(const Variable<T>& x);

/// e^x - 1, with all digits near 0; gradient g (y + 1).
template <class T>
Variable<T> expm1(const Variable<T>& x);

/// Square root; gradient g / (2 y): +-inf at 0 as in PyTorch, but 0 where g is 0 too. Below 0 the value is NaN.
template <class T>
Variable<T> sqrt(const Variable<T>& x);

/// 1 / sqrt(x); gradient -g y^3 / 2. At 0 the value is +inf and the gradient infinite, or NaN where g is 0, as in
/// PyTorch.
template <class T>
Variable<T> rsqrt(const Variable<T>& x);

/// |x|; gradient g sign(x), 0 at 0.
template <class T>
Variable<T> abs(const Variable<T>& x);

/// x * x; gradient 2 g x.
template <class T>
Variable<T> square(const Variable<T>& x);

/// Sine, x in radians; gradient g cos(x).
template <class T>
Variable<T> sin(const Variable<T>& x);

/// Cosine, x in radians; gradient -g sin(x).
template <class T>
Variable<T> cos(const Variable<T>& x);

/// Hyperbolic tangent; gradient g (1 - y^2).
template <class T>
Variable<T> tanh(const Variable<T>& x);

/// Error function; gradient g 2/sqrt(pi) exp(-x^2).
template <class T>
Variable<T> erf(const Variable<T>& x);

/// x to one fixed power p; gradient g p x^(p-1). At x = 0: 0 for p = 0, g for p = 1, 0 for p > 1; for 0 < p < 1
/// infinite, or NaN where g is 0, as in PyTorch. NaN for x < 0 unless p is whole.
template <class T>
Variable<T> pow(const Variable<T>& x, typename detail::not_deduced<T>::type p);

/// a^b with broadcasting; gradients g b a^(b-1), which is 0 at a = b = 0, and g a^b log(a), which is 0 at a = 0, b >=
/// 0. For a < 0 the gradient by b is NaN. Throws ShapeError for shapes that do not broadcast.
template <class T>
Variable<T> pow(const Variable<T>& a, const Variable<T>& b);

/// Arrays, expressions and (as the base) numbers stand beside a Variable.
template <class A, class B, class = std::enable_if_t<!(detail::is_variable<A> && detail::is_number<B>)>>
detail::mixed_result<A, B> pow(const A& a, const B& b) {
  using V = detail::mixed_result<A, B>;
  return ::xgrad::pow(static_cast<const V&>(a), static_cast<const V&>(b));
}

}  // namespace xgrad
