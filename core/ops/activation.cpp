#include "activation.hpp"

#include "../record.hpp"
#include "pointwise.hpp"
#include "weigh_inline.hpp"

namespace xgrad {

namespace {

// What the array kernels of these names do in one pass, as ops.
template <class T>
Variable<T> relu_backward(const Variable<T>& g, const Variable<T>& y) {
  const auto step = [](T v) { return v > T(0) ? T(1) : v; };  // y is never below 0; NaN stays NaN
  return detail::weigh(g, y, step);
}
template <class T>
Variable<T> sigmoid_backward(const Variable<T>& g, const Variable<T>& y) {
  return g * y * (T(1) - y);
}
template <class T>
Variable<T> gelu_backward(const Variable<T>& g, const Variable<T>& x) {
  return g * xgrad::gelu_grad(x);
}
template <class T>
Variable<T> gelu_tanh_backward(const Variable<T>& g, const Variable<T>& x) {
  return g * xgrad::gelu_tanh_grad(x);
}
template <class T>
Variable<T> silu_backward(const Variable<T>& g, const Variable<T>& x) {
  return g * xgrad::silu_grad(x);
}

}  // namespace

template <class T>
Variable<T> sigmoid(const Variable<T>& x) {
  return record<T>("sigmoid", {x}, saves::output, xgrad::sigmoid(x.value()), [](auto& b) {
    if (b.needs(0)) b.add(0, sigmoid_backward(b.grad(), b.output()));
  });
}

template <class T>
Variable<T> softplus(const Variable<T>& x) {
  return record<T>("softplus", {x}, saves::inputs, xgrad::softplus(x.value()),
                   [](auto& b) { b.add(0, b.grad() * xgrad::sigmoid(b.input(0))); });
}

template <class T>
Variable<T> relu(const Variable<T>& x) {
  return record<T>("relu", {x}, saves::output, xgrad::relu(x.value()), [](auto& b) {
    if (b.needs(0)) b.add(0, relu_backward(b.grad(), b.output()));
  });
}

template <class T>
Variable<T> gelu(const Variable<T>& x) {
  return record<T>("gelu", {x}, saves::inputs, xgrad::gelu(x.value()),
                   [](auto& b) { b.add(0, gelu_backward(b.grad(), b.input(0))); });
}

template <class T>
Variable<T> gelu_tanh(const Variable<T>& x) {
  return record<T>("gelu_tanh", {x}, saves::inputs, xgrad::gelu_tanh(x.value()),
                   [](auto& b) { b.add(0, gelu_tanh_backward(b.grad(), b.input(0))); });
}

template <class T>
Variable<T> silu(const Variable<T>& x) {
  return record<T>("silu", {x}, saves::inputs, xgrad::silu(x.value()),
                   [](auto& b) { b.add(0, silu_backward(b.grad(), b.input(0))); });
}

template <class T>
Variable<T> normal_cdf(const Variable<T>& x) {
  return record<T>("normal_cdf", {x}, saves::inputs, xgrad::normal_cdf(x.value()),
                   [](auto& b) { b.add(0, b.grad() * xgrad::normal_pdf(b.input(0))); });
}

template <class T>
Variable<T> normal_pdf(const Variable<T>& x) {
  return record<T>("normal_pdf", {x}, saves::all, xgrad::normal_pdf(x.value()), [](auto& b) {
    const auto v = detail::held(b.input(0));
    b.add(0, -b.grad() * (v * b.output()));
  });
}

template <class T>
Variable<T> gelu_grad(const Variable<T>& x) {
  return xgrad::normal_cdf(x) + detail::held(x) * xgrad::normal_pdf(x);
}

template <class T>
Variable<T> gelu_tanh_grad(const Variable<T>& x) {
  // Of x sigmoid(2 u), as in the kernel: 1 + tanh(u) would lose its digits far below 0.
  const T twice = T(2 * 0.79788456080286535588), cubic = T(0.044715);  // sqrt(2 / pi)
  const Variable<T> v = detail::held(x), squared = xgrad::square(v);
  const Variable<T> s = xgrad::sigmoid(twice * v * (T(1) + cubic * squared));
  return s + v * (twice * (T(1) + T(3) * cubic * squared)) * (s * (T(1) - s));
}

template <class T>
Variable<T> silu_grad(const Variable<T>& x) {
  const Variable<T> v = detail::held(x), s = xgrad::sigmoid(v);
  return s + v * (s * (T(1) - s));
}

#define XGRAD_INSTANTIATE(T)                               \
  template Variable<T> sigmoid(const Variable<T>&);        \
  template Variable<T> softplus(const Variable<T>&);       \
  template Variable<T> relu(const Variable<T>&);           \
  template Variable<T> gelu(const Variable<T>&);           \
  template Variable<T> gelu_tanh(const Variable<T>&);      \
  template Variable<T> silu(const Variable<T>&);           \
  template Variable<T> normal_cdf(const Variable<T>&);     \
  template Variable<T> normal_pdf(const Variable<T>&);     \
  template Variable<T> gelu_grad(const Variable<T>&);      \
  template Variable<T> gelu_tanh_grad(const Variable<T>&); \
  template Variable<T> silu_grad(const Variable<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
