#include "accumulate.hpp"

#include "kernels/parallel_inline.hpp"
#include "record.hpp"

namespace xgrad {

template <class T>
Variable<T> identity(const Variable<T>& x) {
  const auto derivative = [](auto& b) { b.add(0, b.grad()); };
  if (!detail::tracks<T>("identity", {x})) return x;
  Shared<Node<T>> node(new detail::FormulaNode<T, decltype(derivative)>("identity", derivative));
  return detail::attach<T>(std::move(node), {x}, saves::nothing, x.shared_value());
}

template <class T>
Variable<T> sum_to(const Variable<T>& x, const Shape& shape) {
  return record<T>("sum_to", {x}, saves::nothing, xgrad::sum_to(x.value(), shape),
                   [](auto& b) { b.add(0, xgrad::broadcast_to(b.grad(), b.shape(0))); });
}

template <class T>
Variable<T> broadcast_to(const Variable<T>& x, const Shape& shape) {
  return record<T>("broadcast_to", {x}, saves::nothing, xgrad::broadcast_to(x.value(), shape),
                   [](auto& b) { b.add_summed(0, b.grad()); });
}

template <class T>
Variable<T> slice(const Variable<T>& x, const Slices& slices) {
  return record<T>("slice", {x}, saves::nothing, xgrad::slice(x.value(), slices),
                   [slices](auto& b) { b.add_at(0, slices, b.grad()); });
}

template <class T>
Variable<T> place(const Variable<T>& x, const Slices& slices, const Shape& shape) {
  Array<T> value = zeros<T>(shape);
  add_to_slice(value, slices, x.value());
  return record<T>("place", {x}, saves::nothing, std::move(value),
                   [slices](auto& b) { b.add(0, xgrad::slice(b.grad(), slices)); });
}

template <class T>
Variable<T> take(const Variable<T>& x, const Index& rows) {
  return record<T>("take", {x}, saves::nothing, xgrad::take(x.value(), rows),
                   [rows](auto& b) { b.add_rows(0, rows, b.grad()); });
}

template <class T>
Variable<T> place_rows(const Variable<T>& x, const Index& rows, const Shape& shape) {
  Array<T> value = zeros<T>(shape);
  add_rows(value, rows, x.value());
  return record<T>("place_rows", {x}, saves::nothing, std::move(value),
                   [rows](auto& b) { b.add(0, xgrad::take(b.grad(), rows)); });
}

template <class T>
void add_in_place(Array<T>& target, const Array<T>& g) {
  check_shape("add_in_place", "what is added", target.shape(), g.shape());
  T* const to = target.data();
  const T* const from = g.data();
  detail::parallel(g.size(), 1024, 0.15, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
#pragma omp simd
    for (std::size_t i = begin; i < end; ++i) to[i] += from[i];
  });
}

#define XGRAD_INSTANTIATE(T)                                                       \
  template Variable<T> identity(const Variable<T>&);                               \
  template Variable<T> sum_to(const Variable<T>&, const Shape&);                   \
  template Variable<T> broadcast_to(const Variable<T>&, const Shape&);             \
  template Variable<T> slice(const Variable<T>&, const Slices&);                   \
  template Variable<T> place(const Variable<T>&, const Slices&, const Shape&);     \
  template Variable<T> take(const Variable<T>&, const Index&);                     \
  template Variable<T> place_rows(const Variable<T>&, const Index&, const Shape&); \
  template void add_in_place(Array<T>&, const Array<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
