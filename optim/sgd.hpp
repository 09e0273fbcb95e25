// Stochastic gradient descent.
#pragma once

#include "optimizer.hpp"

namespace xgrad {

/// Options of `SGD`.
struct SGDOptions {
  double lr = 1e-3;         ///< Step size, >= 0.
  double momentum = 0;      ///< Share of the last velocity that is kept, in [0, 1].
  double dampening = 0;     ///< Share of the gradient that is kept out of the velocity, in [0, 1].
  double weight_decay = 0;  ///< L2 penalty, >= 0: adds weight_decay * w to the gradient.
  bool nesterov = false;    ///< Look ahead along the velocity; needs momentum > 0 and dampening = 0.
};

/// Stochastic gradient descent with momentum (Polyak 1964) or Nesterov's (Sutskever et al. 2013), as in PyTorch.
///
///     d = grad + weight_decay * w
///     v = d                                        on the first update of a parameter,
///     v = momentum * v + (1 - dampening) * d       on later ones
///     w = w - lr * (v, or d + momentum * v with nesterov, or d without momentum)
///
/// The first velocity is not dampened. `lr` stands outside the velocity, so changing it acts at once. Throws
/// std::invalid_argument for values outside the ranges above, and as Optimizer does.
template <class T>
class SGD final : public Optimizer<T> {
 public:
  /// For a list of parameters, or for groups.
  /// @{
  explicit SGD(const std::vector<Variable<T>>& parameters, const SGDOptions& options = {})
      : SGD(std::vector<ParameterGroup<T>>{{parameters}}, options) {}
  explicit SGD(const std::vector<ParameterGroup<T>>& groups, const SGDOptions& options = {});
  /// @}

 private:
  using typename Optimizer<T>::Slot;
  void update(Array<T>& value, const Array<T>& grad, Slot& slot) override;
  std::size_t buffers_per_slot() const override { return options_.momentum == 0 ? 0 : 1; }

  SGDOptions options_;
};

}  // namespace xgrad
