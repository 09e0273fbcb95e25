// GradGuard: a look at all gradients for NaN and infinity, between backward() and step().
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../core/module.hpp"

namespace xgrad {

/// What to do about a gradient that is NaN or infinite.
enum class NonFinite {
  error,  ///< throw AnomalyError that names the parameter
  skip,   ///< leave the step out, and count it
};

/// Keeps steps away from gradients that hold NaN or infinity, which would spoil all weights for good.
///
///     xgrad::GradGuard<T> guard(model, xgrad::NonFinite::skip);
///     for (...) {
///       ...
///       loss.backward();
///       if (guard.passes()) optimizer.step();
///     }
///
/// Holds handles to the parameters that the module has now; moving the module is fine.
template <class T>
class GradGuard {
 public:
  /// Looks at the parameters of a module.
  explicit GradGuard(Module<T>& module, NonFinite choice = NonFinite::error);

  /// True when all gradients that a step would use are finite. Otherwise throws AnomalyError, naming the first
  /// parameter and entry and how many other parameters are concerned, or counts and gives false.
  bool passes();

  /// How many times `passes` was false.
  std::uint64_t skipped() const noexcept { return skipped_; }

  /// The count, for a checkpoint: the number "skipped". load_state throws std::invalid_argument, before anything
  /// changes, when it is missing or no count.
  /// @{
  State<T> state() const;
  void load_state(const State<T>& state);
  /// @}

 private:
  std::vector<std::pair<std::string, Variable<T>>> parameters_;
  NonFinite choice_;
  std::uint64_t skipped_ = 0;
};

}  // namespace xgrad
