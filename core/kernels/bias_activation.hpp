// What stands between two linear maps, in one pass over the rows: bias, activation, dropout.
#pragma once

#include <cstdint>

#include "../array.hpp"

namespace xgrad {

/// The functions that these kernels apply number by number; see elementwise.hpp for each.
enum class Nonlinearity { relu, gelu, gelu_tanh, silu };

/// dropout(f(x + bias), p, key): x of shape (..., width), bias of `width` numbers or nullptr for zeros. Nothing is
/// dropped when p is 0.
template <class T>
Array<T> bias_activation(const Array<T>& x, const T* bias, Nonlinearity f, double p, std::uint64_t key);

/// The gradients by x and, summed over the rows, by bias, from the gradient g of the result; both are written, and
/// dbias may be nullptr.
///
/// `saved` is x; for relu it is the result, which is above 0 just where x + bias is and was kept, so neither x nor a
/// mask is needed.
template <class T>
void bias_activation_backward(const Array<T>& g, const Array<T>& saved, const T* bias, Nonlinearity f, double p,
                              std::uint64_t key, T* dx, T* dbias);

/// y + bias, in place and row by row: y of shape (..., width).
template <class T>
void add_bias(Array<T>& y, const T* bias);

}  // namespace xgrad
