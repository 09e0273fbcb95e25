// Learning rate schedules: plain functions of the step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../core/state.hpp"

namespace xgrad {

/// Rates as functions of the step k, the number of updates done before; nothing to save but k itself:
///
///     sgd.set_lr(xgrad::schedule::cosine(k, 0.1, total));
///
/// k may as well count epochs. After the last step of a schedule its end value stays. Warm-up goes before another:
///
///     k < w ? schedule::linear_warmup(k, 0.1, w) : schedule::cosine(k - w, 0.1, total - w)
namespace schedule {

/// lr at every step.
double constant(std::uint64_t k, double lr);

/// lr * factor^(k / every), rounded down: falls at steps every, 2 every, ...; throws std::invalid_argument for every =
/// 0.
double step(std::uint64_t k, double lr, std::uint64_t every, double factor = 0.1);

/// lr * factor^k.
double exponential(std::uint64_t k, double lr, double factor);

/// A line from lr at k = 0 to `end` at k = steps.
double linear(std::uint64_t k, double lr, std::uint64_t steps, double end = 0);

/// Half a cosine from lr at k = 0 to `end` at k = steps.
/// Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.
double cosine(std::uint64_t k, double lr, std::uint64_t steps, double end = 0);

/// lr / steps, 2 lr / steps, ..., lr: the first update has a rate above 0 and update number `steps` (k = steps - 1) the
/// whole. No steps is no warm-up.
double linear_warmup(std::uint64_t k, double lr, std::uint64_t steps);

/// Options of `one_cycle`.
struct OneCycle {
  double rise = 0.3;         ///< Share of the steps until the peak, in [0, 1]: 0 starts at the peak, 1 ends there.
  double start_div = 25;     ///< The first rate is peak / start_div; > 0.
  double final_div = 10000;  ///< The last rate is the first / final_div; > 0.
};

/// Up from peak / start_div to `peak` and down to almost 0, along half cosines, over `steps` updates in all, as
/// PyTorch's OneCycleLR. The peak is update number rise * steps, or the first when that is less than 1.
///
/// Throws std::invalid_argument for values outside the ranges of OneCycle.
/// Source: Smith and Topin, "Super-convergence: very fast training of neural networks using large learning rates",
/// 2018.
double one_cycle(std::uint64_t k, double peak, std::uint64_t steps, const OneCycle& options = {});

}  // namespace schedule

/// Options of `ReduceOnPlateau`.
struct PlateauOptions {
  double factor = 0.1;        ///< What the rate is multiplied by, in (0, 1).
  std::size_t patience = 10;  ///< How many reports in a row without progress are borne.
  double threshold = 1e-4;    ///< Progress must be larger than this, >= 0.
  bool relative = true;       ///< The threshold is a share of the best value's size, or else a difference.
  bool maximize = false;      ///< A larger value is better.
  std::size_t cooldown = 0;   ///< Reports after a cut that are not held against it.
  double min_lr = 0;          ///< The rate never falls below; >= 0.
};

/// Cuts the rate when a value (a validation loss) has stopped getting better, as PyTorch's ReduceLROnPlateau; NaN is
/// never better. Relative progress is a change by more than threshold * |best|: the same as PyTorch's for a best value
/// above 0; below, best * (1 - threshold) is a worse value than best, and PyTorch takes getting worse for progress.
///
///     xgrad::ReduceOnPlateau plateau;
///     sgd.set_lr(plateau(sgd.lr(), validation_loss));
///
/// Throws std::invalid_argument for values outside the ranges of PlateauOptions.
class ReduceOnPlateau {
 public:
  /// Has seen no value yet.
  explicit ReduceOnPlateau(const PlateauOptions& options = {});

  /// Takes the next value and gives the rate to go on with.
  double operator()(double lr, double value);

  /// The best value so far; infinite (the worst) before the first.
  double best() const noexcept { return best_; }

  /// What it remembers, for a checkpoint: the numbers "best", "bad" and "cooldown". load_state throws
  /// std::invalid_argument, before anything changes, when one is missing or no count.
  /// @{
  template <class T>
  State<T> state() const;
  template <class T>
  void load_state(const State<T>& state);
  /// @}

 private:
  PlateauOptions options_;
  double best_;
  std::size_t bad_ = 0, cooldown_ = 0;
};

}  // namespace xgrad
