#include "softmax.hpp"

#include <cmath>
#include <limits>

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

/// 1 for each row that is -inf throughout, else 0.
template <class T>
Array<T> rows_of_nothing(const Array<T>& y, std::ptrdiff_t axis) {
  return xgrad::equal(xgrad::amax(y, axis, keep_dims), -std::numeric_limits<T>::infinity());
}

template <class T>
Variable<T> log_softmax_backward(const Variable<T>& y, const Variable<T>& g, std::ptrdiff_t axis) {
  if (y.size() == 0) return g;
  const Variable<T> nothing = rows_of_nothing(y.value(), axis);
  return xgrad::where(nothing, T(0), g) - xgrad::exp(y) * xgrad::sum(g, axis, keep_dims);
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
