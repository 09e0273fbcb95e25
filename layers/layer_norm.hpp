// LayerNorm: each row to mean 0 and deviation 1, then a learnable scale and offset. Ba, Kiros, Hinton 2016.
#pragma once

#include <optional>

#include "../core/kernels/layer_norm.hpp"
#include "../core/module.hpp"

namespace xgrad {

/// gamma * (x - mean) / sqrt(variance + eps) + beta, mean and variance (over n) of each row: of the last axes that
/// gamma spans, else beta, else of the last axis. `axes` says how many last axes a row spans when there is neither.
///
/// With NormForm::unbiased, gamma * (x - mean) / (std + eps) + beta, the deviation over n - 1. An undefined gamma
/// counts as ones, an undefined beta as zeros: `layer_norm(x, {}, {})`. A constant row gives beta. Deviations must be
/// numbers of T, and their squares numbers of double (deviations below 1e154). Throws ShapeError when gamma or beta is
/// not the shape of a row, for an empty row, or for one number a row in the unbiased form; std::invalid_argument unless
/// eps is finite and above 0 (with 0, a constant row would be rounding noise over itself).
template <class T>
Variable<T> layer_norm(const Variable<T>& x, const Variable<T>& gamma, const Variable<T>& beta, double eps = 1e-5,
                       NormForm form = NormForm::population, std::size_t axes = 0);

/// Options of `LayerNorm`.
struct LayerNormOptions {
  Shape shape = {};                      ///< Extents of the last axes, which are normalised together.
  std::optional<double> eps = {};        ///< Default 1e-5, for the unbiased form 1e-6.
  bool gamma = true;                     ///< Learn a scale, ones at first.
  bool beta = true;                      ///< Learn an offset, zeros at first.
  NormForm form = NormForm::population;  ///< Divisor n and eps inside the root, or n - 1 and eps outside.
};

/// Normalises each row of the last axis (or last k axes): y = gamma * (x - mean) / sqrt(variance + eps) + beta.
///
/// In state and files gamma and beta are named "weight" and "bias", as in PyTorch. Never put it on raw features: on one
/// feature it returns beta whatever x is. Throws as `layer_norm` does, here for impossible options; calls throw
/// ShapeError for other last axes.
template <class T>
class LayerNorm : public Module<T> {
 public:
  /// gamma of ones, beta of zeros; one number gives the extent of the last axis.
  /// @{
  explicit LayerNorm(std::size_t features);
  explicit LayerNorm(const LayerNormOptions& options);
  /// @}

  /// (..., options.shape) to the same shape.
  Variable<T> operator()(const Variable<T>& x) const;
  void visit(Visitor<T>& v) override;
  std::string name() const override { return "LayerNorm"; }

  Variable<T> gamma;  ///< options.shape, or undefined
  Variable<T> beta;   ///< options.shape, or undefined

 private:
  Shape shape_;
  double eps_;
  NormForm form_;
};

}  // namespace xgrad
