// The four operations on Variables, which the operators of Variable call. All broadcast as in NumPy; arrays, lazy
// expressions and numbers stand in for constants. Throw ShapeError for shapes that do not broadcast.
#pragma once

namespace xgrad {

template <class T>
class Variable;

/// a + b.
template <class T>
Variable<T> add(const Variable<T>& a, const Variable<T>& b);

/// a - b.
template <class T>
Variable<T> sub(const Variable<T>& a, const Variable<T>& b);

/// a * b, number by number.
template <class T>
Variable<T> mul(const Variable<T>& a, const Variable<T>& b);

/// a / b.
template <class T>
Variable<T> div(const Variable<T>& a, const Variable<T>& b);

/// -x.
template <class T>
Variable<T> neg(const Variable<T>& x);

/// x + offset.
template <class T>
Variable<T> shift(const Variable<T>& x, T offset);

/// x * factor.
template <class T>
Variable<T> scale(const Variable<T>& x, T factor);

/// 1 / x.
template <class T>
Variable<T> reciprocal(const Variable<T>& x);

/// Constant of 1 where the relation ("<", "<=", ">", ">=", "==" or "!=") holds, else 0.
template <class T>
Variable<T> compare(const Variable<T>& a, const Variable<T>& b, const char* relation);

}  // namespace xgrad
