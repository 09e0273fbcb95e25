// Trainer<T>: the training loop with what long runs need: evaluation, early stopping, checkpoints, resuming.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "../core/module.hpp"
#include "ema.hpp"
#include "guard.hpp"
#include "metrics.hpp"
#include "objective.hpp"
#include "optimizer.hpp"
#include "schedule.hpp"

namespace xgrad {

/// Options of `Trainer`.
struct TrainerOptions {
  std::size_t epochs = 10;      ///< Passes over the training rows.
  std::uint64_t steps = 0;      ///< If not 0, the run ends after so many batches instead, also within an epoch.
  std::size_t batch_size = 32;  ///< Rows in a batch, here and in validation.
  bool drop_last = false;       ///< Leave out a last batch that is smaller than the others.
  std::uint64_t seed = 0;       ///< Fixes the order of the rows in each epoch.

  std::function<double(std::uint64_t step)> lr = nullptr;      ///< The rate for step 0, 1, ...; see `schedule`.
  double clip_norm = std::numeric_limits<double>::infinity();  ///< See clip_grad_norm; > 0.
  NonFinite non_finite =
      NonFinite::error;  ///< A NaN or infinite loss or gradient ends the run, or the step is left out.

  std::uint64_t evaluate_every = 0;  ///< In steps; 0: at the end of each epoch.
  bool maximize = false;             ///< A larger value of the validation objective is better, as of an accuracy.
  std::size_t patience = 0;          ///< Stop after so many evaluations in a row without a new best value; 0: never.
  double min_improvement = 0;        ///< A new best value must be better by more than this, >= 0.
  bool restore_best = true;          ///< With validation, end with the model as it was at its best.

  std::string folder = {};             ///< For checkpoints, metrics.csv and curves.png; empty: none of them.
  std::uint64_t checkpoint_every = 0;  ///< In steps; 0: at each evaluation.
  std::size_t keep = 3;                ///< How many checkpoints are kept.
  bool resume = true;   ///< Go on from the folder's newest good checkpoint; off, a folder that has one is refused.
  bool picture = true;  ///< Draw curves.png at the end.

  std::function<void()> after_step = nullptr;  ///< Called after each update, for Ema::update and the like.
  std::function<void(const Metrics&)> after_evaluation = nullptr;  ///< Called before the checkpoint is written.
  std::FILE* log = stdout;                                         ///< For progress and messages; nullptr: silent.
};

/// How a run went.
struct TrainerReport {
  std::vector<Metrics> history;  ///< One entry for each evaluation, of earlier parts of a resumed run too.
  std::uint64_t steps = 0;       ///< Batches in all.
  std::uint64_t skipped = 0;     ///< Those left out because of NaN or infinity.
  std::uint64_t best_step = 0;   ///< When validation was best; 0 when it never was a number.
  double best_loss = std::numeric_limits<double>::quiet_NaN();  ///< Validation then; NaN without validation data.
  bool stopped_early = false;                                   ///< Patience ended.
};

/// The plain training loop (zero_grad, backward, step over shuffled batches) for runs that are long:
///
///     xgrad::TrainerOptions options;
///     options.epochs = 100;
///     options.patience = 10;
///     options.folder = "run";
///     xgrad::Trainer<float> trainer(model, adam, options);
///     const auto loss = [&](const auto& x, const auto& y) { return xgrad::mse_loss(model(x), y); };
///     trainer.fit({train_x, train_y, loss}, {valid_x, valid_y, loss});
///
/// With a folder, a program that was killed at any moment and is started again goes on from the newest checkpoint, and
/// model, metrics and report come out equal, bit for bit, to those of a run that was never stopped. A checkpoint holds
/// model (with its generators), optimizer, position, best model, and what `remember` was given; what else a loss
/// draws on must be remembered too. Raising `epochs` continues a run that had ended.
///
/// The model stays in the mode (train or eval) that it is in, but for validation, which runs in evaluation mode.
/// Refers to model and optimizer, which must outlive it and stay where they are.
template <class T>
class Trainer {
 public:
  /// Throws std::invalid_argument for values outside the ranges of TrainerOptions and for options that need a folder.
  Trainer(Module<T>& model, Optimizer<T>& optimizer, TrainerOptions options = {});

  /// Keeps the state of something else in the checkpoints, under a name of its own without dots. Refers to it. A
  /// checkpoint without it is refused, before anything changes; `load` should throw for a state that does not fit.
  /// @{
  void remember(const std::string& name, Rng& generator);
  void remember(const std::string& name, Ema<T>& ema);
  void remember(const std::string& name, ReduceOnPlateau& plateau);
  void remember(const std::string& name, std::function<State<T>()> save, std::function<void(const State<T>&)> load);
  /// @}

  /// Trains; each call is a run from step 0, or from the folder's newest checkpoint. Without validation data nothing is
  /// the best: the report's best_loss is NaN and its best_step 0, and the model ends as its last step left it.
  ///
  /// Throws AnomalyError, naming the step, for a loss or gradient that is not finite (unless skipped; the model
  /// is as the step before left it), FileError when a file cannot be read or written, std::invalid_argument when
  /// there are no rows, when patience lacks a validation, or when the checkpoint is of another model, optimizer, data
  /// size, batch size or seed.
  /// @{
  TrainerReport fit(const Objective<T>& train) { return run(train, nullptr); }
  TrainerReport fit(const Objective<T>& train, const Objective<T>& validation) { return run(train, &validation); }
  /// @}

 private:
  struct Keepsake {
    std::string name;
    std::function<State<T>()> save;
    std::function<void(const State<T>&)> load;
  };
  class Run;
  TrainerReport run(const Objective<T>& train, const Objective<T>* validation);

  Module<T>& model_;
  Optimizer<T>& optimizer_;
  TrainerOptions options_;
  std::vector<Keepsake> keepsakes_;
};

}  // namespace xgrad
