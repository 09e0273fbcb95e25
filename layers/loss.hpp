// Losses: how far predictions are from targets.
//
// Predictions and targets must have one shape, ShapeError otherwise: (3) against (3, 1) would broadcast to nine
// differences. Targets may be tracked and then get gradients too. The mean of no numbers throws ShapeError.
#pragma once

#include <cstdint>
#include <vector>

#include "../core/kernels/binary.hpp"
#include "../core/variable.hpp"

namespace xgrad {

/// How the losses of single numbers or rows become the result.
enum class Reduction {
  mean,  ///< a 0-d mean
  sum,   ///< a 0-d sum
  none,  ///< as they are
};

namespace detail {

/// A target: a Variable, array, lazy expression or number; T follows from the prediction.
template <class T>
using LossTarget = typename not_deduced<Variable<T>>::type;

}  // namespace detail

/// (prediction - target)^2.
template <class T>
Variable<T> mse_loss(const Variable<T>& prediction, const detail::LossTarget<T>& target,
                     Reduction reduction = Reduction::mean);

/// |prediction - target|; the gradient at 0 is 0.
template <class T>
Variable<T> l1_loss(const Variable<T>& prediction, const detail::LossTarget<T>& target,
                    Reduction reduction = Reduction::mean);

/// d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2), with d = prediction - target. Huber 1964.
/// Throws std::invalid_argument unless delta is above 0.
template <class T>
Variable<T> huber_loss(const Variable<T>& prediction, const detail::LossTarget<T>& target,
                       Reduction reduction = Reduction::mean, double delta = 1);

/// -t log(s) - (1 - t) log(1 - s), s = sigmoid(logits), for targets t in [0, 1], without overflow.
///
/// `pos_weight` multiplies the first term: one number, or one for each entry of the last axis (empty: 1).
/// Throws ShapeError for another count.
template <class T>
Variable<T> bce_with_logits(const Variable<T>& logits, const detail::LossTarget<T>& target,
                            Reduction reduction = Reduction::mean, const std::vector<double>& pos_weight = {});

/// Options of `cross_entropy`.
struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;  ///< none: one loss for each row.
  std::int64_t ignore_index = -100;       ///< Rows of this class count nothing, whatever their logits.
  double label_smoothing = 0;             ///< In [0, 1]: this part of the target is spread evenly over all classes.
  std::vector<double> weights = {};       ///< One for each class, finite and not negative; empty: ones.
};

/// -log softmax(logits)[class] for each row of the last axis: logits (..., C), classes (...), without overflow.
///
/// Weighted: w[class] times that. Smoothed by s: (1 - s) times that plus s/C times the sum of -w[k] log softmax[k].
/// The mean divides by the sum of w[class] over the rows that count, as in PyTorch, and is 0 when none does (PyTorch:
/// NaN). Throws ShapeError for classes of another shape, a class outside [0, C) (naming value and position), or another
/// number of weights; std::invalid_argument for smoothing outside [0, 1] or a negative weight.
/// @{
template <class T>
Variable<T> cross_entropy(const Variable<T>& logits, const Index& classes, const CrossEntropyOptions& options = {});
template <class T, class E, class = if_real<E>>
Variable<T> cross_entropy(const Variable<T>& logits, const E& classes,
                          const CrossEntropyOptions& options = {}) = delete;  // classes must be an Index
/// @}

}  // namespace xgrad
