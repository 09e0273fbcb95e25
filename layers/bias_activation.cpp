#include "bias_activation.hpp"

#include "../core/ops/activation.hpp"
#include "../core/ops/weigh_inline.hpp"
#include "../core/record.hpp"
#include "dropout.hpp"

namespace xgrad {

namespace {

/// Adds the gradients by x, and by a bias if there is one, from the value that forward saved.
template <class T>
void add_gradients(ArrayBackward<T>& b, const Array<T>& saved, Nonlinearity f, double p, std::uint64_t key) {
  const bool biased = b.input_count() == 2;
  const bool saved_bias = biased && f != Nonlinearity::relu, wants_bias = biased && b.needs(1);
  Array<T> dx = empty<T>(b.shape(0)), dbias;
  if (wants_bias) dbias = empty<T>(b.shape(1));
  bias_activation_backward(b.grad(), saved, saved_bias ? b.input(1).data() : nullptr, f, p, key, dx.data(),
                           wants_bias ? dbias.data() : nullptr);
  b.add(0, std::move(dx));
  if (wants_bias) b.add(1, std::move(dbias));
}

template <class T>
void relu_gradients(ArrayBackward<T>& b, double p) {
  add_gradients(b, b.output(), Nonlinearity::relu, p, 0);
}
template <class T>
void relu_gradients(GraphBackward<T>& b, double p) {
  const T kept = p < 1 ? static_cast<T>(1 / (1 - p)) : T(0);
  const auto slope = [kept](T y) { return y > T(0) ? kept : y; };  // a NaN stays
  const Variable<T> dx = detail::weigh(b.grad(), b.output(), slope);
  b.add(0, dx);
  if (b.input_count() == 2) b.add_summed(1, dx);
}

template <class T>
Variable<T> composed(const std::vector<Variable<T>>& in, Nonlinearity f, double p, std::uint64_t key) {
  const Variable<T> sum = in.size() == 2 ? in[0] + in[1] : in[0];
  const Variable<T> y = f == Nonlinearity::gelu        ? xgrad::gelu(sum)
                        : f == Nonlinearity::gelu_tanh ? xgrad::gelu_tanh(sum)
                                                       : xgrad::silu(sum);
  return xgrad::dropout(y, p, key);
}

}  // namespace

template <class T>
Variable<T> bias_activation(const Variable<T>& x, const Variable<T>& bias, Nonlinearity f, double p,
                            std::uint64_t key) {
  if (!(p >= 0 && p <= 1)) fail<std::invalid_argument>("bias_activation", "p must be in [0, 1] but is ", p);
  if (x.dimension() == 0) fail<ShapeError>("bias_activation", "needs rows but the input is 0-d");
  if (bias.defined()) check_shape("bias_activation", "the bias", {x.shape().back()}, bias.shape());

  Array<T> y = xgrad::bias_activation(x.value(), bias.defined() ? bias.value().data() : nullptr, f, p, key);
  const Variable<T> both[] = {x, bias};
  const detail::Inputs<T> inputs(both, bias.defined() ? 2 : 1);
  if (f == Nonlinearity::relu)
    return record<T>("bias_relu", inputs, saves::output, std::move(y), [p](auto& b) { relu_gradients(b, p); });
  const auto kernel = [f, p, key](ArrayBackward<T>& b) { add_gradients(b, b.input(0), f, p, key); };
  const auto twin = [f, p, key](const std::vector<Variable<T>>& in) { return composed(in, f, p, key); };
  return record<T>("bias_activation", inputs, saves::inputs, std::move(y), kernel, twin);
}

#define XGRAD_INSTANTIATE(T) \
  template Variable<T> bias_activation(const Variable<T>&, const Variable<T>&, Nonlinearity, double, std::uint64_t);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
