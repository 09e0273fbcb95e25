// Linear: y = x W^T + b on the last axis.
#pragma once

#include "../core/module.hpp"
#include "init.hpp"

namespace xgrad {

/// Options of `Linear`.
struct LinearOptions {
  std::size_t in = 0;                       ///< Features of the input; at least 1.
  std::size_t out = 0;                      ///< Features of the output; at least 1.
  bool bias = true;                         ///< Without: `bias` stays undefined and is no parameter.
  Init init = init::linear_default();       ///< Of the weight.
  Init bias_init = init::linear_default();  ///< Of the bias, with the weight's fans.
};

/// y = x W^T + b: (..., in) to (..., out), any number of leading axes (also none), with the weight as (out, in).
///
/// By default both start uniform within 1 / sqrt(in), as in PyTorch. Throws std::invalid_argument for a size of 0;
/// calls throw ShapeError for another last axis. To share numbers with another layer, assign its handle to `weight`.
template <class T>
class Linear : public Module<T> {
 public:
  /// Draws the weight, then the bias.
  /// @{
  Linear(std::size_t in, std::size_t out, Rng& rng);
  Linear(const LinearOptions& options, Rng& rng);
  /// @}

  /// (..., in) to (..., out).
  Variable<T> operator()(const Variable<T>& x) const;
  void visit(Visitor<T>& v) override;
  std::string name() const override { return "Linear"; }

  Variable<T> weight;  ///< (out, in)
  Variable<T> bias;    ///< (out), or undefined
};

}  // namespace xgrad
