// The activations of elementwise.hpp.
#include "activations_inline.hpp"

#include <cmath>

#include "broadcast_inline.hpp"
#include "elementwise.hpp"

namespace xgrad {

using detail::vector_map;

namespace {

template <class A, class T>
Array<T> value_of(const Array<T>& x) {
  return vector_map(x, detail::cost_of<T>(A::cost), [](T v) XGRAD_INLINE { return A::value(v); });
}

template <class A, class T>
Array<T> slope_of(const Array<T>& x) {
  return vector_map(x, detail::cost_of<T>(1.5 * A::cost), [](T v) XGRAD_INLINE { return A::slope(v); });
}

template <class A, class T>
Array<T> backward_of(const char* who, const Array<T>& g, const Array<T>& x) {
  check_shape(who, "the gradient", x.shape(), g.shape());
  return vector_map(g, x, detail::cost_of<T>(1.5 * A::cost), [](T d, T v) XGRAD_INLINE { return d * A::slope(v); });
}

}  // namespace

template <class T>
Array<T> sigmoid(const Array<T>& x) {
  return vector_map(x, detail::cost_of<T>(0.6), [](T v) XGRAD_INLINE { return detail::logistic(v); });
}

template <class T>
Array<T> softplus(const Array<T>& x) {
  return detail::map(x, [](T v) { return (v > 0 ? v : T(0)) + std::log1p(std::exp(-std::abs(v))); });
}

template <class T>
Array<T> relu(const Array<T>& x) {
  return value_of<detail::Relu>(x);
}

template <class T>
Array<T> gelu(const Array<T>& x) {
  return value_of<detail::Gelu>(x);
}

template <class T>
Array<T> gelu_grad(const Array<T>& x) {
  return slope_of<detail::Gelu>(x);
}

template <class T>
Array<T> gelu_backward(const Array<T>& g, const Array<T>& x) {
  return backward_of<detail::Gelu>("gelu_backward", g, x);
}

template <class T>
Array<T> gelu_tanh(const Array<T>& x) {
  return value_of<detail::GeluTanh>(x);
}

template <class T>
Array<T> gelu_tanh_grad(const Array<T>& x) {
  return slope_of<detail::GeluTanh>(x);
}

template <class T>
Array<T> gelu_tanh_backward(const Array<T>& g, const Array<T>& x) {
  return backward_of<detail::GeluTanh>("gelu_tanh_backward", g, x);
}

template <class T>
Array<T> silu(const Array<T>& x) {
  return value_of<detail::Silu>(x);
}

template <class T>
Array<T> silu_grad(const Array<T>& x) {
  return slope_of<detail::Silu>(x);
}

template <class T>
Array<T> silu_backward(const Array<T>& g, const Array<T>& x) {
  return backward_of<detail::Silu>("silu_backward", g, x);
}

template <class T>
Array<T> relu_backward(const Array<T>& g, const Array<T>& y) {
  check_shape("relu_backward", "the gradient", y.shape(), g.shape());
  return vector_map(g, y, detail::cost_of<T>(0.2), [](T d, T v) XGRAD_INLINE {
    return v > 0 ? d : v <= 0 ? T(0) : v;  // a NaN stays
  });
}

template <class T>
Array<T> sigmoid_backward(const Array<T>& g, const Array<T>& y) {
  check_shape("sigmoid_backward", "the gradient", y.shape(), g.shape());
  return vector_map(g, y, detail::cost_of<T>(0.2), [](T d, T v) XGRAD_INLINE { return d * v * (T(1) - v); });
}

template <class T>
Array<T> tanh_backward(const Array<T>& g, const Array<T>& y) {
  check_shape("tanh_backward", "the gradient", y.shape(), g.shape());
  return vector_map(g, y, detail::cost_of<T>(0.2), [](T d, T v) XGRAD_INLINE { return d * (T(1) - v * v); });
}

template <class T>
Array<T> normal_pdf(const Array<T>& x) {
  return vector_map(x, detail::cost_of<T>(0.6), [](T v) XGRAD_INLINE { return detail::normal_pdf_of(v); });
}

template <class T>
Array<T> normal_cdf(const Array<T>& x) {  // to the last digits, also far below 0, unlike the one in gelu
  return detail::map(x, [](T v) { return T(0.5) * std::erfc(T(-0.70710678118654752440) * v); });
}

#define XGRAD_INSTANTIATE(T)                                              \
  template Array<T> sigmoid(const Array<T>&);                             \
  template Array<T> softplus(const Array<T>&);                            \
  template Array<T> relu(const Array<T>&);                                \
  template Array<T> gelu(const Array<T>&);                                \
  template Array<T> gelu_grad(const Array<T>&);                           \
  template Array<T> gelu_backward(const Array<T>&, const Array<T>&);      \
  template Array<T> gelu_tanh(const Array<T>&);                           \
  template Array<T> gelu_tanh_grad(const Array<T>&);                      \
  template Array<T> gelu_tanh_backward(const Array<T>&, const Array<T>&); \
  template Array<T> silu(const Array<T>&);                                \
  template Array<T> silu_grad(const Array<T>&);                           \
  template Array<T> silu_backward(const Array<T>&, const Array<T>&);      \
  template Array<T> relu_backward(const Array<T>&, const Array<T>&);      \
  template Array<T> sigmoid_backward(const Array<T>&, const Array<T>&);   \
  template Array<T> tanh_backward(const Array<T>&, const Array<T>&);      \
  template Array<T> normal_pdf(const Array<T>&);                          \
  template Array<T> normal_cdf(const Array<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
