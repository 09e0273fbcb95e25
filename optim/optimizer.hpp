// Optimizer<T>: what all optimizers share. An optimizer is a class with one update rule for one parameter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../core/state.hpp"
#include "../core/variable.hpp"
#include "groups.hpp"

namespace xgrad {

/// Base of optimizers: holds parameters, a learning rate, and what the update rule remembers of each parameter.
///
///     for (...) { auto loss = ...; optimizer.zero_grad(); loss.backward(); optimizer.step(); }
///
/// A new optimizer derives from it and writes `update`. Every optimizer takes a list of parameters or one of groups
/// (see ParameterGroup). Handles share their numbers with the model, so the model sees every step; moving the model is
/// fine. Optimizers move and do not copy.
template <class T>
class Optimizer {
 public:
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  /// Moves what is remembered.
  /// @{
  Optimizer(Optimizer&&) noexcept = default;
  Optimizer& operator=(Optimizer&&) noexcept = default;
  /// @}
  virtual ~Optimizer() = default;

  /// The parameters, each once, in the order given, group after group.
  const std::vector<Variable<T>>& parameters() const noexcept { return parameters_; }

  /// The step size, before a group's factor; may be changed between steps. `set_lr` throws std::invalid_argument unless
  /// finite and >= 0.
  /// @{
  double lr() const noexcept { return lr_; }
  void set_lr(double lr);
  /// @}

  /// Drops the gradients of all parameters; without it, backward passes add up.
  void zero_grad();

  /// Updates every parameter in place from its gradient. Parameters that are frozen or have no gradient stay as they
  /// are, with what is remembered of them. Throws GraphError when that is all of them, since nothing would be trained;
  /// so does a backward pass through a graph built before the step.
  void step();

  /// What it remembers: "SGD.lr", and "SGD.0.steps" and "SGD.0.buffer.0", ... for parameter 0 and so on, once updated.
  State<T> state() const;

  /// Goes on from a remembered state: later steps are those of the optimizer it came from. Throws
  /// std::invalid_argument, naming all that is missing, unknown, of another shape or impossible, before anything
  /// changes; the parameters must be the same in the same order.
  void load_state(const State<T>& state);

 protected:
  /// What is remembered of one parameter between steps, and the rates of its group.
  struct Slot {
    std::vector<Array<T>> buffers;  ///< of the parameter's shape; empty before the first update
    std::uint64_t steps = 0;        ///< updates done so far
    double lr = 0;                  ///< set before each update: lr() times the group's factor
    double weight_decay = 0;        ///< the optimizer's times the group's factor
  };

  /// `who` names the optimizer in messages. A parameter given twice within a group counts once. Throws
  /// std::invalid_argument when there is no parameter, one stands in two groups, or a rate or factor is impossible
  /// (lr and weight_decay must be finite and >= 0), GraphError for anything but leaves.
  /// @{
  Optimizer(const char* who, const std::vector<ParameterGroup<T>>& groups, double lr, double weight_decay = 0);
  Optimizer(const char* who, const std::vector<Variable<T>>& parameters, double lr, double weight_decay = 0)
      : Optimizer(who, std::vector<ParameterGroup<T>>{{parameters}}, lr, weight_decay) {}
  /// @}

  /// Changes the numbers of one parameter, given its gradient (same shape).
  virtual void update(Array<T>& value, const Array<T>& grad, Slot& slot) = 0;

  /// How many buffers `update` leaves in each slot; override it when there are any, or load_state refuses them.
  virtual std::size_t buffers_per_slot() const { return 0; }

 private:
  const char* who_;
  std::vector<Variable<T>> parameters_;
  std::vector<Slot> slots_;
  std::vector<double> lr_factors_;  // of each parameter
  double lr_ = 0;
};

namespace detail {

/// The parameters, each once; throws GraphError, naming `who` and the position, for anything but a leaf.
template <class T>
std::vector<Variable<T>> distinct_leaves(const char* who, const std::vector<Variable<T>>& parameters);

}  // namespace detail

}  // namespace xgrad
