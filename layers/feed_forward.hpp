// FeedForward: the position-wise network of a Transformer block. Vaswani et al. 2017; gated forms: Shazeer 2020.
#pragma once

#include <optional>

#include "dropout.hpp"
#include "linear.hpp"

namespace xgrad {

/// What stands between the two linear maps. The last two are gated: they have a third linear map.
enum class Activation {
  relu,       ///< max(x, 0)
  gelu,       ///< x Phi(x), the erf form
  gelu_tanh,  ///< its tanh approximation
  silu,       ///< x sigmoid(x)
  swiglu,     ///< silu(gate) * value
  geglu,      ///< gelu(gate) * value, the erf form
};

/// How the weights of a FeedForward start.
enum class FeedForwardInit {
  linear_default,  ///< PyTorch's default for each Linear
  kaiming_xavier,  ///< first (and gate) weight Kaiming-normal, second Xavier-normal with gain 0.02, biases zero
};

/// Options of `FeedForward`.
struct FeedForwardOptions {
  std::size_t d_model = 0;                                 ///< Features of input and output; at least 1.
  std::size_t d_ff = 0;                                    ///< Features in between; 0: 4 * d_model.
  Activation activation = Activation::relu;                ///< Also says whether it is gated.
  double dropout = 0;                                      ///< Probability in [0, 1], after the activation.
  bool bias = true;                                        ///< In all linear maps.
  FeedForwardInit init = FeedForwardInit::linear_default;  ///< How the weights start.
};

/// y = linear2(dropout(activation(linear1(x)))) on the last axis: (..., d_model) to (..., d_model).
///
/// Gated: y = linear2(dropout(activation(linear_gate(x)) * linear1(x))): `linear_gate` makes the gate, which goes
/// through the activation, `linear1` the value. Each is a weight of its own, so no halves can be exchanged. (d_ff
/// defaults to 4 * d_model here too; 8/3 * d_model has as many parameters as the plain form.) Throws
/// std::invalid_argument for impossible options; calls throw ShapeError for another last axis.
template <class T>
class FeedForward : public Module<T> {
 public:
  /// Draws the weights, and splits off a generator for dropout.
  FeedForward(const FeedForwardOptions& options, Rng& rng);

  /// (..., d_model) to (..., d_model).
  Variable<T> operator()(const Variable<T>& x);
  void visit(Visitor<T>& v) override;
  std::string name() const override { return "FeedForward"; }

  Linear<T> linear1;                     ///< d_model -> d_ff
  std::optional<Linear<T>> linear_gate;  ///< d_model -> d_ff, in the gated forms
  Dropout<T> dropout;                    ///< After the activation.
  Linear<T> linear2;                     ///< d_ff -> d_model

 private:
  Activation activation_;
};

}  // namespace xgrad
