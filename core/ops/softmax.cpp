#include "softmax.hpp"

#include <cmath>

#include "../kernels/reduce.hpp"
#include "../record.hpp"
#include "pointwise.hpp"
#include "reduction.hpp"
#include "select.hpp"

namespace xgrad {

template <class T>
Variable<T> softmax(const Variable<T>& x, std::ptrdiff_t axis) {
  return record<T>("softmax", {x}, saves::output, xgrad::softmax(x.value(), axis),
                   [axis](auto& b) { b.add(0, xgrad::softmax_backward(b.output(), b.grad(), axis)); });
}

template <class T>
Variable<T> softmax(const Variable<T>& x, const typename detail::not_deduced<Variable<T>>::type& mask,
                    std::ptrdiff_t axis) {
  if (detail::tracks<T>("softmax", {mask}))
    fail<GraphError>("softmax", "the mask has no derivative but requires a gradient; pass detach() of it");
  // Masked entries of the result are 0, so the formula gives them nothing, and the mask need not be kept.
  return record<T>("softmax", {x}, saves::output, xgrad::softmax(x.value(), mask.value(), axis),
                   [axis](auto& b) { b.add(0, xgrad::softmax_backward(b.output(), b.grad(), axis)); });
}

template <class T>
Variable<T> softmax_backward(const Variable<T>& y, const Variable<T>& g, std::ptrdiff_t axis) {
  check_shape("softmax_backward", "g", y.shape(), g.shape());
  return y * (g - xgrad::sum(y * g, axis, keep_dims));
}

namespace {

/// g - exp(y) sum(g) in one pass along the axis; 0 in rows of -inf.
template <class T>
Array<T> log_softmax_backward(const Array<T>& y, const Array<T>& g, std::ptrdiff_t axis) {
  const Array<T> total = xgrad::sum(g, axis, keep_dims);
  const std::size_t at = normalize_axis("log_softmax", axis, y.dimension()), n = y.shape()[at];
  std::size_t inner = 1;
  for (std::size_t i = at + 1; i < y.dimension(); ++i) inner *= y.shape()[i];
  auto result = empty<T>(y.shape());
  for (std::size_t o = 0; o * n * inner < y.size(); ++o)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < inner; ++j) {
        const std::size_t i = (o * n + k) * inner + j;
        result.data()[i] = g.data()[i] - std::exp(y.data()[i]) * total.data()[o * inner + j];
      }
  return result;
}

template <class T>
Variable<T> log_softmax_backward(const Variable<T>& y, const Variable<T>& g, std::ptrdiff_t axis) {
  return g - xgrad::exp(y) * xgrad::sum(g, axis, keep_dims);
}

}  // namespace

template <class T>
Variable<T> log_softmax(const Variable<T>& x, std::ptrdiff_t axis) {
  Array<T> y = xgrad::log_softmax(x.value(), axis);
  return record<T>("log_softmax", {x}, saves::output, std::move(y),
                   [axis](auto& b) { b.add(0, log_softmax_backward(b.output(), b.grad(), axis)); });
}

#define XGRAD_INSTANTIATE(T)                                                                                  \
  template Variable<T> softmax(const Variable<T>&, std::ptrdiff_t);                                           \
  template Variable<T> softmax<T>(const Variable<T>&, const typename detail::not_deduced<Variable<T>>::type&, \
                                  std::ptrdiff_t);                                                            \
  template Variable<T> softmax_backward(const Variable<T>&, const Variable<T>&, std::ptrdiff_t);              \
  template Variable<T> log_softmax(const Variable<T>&, std::ptrdiff_t);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
