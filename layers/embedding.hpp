// Embedding: a learnable row for each of a number of ids.
#pragma once

#include "../core/module.hpp"
#include "init.hpp"

namespace xgrad {

/// Options of `Embedding`.
struct EmbeddingOptions {
  std::size_t count = 0;       ///< Number of ids; at least 1.
  std::size_t features = 0;    ///< Length of a row; at least 1.
  Init init = init::normal();  ///< Of the weight: N(0, 1), as in PyTorch.
};

/// Looks up rows of its weight: ids of shape (...) give (..., features). Gradients of repeated ids add up.
///
/// Throws std::invalid_argument for a size of 0; calls throw ShapeError, naming value and position, for an id outside
/// [0, count). To tie it with an output layer, let both hold one handle: `linear.weight = embedding.weight` (the
/// parameter is then listed once), or use `as_linear`.
template <class T>
class Embedding : public Module<T> {
 public:
  /// Draws the weight.
  /// @{
  Embedding(std::size_t count, std::size_t features, Rng& rng);
  Embedding(const EmbeddingOptions& options, Rng& rng);
  /// @}

  /// The rows of these ids: (...) to (..., features).
  /// @{
  Variable<T> operator()(const Index& ids) const;
  template <class E, class = if_real<E>>
  Variable<T> operator()(const E& ids) const = delete;  // ids must be an Index
  /// @}

  /// x W^T: the weight as an output layer, (..., features) to (..., count), a score for each id.
  Variable<T> as_linear(const Variable<T>& x) const;

  void visit(Visitor<T>& v) override;
  std::string name() const override { return "Embedding"; }

  Variable<T> weight;  ///< (count, features)
};

}  // namespace xgrad
