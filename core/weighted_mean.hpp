// WeightedMean: the mean over all rows from the means of batches.
#pragma once

namespace xgrad {

/// Means of batches, each weighed by its rows. Their plain mean would count a short last batch too much.
///
///     xgrad::WeightedMean mean;
///     for (auto [x, y] : xgrad::batches(...)) { ...; mean.add(loss.item(), x.shape()[0]); }
///     epoch_loss = mean.value();
///
/// Gradients summed over micro-batches need the same care: for the gradient of the mean over N rows, scale the mean
/// loss of each by its share, `(loss * (rows / N)).backward()`. Both members are a checkpoint's to save.
struct WeightedMean {
  double sum = 0;     ///< Of weight times value.
  double weight = 0;  ///< Of all so far.

  /// Takes a value with its weight, any type of number.
  template <class N>
  void add(double value, N weight_of_value) {
    sum += value * static_cast<double>(weight_of_value);
    weight += static_cast<double>(weight_of_value);
  }
  /// NaN when nothing, or nothing of a weight above 0, was added.
  double value() const { return sum / weight; }
};

}  // namespace xgrad
