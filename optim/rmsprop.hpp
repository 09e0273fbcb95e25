// RMSprop.
#pragma once

#include "optimizer.hpp"

namespace xgrad {

/// Options of `RMSprop`.
struct RMSpropOptions {
  double lr = 1e-2;         ///< Step size, >= 0.
  double alpha = 0.99;      ///< Decay of the running mean of squared gradients, in [0, 1).
  double eps = 1e-8;        ///< Added to the root, >= 0 (at 0, a zero gradient gives NaN).
  double weight_decay = 0;  ///< L2 penalty, >= 0: adds weight_decay * w to the gradient.
  double momentum = 0;      ///< Share of the last velocity that is kept, in [0, 1].
  bool centered = false;    ///< Divide by the running standard deviation instead of the root mean square.
};

/// RMSprop (Tieleman and Hinton, lecture 6.5 of "Neural networks for machine learning", 2012; centered by Graves,
/// "Generating sequences with recurrent neural networks", 2013), as in PyTorch.
///
///     g = grad + weight_decay * w
///     v = alpha * v + (1 - alpha) * g^2                         from v = 0
///     d = g / (sqrt(v) + eps)
///     a = alpha * a + (1 - alpha) * g,  d = g / (sqrt(v - a^2) + eps)     when centered, from a = 0
///     b = momentum * b + d                                      from b = 0
///     w = w - lr * b
///
/// A v - a^2 that rounding makes negative counts as 0. Throws std::invalid_argument for values outside the ranges
/// above, and as Optimizer does.
template <class T>
class RMSprop final : public Optimizer<T> {
 public:
  /// For a list of parameters, or for groups.
  /// @{
  explicit RMSprop(const std::vector<Variable<T>>& parameters, const RMSpropOptions& options = {})
      : RMSprop(std::vector<ParameterGroup<T>>{{parameters}}, options) {}
  explicit RMSprop(const std::vector<ParameterGroup<T>>& groups, const RMSpropOptions& options = {});
  /// @}

 private:
  using typename Optimizer<T>::Slot;
  void update(Array<T>& value, const Array<T>& grad, Slot& slot) override;
  std::size_t buffers_per_slot() const override {  // v, a when centered, b with momentum
    return std::size_t{1} + options_.centered + (options_.momentum > 0);
  }

  RMSpropOptions options_;
};

}  // namespace xgrad
