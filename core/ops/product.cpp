#include "product.hpp"

#include <algorithm>
#include <numeric>

#include "../accumulate.hpp"
#include "../kernels/bias_activation.hpp"
#include "../linalg.hpp"
#include "../record.hpp"
#include "shape.hpp"

namespace xgrad {

namespace {

std::size_t rows_of(const Shape& shape) { return element_count(Shape(shape.begin(), shape.end() - 1)); }

/// The sum over all rows r of the outer product of a_r and b_r, of shape (m, n): one product, whatever the leading
/// axes.
template <class T>
Array<T> sum_of_outer(const Array<T>& a, const Array<T>& b) {
  const std::size_t m = a.shape().back(), n = b.shape().back();
  auto result = empty<T>({m, n});
  gemm(true, false, m, n, rows_of(a.shape()), T(1), a.data(), m, b.data(), n, T(0), result.data(), n);
  return result;
}
template <class T>
Variable<T> sum_of_outer(const Variable<T>& a, const Variable<T>& b) {
  const Extents rows_a{rows_of(a.shape()), a.shape().back()}, rows_b{rows_of(b.shape()), b.shape().back()};
  return xgrad::matmul(xgrad::reshape(a, rows_a), xgrad::reshape(b, rows_b), true, false);
}

/// x with its last two axes exchanged.
template <class G>
G swapped(const G& x) {
  std::vector<std::size_t> order(x.dimension());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return xgrad::permute(x, order);
}

/// x of shape (..., m, n) as (m, all the rest).
template <class G>
G row_axis_first(const G& x) {
  std::vector<std::size_t> order(x.dimension());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::rotate(order.begin(), order.end() - 2, order.end() - 1);
  const G first = xgrad::permute(x, order);
  const Shape rest(first.shape().begin() + 1, first.shape().end());
  return xgrad::reshape(first, {first.shape()[0], element_count(rest)});
}

/// Gradients of op(a) op(b) for operands of at least two axes, summed to the operand's own shape.
template <class G>
G left_gradient(const G& g, const G& b, const Shape& shape, bool transpose_a, bool transpose_b) {
  if (shape.size() == 2 && g.dimension() > 2) {  // one matrix before a batch
    const G all_g = row_axis_first(g), all_b = row_axis_first(transpose_b ? swapped(b) : b);
    return transpose_a ? xgrad::matmul(all_b, all_g, false, true) : xgrad::matmul(all_g, all_b, false, true);
  }
  G result = transpose_a ? xgrad::matmul(b, g, transpose_b, true) : xgrad::matmul(g, b, false, !transpose_b);
  return result.shape() == shape ? result : xgrad::sum_to(result, shape);
}

template <class G>
G right_gradient(const G& g, const G& a, const Shape& shape, bool transpose_a, bool transpose_b) {
  if (shape.size() == 2 && g.dimension() > 2) {  // a batch before one matrix: all rows meet it
    const auto product = [&](const G& rows) { return transpose_b ? sum_of_outer(g, rows) : sum_of_outer(rows, g); };
    return transpose_a ? product(swapped(a)) : product(a);
  }
  G result = transpose_b ? xgrad::matmul(g, a, true, transpose_a) : xgrad::matmul(a, g, !transpose_a, false);
  return result.shape() == shape ? result : xgrad::sum_to(result, shape);
}

/// A shape with one axis as the matrix it stands for: a row on the left, a column on the right.
Shape as_matrix(const Shape& shape, bool left) {
  if (shape.size() > 1) return shape;
  return left ? Shape{1, shape[0]} : Shape{shape[0], 1};
}

}  // namespace

template <class T>
Variable<T> matmul(const Variable<T>& a, const Variable<T>& b, bool transpose_a, bool transpose_b) {
  Array<T> value = xgrad::matmul(a.value(), b.value(), transpose_a, transpose_b);
  const Saves keep = detail::factors(a, b);
  if (a.dimension() > 1 && b.dimension() > 1)
    return record<T>("matmul", {a, b}, keep, std::move(value), [transpose_a, transpose_b](auto& d) {
      const auto& g = d.grad();
      if (d.needs(0)) d.add(0, left_gradient(g, d.input(1), d.shape(0), transpose_a, transpose_b));
      if (d.needs(1)) d.add(1, right_gradient(g, d.input(0), d.shape(1), transpose_a, transpose_b));
    });
  return record<T>("matmul", {a, b}, keep, std::move(value), [transpose_a, transpose_b](auto& d) {
    const Shape left = as_matrix(d.shape(0), true), right = as_matrix(d.shape(1), false);
    Shape shape = d.shape(0).size() > 1 ? left : right;  // of the result with both as matrices
    shape[shape.size() - 2] = left[left.size() - (transpose_a ? 1 : 2)];
    shape[shape.size() - 1] = right[right.size() - (transpose_b ? 2 : 1)];
    const auto g = xgrad::reshape(d.grad(), shape);
    if (d.needs(0))
      d.add(0, xgrad::reshape(left_gradient(g, xgrad::reshape(d.input(1), right), left, transpose_a, transpose_b),
                              d.shape(0)));
    if (d.needs(1))
      d.add(1, xgrad::reshape(right_gradient(g, xgrad::reshape(d.input(0), left), right, transpose_a, transpose_b),
                              d.shape(1)));
  });
}

namespace {

template <class T>
void check_linear(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias) {
  const Shape& in = x.shape();
  const Shape& w = weight.shape();
  if (w.size() != 2) fail<ShapeError>("linear", "the weight must be (out, in) but has shape ", to_string(w));
  if (in.empty() || in.back() != w[1])
    fail<ShapeError>("linear", "the last axis of the input must be ", w[1], ", since the weight is ", to_string(w),
                     ", but the input is ", to_string(in));
  if (bias.defined()) check_shape("linear", "the bias", {w[0]}, bias.shape());
}

}  // namespace

template <class T>
Variable<T> linear(const Variable<T>& x, const Variable<T>& weight,
                   const typename detail::not_deduced<Variable<T>>::type& bias) {
  check_linear(x, weight, bias);
  Array<T> y = xgrad::matmul(x.value(), weight.value(), false, true);
  const auto derivative = [](auto& d) {
    if (d.needs(0)) d.add(0, xgrad::matmul(d.grad(), d.input(1)));
    if (d.needs(1)) d.add(1, sum_of_outer(d.grad(), d.input(0)));
    if (d.input_count() == 3) d.add_summed(2, d.grad());
  };
  const Saves keep = detail::factors(x, weight);
  if (!bias.defined()) return record<T>("linear", {x, weight}, keep, std::move(y), derivative);
  add_bias(y, bias.value().data());
  return record<T>("linear", {x, weight, bias}, keep, std::move(y), derivative);
}

#define XGRAD_INSTANTIATE(T)                                                       \
  template Variable<T> matmul(const Variable<T>&, const Variable<T>&, bool, bool); \
  template Variable<T> linear<T>(const Variable<T>&, const Variable<T>&,           \
                                 const typename detail::not_deduced<Variable<T>>::type&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
