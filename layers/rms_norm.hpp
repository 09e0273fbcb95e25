// RMSNorm: each row over its root mean square, then a learnable scale. Zhang and Sennrich 2019.
#pragma once

#include "../core/module.hpp"

namespace xgrad {

/// gamma * x / sqrt(mean(x^2) + eps), the mean of each row: of the last axes that gamma spans. An undefined gamma
/// counts as ones, and `axes` then says how many last axes a row spans (0: one). Squares must be numbers of double.
///
/// Throws ShapeError when gamma is not the shape of a row or a row is empty; std::invalid_argument unless eps is finite
/// and above 0.
template <class T>
Variable<T> rms_norm(const Variable<T>& x, const Variable<T>& gamma, double eps = 1e-5, std::size_t axes = 0);

/// Options of `RMSNorm`.
struct RMSNormOptions {
  Shape shape = {};   ///< Extents of the last axes, which are normalised together.
  double eps = 1e-5;  ///< Inside the root.
  bool gamma = true;  ///< Learn a scale, ones at first.
};

/// Scales each row of the last axis (or last k axes): y = gamma * x / sqrt(mean(x^2) + eps).
///
/// In state and files gamma is named "weight", as in PyTorch (whose default eps is the machine's epsilon; ours is
/// 1e-5). Throws as `rms_norm` does, here for impossible options; calls throw ShapeError for other last axes.
template <class T>
class RMSNorm : public Module<T> {
 public:
  /// gamma of ones; one number gives the extent of the last axis.
  /// @{
  explicit RMSNorm(std::size_t features);
  explicit RMSNorm(const RMSNormOptions& options);
  /// @}

  /// (..., options.shape) to the same shape.
  Variable<T> operator()(const Variable<T>& x) const;
  void visit(Visitor<T>& v) override;
  std::string name() const override { return "RMSNorm"; }

  Variable<T> gamma;  ///< options.shape, or undefined

 private:
  Shape shape_;
  double eps_;
};

}  // namespace xgrad
