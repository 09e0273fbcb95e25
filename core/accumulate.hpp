// The linear ops with which gradients add up. They come in pairs, each the other's derivative: sum_to and broadcast_to,
// slice and place, take and place_rows. So the engine needs them to record its own work.
#pragma once

#include "kernels/index.hpp"
#include "kernels/reduce.hpp"
#include "variable.hpp"

namespace xgrad {

/// x unchanged, as a node of its own (shares the numbers); gradient g.
template <class T>
Variable<T> identity(const Variable<T>& x);

/// Sums x down to a shape that broadcasts to x's. Throws ShapeError if it does not.
template <class T>
Variable<T> sum_to(const Variable<T>& x, const Shape& shape);

/// x repeated along axes that it lacks or where its extent is 1. Throws ShapeError if x does not broadcast to shape.
template <class T>
Variable<T> broadcast_to(const Variable<T>& x, const Shape& shape);

/// A part of x by NumPy's rules: `slice(x, {0, range(1, -1), all()})`; axes left out are taken whole. See Slice.
template <class T>
Variable<T> slice(const Variable<T>& x, const Slices& slices);

/// Zeros of the given shape with x in the region that `slices` names: undoes `slice`.
template <class T>
Variable<T> place(const Variable<T>& x, const Slices& slices, const Shape& shape);

/// Rows of x (entries of axis 0) by number, shape rows.shape + x.shape[1:]; gradients of repeated rows add up.
/// Throws ShapeError, naming value and position, for a number outside [0, x.shape[0]).
/// @{
template <class T>
Variable<T> take(const Variable<T>& x, const Index& rows);
template <class T, class E, class = if_real<E>>
Variable<T> take(const Variable<T>& x, const E& rows) = delete;  // rows must be an Index
/// @}

/// Zeros of the given shape with the rows of x added at the rows named: undoes `take`.
template <class T>
Variable<T> place_rows(const Variable<T>& x, const Index& rows, const Shape& shape);

/// target += g for two arrays of one shape (never widens the target, as xtensor's += would).
template <class T>
void add_in_place(Array<T>& target, const Array<T>& g);

}  // namespace xgrad
