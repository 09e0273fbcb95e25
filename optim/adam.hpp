// Adam and AdamW.
#pragma once

#include "optimizer.hpp"

namespace xgrad {

/// Options of `Adam`.
struct AdamOptions {
  double lr = 1e-3;      ///< Step size, >= 0.
  double beta1 = 0.9;    ///< Decay of the running mean of gradients, in [0, 1).
  double beta2 = 0.999;  ///< Decay of the running mean of their squares, in [0, 1).
  double eps = 1e-8;  ///< Added to the root of the corrected mean of squares, >= 0 (at 0, a zero gradient gives NaN).
  double weight_decay = 0;  ///< L2 penalty, >= 0: adds weight_decay * w to the gradient.
  bool amsgrad = false;     ///< Divide by the largest mean of squares so far.
};

/// Options of `AdamW`.
struct AdamWOptions {
  double lr = 1e-3;            ///< As AdamOptions.
  double beta1 = 0.9;          ///< As AdamOptions.
  double beta2 = 0.999;        ///< As AdamOptions.
  double eps = 1e-8;           ///< As AdamOptions.
  double weight_decay = 1e-2;  ///< Decoupled decay, >= 0: each step first scales w by 1 - lr * weight_decay.
  bool amsgrad = false;        ///< As AdamOptions.
};

/// Adam (Kingma and Ba, "Adam: a method for stochastic optimization", 2015), as in PyTorch.
///
///     g = grad + weight_decay * w
///     m = beta1 * m + (1 - beta1) * g              from m = 0
///     v = beta2 * v + (1 - beta2) * g^2            from v = 0
///     w = w - lr * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)
///
/// t counts the updates of each parameter from 1. With amsgrad (Reddi, Kale, Kumar, 2018) the last line takes the
/// largest v so far. Throws std::invalid_argument for values outside the ranges of AdamOptions, and as Optimizer does.
template <class T>
class Adam : public Optimizer<T> {
 public:
  /// For a list of parameters, or for groups.
  /// @{
  explicit Adam(const std::vector<Variable<T>>& parameters, const AdamOptions& options = {})
      : Adam(std::vector<ParameterGroup<T>>{{parameters}}, options) {}
  explicit Adam(const std::vector<ParameterGroup<T>>& groups, const AdamOptions& options = {})
      : Adam("Adam", groups, options, false) {}
  /// @}

 protected:
  /// With `decoupled`, weight decay is AdamW's.
  Adam(const char* who, const std::vector<ParameterGroup<T>>& groups, const AdamOptions& options, bool decoupled);

 private:
  using typename Optimizer<T>::Slot;
  void update(Array<T>& value, const Array<T>& grad, Slot& slot) override;
  std::size_t buffers_per_slot() const override { return options_.amsgrad ? 3 : 2; }  // m, v, largest v

  AdamOptions options_;
  bool decoupled_;
};

/// Adam whose weight decay does not pass through the running means (Loshchilov and Hutter, "Decoupled weight decay
/// regularization", 2019), as in PyTorch: w = w * (1 - lr * weight_decay), then Adam's update without decay. Biases and
/// norms decay too unless told otherwise:
///
///     xgrad::AdamW<T> adam(xgrad::decay_groups(model), {1e-3});
template <class T>
class AdamW final : public Adam<T> {
 public:
  /// For a list of parameters, or for groups.
  /// @{
  explicit AdamW(const std::vector<Variable<T>>& parameters, const AdamWOptions& options = {})
      : AdamW(std::vector<ParameterGroup<T>>{{parameters}}, options) {}
  explicit AdamW(const std::vector<ParameterGroup<T>>& groups, const AdamWOptions& o = {})
      : Adam<T>("AdamW", groups, {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad}, true) {}
  /// @}
};

}  // namespace xgrad
