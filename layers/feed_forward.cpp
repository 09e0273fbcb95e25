#include "feed_forward.hpp"

#include "../core/ops/product.hpp"
#include "bias_activation.hpp"
#include "last_axes.hpp"

namespace xgrad {

namespace {

bool is_gated(Activation a) { return a == Activation::swiglu || a == Activation::geglu; }

/// The options with d_ff filled in. Throws std::invalid_argument for impossible ones.
FeedForwardOptions completed(FeedForwardOptions o) {
  if (o.d_model == 0) fail<std::invalid_argument>("FeedForward", "d_model must be at least 1 but is 0");
  if (!(o.dropout >= 0 && o.dropout <= 1))
    fail<std::invalid_argument>("FeedForward", "dropout must be in [0, 1] but is ", o.dropout);
  if (o.d_ff == 0) o.d_ff = 4 * o.d_model;
  return o;
}

LinearOptions linear_options(const FeedForwardOptions& o, std::size_t in, std::size_t out, const Init& init) {
  LinearOptions linear;
  linear.in = in;
  linear.out = out;
  linear.bias = o.bias;
  if (o.init == FeedForwardInit::kaiming_xavier) {
    linear.init = init;
    linear.bias_init = init::zeros();
  }
  return linear;
}

LinearOptions first(const FeedForwardOptions& given) {
  const FeedForwardOptions o = completed(given);
  return linear_options(o, o.d_model, o.d_ff, init::kaiming_normal());
}

LinearOptions second(const FeedForwardOptions& given) {
  const FeedForwardOptions o = completed(given);
  return linear_options(o, o.d_ff, o.d_model, init::xavier_normal(0.02));
}

Nonlinearity nonlinearity(Activation a) {
  switch (a) {
    case Activation::relu:
      return Nonlinearity::relu;
    case Activation::gelu:
    case Activation::geglu:
      return Nonlinearity::gelu;
    case Activation::gelu_tanh:
      return Nonlinearity::gelu_tanh;
    case Activation::silu:
    case Activation::swiglu:
      return Nonlinearity::silu;
  }
  fail<std::invalid_argument>("FeedForward", "unknown activation ", static_cast<int>(a));
}

}  // namespace

template <class T>
FeedForward<T>::FeedForward(const FeedForwardOptions& options, Rng& rng)
    : linear1(first(options), rng),
      dropout(options.dropout, rng),
      linear2(second(options), rng),
      activation_(options.activation) {
  if (is_gated(activation_)) linear_gate.emplace(first(options), rng);
}

template <class T>
Variable<T> FeedForward<T>::operator()(const Variable<T>& x) {
  detail::check_last_axes("FeedForward", {linear1.weight.shape().back()}, x.shape());
  const Nonlinearity f = nonlinearity(activation_);
  if (linear_gate)
    return linear2(dropout(bias_activation(xgrad::linear(x, linear_gate->weight), linear_gate->bias, f) * linear1(x)));
  // Bias, activation and dropout in one pass, with the mask that `dropout` would make.
  const double p = dropout.is_training() ? dropout.p() : 0;
  const std::uint64_t key = p > 0 ? dropout.rng.next() : 0;
  return linear2(bias_activation(xgrad::linear(x, linear1.weight), linear1.bias, f, p, key));
}

template <class T>
void FeedForward<T>::visit(Visitor<T>& v) {
  v("linear1", linear1);
  v("linear_gate", linear_gate);
  v("dropout", dropout);
  v("linear2", linear2);
}

template class FeedForward<float>;
template class FeedForward<double>;

}  // namespace xgrad
