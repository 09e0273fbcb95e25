#include "shape.hpp"

#include "../record.hpp"

namespace xgrad {

namespace {

/// An op that keeps the row-major order of the numbers: its gradient is reshaped back.
template <class T>
Variable<T> same_order(const char* name, const Variable<T>& x, Array<T> value) {
  return record<T>(name, {x}, saves::nothing, std::move(value),
                   [](auto& b) { b.add(0, xgrad::reshape(b.grad(), b.shape(0))); });
}

}  // namespace

template <class T>
Variable<T> reshape(const Variable<T>& x, const Extents& shape) {
  return same_order("reshape", x, xgrad::reshape(x.value(), shape));
}

template <class T>
Variable<T> expand_dims(const Variable<T>& x, std::ptrdiff_t axis) {
  return same_order("expand_dims", x, xgrad::expand_dims(x.value(), axis));
}

template <class T>
Variable<T> squeeze(const Variable<T>& x, const Axes& axes) {
  return same_order("squeeze", x, xgrad::squeeze(x.value(), axes));
}

template <class T>
Variable<T> transpose(const Variable<T>& x) {
  return record<T>("transpose", {x}, saves::nothing, xgrad::transpose(x.value()),
                   [](auto& b) { b.add(0, xgrad::transpose(b.grad())); });
}

template <class T>
Variable<T> permute(const Variable<T>& x, const AxisOrder& order) {
  Array<T> value = xgrad::permute(x.value(), order);
  std::vector<std::size_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[normalize_axis("permute", order[i], order.size())] = i;
  return record<T>("permute", {x}, saves::nothing, std::move(value),
                   [back = AxisOrder(back)](auto& b) { b.add(0, xgrad::permute(b.grad(), back)); });
}

#define XGRAD_INSTANTIATE(T)                                            \
  template Variable<T> reshape(const Variable<T>&, const Extents&);     \
  template Variable<T> expand_dims(const Variable<T>&, std::ptrdiff_t); \
  template Variable<T> squeeze(const Variable<T>&, const Axes&);        \
  template Variable<T> transpose(const Variable<T>&);                   \
  template Variable<T> permute(const Variable<T>&, const AxisOrder&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
