// The four operations, which the operators `+ - * /` of Variable call, and comparisons, `< <= > >=`. All broadcast as
// in NumPy; arrays, lazy expressions and numbers stand in for constants. Throw ShapeError for shapes that do not
// broadcast. g is the gradient of the result y; what was broadcast gets it summed down to its own shape.
#pragma once

namespace xgrad {

template <class T>
class Variable;

/// a + b; gradients g and g.
template <class T>
Variable<T> add(const Variable<T>& a, const Variable<T>& b);

/// a - b; gradients g and -g.
template <class T>
Variable<T> sub(const Variable<T>& a, const Variable<T>& b);

/// a * b, number by number; gradients g b and g a.
template <class T>
Variable<T> mul(const Variable<T>& a, const Variable<T>& b);

/// a / b; gradients g / b and -g y / b. A zero divisor gives inf or NaN as in IEEE 754.
template <class T>
Variable<T> div(const Variable<T>& a, const Variable<T>& b);

/// -x; gradient -g.
template <class T>
Variable<T> neg(const Variable<T>& x);

/// x + offset; gradient g.
template <class T>
Variable<T> shift(const Variable<T>& x, T offset);

/// x * factor; gradient g factor.
template <class T>
Variable<T> scale(const Variable<T>& x, T factor);

/// 1 / x; gradient -g y^2.
template <class T>
Variable<T> reciprocal(const Variable<T>& x);

/// Constant of 1 where the relation ("<", "<=", ">", ">=", "==" or "!=") holds, else 0.
template <class T>
Variable<T> compare(const Variable<T>& a, const Variable<T>& b, const char* relation);

}  // namespace xgrad
