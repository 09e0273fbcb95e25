// Exponential moving average of weights.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../core/module.hpp"

namespace xgrad {

template <class T>
class EmaScope;

/// A running mean of a module's parameters, which often predicts better than the last weights.
///
///     xgrad::Ema<T> ema(model, 0.999);
///     for (...) { ...; optimizer.step(); ema.update(); }
///     { const xgrad::EmaScope<T> averaged(ema); prediction = model(x); }
///
/// After n updates the mean is sum_i decay^(n - i) w_i / sum_i decay^(n - i): the weights before the first update have
/// no share, so that a short run needs no smaller decay. Before the first update it is the weights at construction.
/// Holds handles to the parameters that the module has now, frozen ones included; moving the module is fine. Buffers
/// are not averaged.
template <class T>
class Ema {
 public:
  /// Throws std::invalid_argument unless decay is in [0, 1).
  explicit Ema(Module<T>& module, double decay = 0.999);
  Ema(const Ema&) = delete;
  Ema& operator=(const Ema&) = delete;

  /// Takes the weights as they are now into the mean: w_mean += (1 - decay) / (1 - decay^n) * (w - w_mean).
  void update();

  /// How many updates the mean holds.
  std::uint64_t updates() const noexcept { return updates_; }

  /// The means by the dotted names of the parameters, and the number "updates". load_state throws
  /// std::invalid_argument, naming all that is missing, unknown, of another shape or no count, before anything changes.
  /// @{
  State<T> state() const;
  void load_state(const State<T>& state);
  /// @}

 private:
  friend class EmaScope<T>;
  void check_not_applied(const char* what) const;
  void swap();

  std::vector<std::pair<std::string, Variable<T>>> parameters_;
  std::vector<Array<T>> means_;
  double decay_;
  std::uint64_t updates_ = 0;
  bool applied_ = false;
};

/// While one lives, the module's parameters are the means; afterwards they are the trained weights again, bit for bit.
/// No copy is made. Only one scope at a time: meanwhile another, and every function of the Ema, throws
/// std::logic_error. Changes made to parameters meanwhile go to the means. A backward pass through a graph built before
/// throws GraphError.
template <class T>
class EmaScope {
 public:
  /// Puts the means in.
  explicit EmaScope(Ema<T>& ema);
  ~EmaScope();
  EmaScope(const EmaScope&) = delete;
  EmaScope& operator=(const EmaScope&) = delete;

 private:
  Ema<T>& ema_;
};

}  // namespace xgrad
