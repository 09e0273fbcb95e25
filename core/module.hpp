// Module<T>: named parameters. A module lists its members once, in `visit`; everything else is derived from that.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "random.hpp"
#include "state.hpp"
#include "variable.hpp"

namespace xgrad {

template <class T>
class Module;
template <class T>
class EvalScope;

/// What `Module::visit` is given: call it with a name and a member for each member that holds state.
///
///     void visit(xgrad::Visitor<T>& v) override { v("norm", norm); v("ffn", ffn); v("scale", scale); }
///
/// Names become dotted: "ffn.linear1.weight". To do something new with the members of a module, derive from Visitor
/// and override what you need of the four `on_` functions.
template <class T>
class Visitor {
 public:
  virtual ~Visitor() = default;

  /// A sub-module.
  void operator()(const std::string& name, Module<T>& module);
  /// A parameter; an undefined one (an absent bias) is passed over.
  void operator()(const std::string& name, Variable<T>& parameter);
  /// Numbers that belong to the state but are not trained.
  void operator()(const std::string& name, Array<T>& buffer);
  /// A random generator.
  void operator()(const std::string& name, Rng& generator);
  /// Several sub-modules: "name.0", "name.1", ...
  template <class M>
  void operator()(const std::string& name, std::vector<M>& modules) {
    for (std::size_t i = 0; i < modules.size(); ++i) (*this)(name + "." + std::to_string(i), modules[i]);
  }
  /// A sub-module held by pointer; null is passed over.
  template <class M>
  void operator()(const std::string& name, std::unique_ptr<M>& module) {
    if (module) (*this)(name, *module);
  }
  /// A sub-module or parameter that may be absent.
  template <class M>
  void operator()(const std::string& name, std::optional<M>& member) {
    if (member) (*this)(name, *member);
  }

 protected:
  /// Called for each member in turn, with its dotted name; each does nothing unless overridden. Sub-modules are visited
  /// whether or not `on_module` is overridden.
  /// @{
  virtual void on_module(const std::string& /*path*/, Module<T>& /*module*/) {}
  virtual void on_parameter(const std::string& /*path*/, Variable<T>& /*parameter*/) {}
  virtual void on_buffer(const std::string& /*path*/, Array<T>& /*buffer*/) {}
  virtual void on_generator(const std::string& /*path*/, Rng& /*generator*/) {}
  /// @}

 private:
  std::string path(const std::string& name) const { return prefix_.empty() ? name : prefix_ + "." + name; }
  std::string prefix_;
};

/// Base of layers and models. Derive, keep layers and parameters as members, list them in `visit`, and give the class
/// the `operator()` that suits it. Modules move and do not copy, since a copy would share its numbers with the
/// original; `copy_state` copies numbers.
template <class T>
class Module {
 public:
  /// A new module is in training mode.
  Module() = default;
  Module(const Module&) = delete;  // move it, or copy numbers by copy_state(from, to)
  Module& operator=(const Module&) = delete;
  /// Moves keep handles to parameters, such as an optimizer's, valid.
  /// @{
  Module(Module&&) noexcept = default;
  Module& operator=(Module&&) noexcept = default;
  /// @}
  virtual ~Module() = default;

  /// Names every member that holds parameters, buffers, generators or sub-modules, in a fixed order.
  virtual void visit(Visitor<T>& v) = 0;

  /// Name shown by `summary`.
  virtual std::string name() const { return "Module"; }

  /// Handles to all parameters with their dotted names, frozen ones included. One that is shared by two members
  /// appears once, under its first name. Throws std::invalid_argument when two members have one name and
  /// GraphError when a parameter is the result of an op; so does everything below that looks at members.
  std::vector<std::pair<std::string, Variable<T>>> named_parameters();
  /// The same without names, as optimizers take them.
  std::vector<Variable<T>> parameters();

  /// Number of trainable numbers (frozen parameters not counted), or of all with `frozen_too`.
  std::size_t count(bool frozen_too = false);

  /// Switches this module and all below it to training or evaluation behaviour (dropout). Does not touch
  /// requires_grad.
  void train(bool on = true);
  /// `train(false)`.
  void eval() { train(false); }
  /// True in training mode.
  bool is_training() const noexcept { return training_; }

  /// Drops the gradients of all parameters.
  void zero_grad();

  /// Stops (or resumes) gradients for all parameters: `model.embedding.freeze()`.
  void freeze(bool on = true);

  /// A table of all members in the order of `visit`: sub-modules with their type (`name()`) and how many numbers their
  /// parameters hold; parameters and buffers with their shapes, frozen and tied ones marked; generators. Then the
  /// totals, a tied parameter counted once, and the memory of parameters, gradients and buffers.
  std::string summary();

 private:
  friend class EvalScope<T>;
  bool training_ = true;
};

/// Evaluation mode for a scope; afterwards every sub-module is back in the mode it had. The module must stay where it
/// is (not be moved) and keep its sub-modules meanwhile.
///
///     { const xgrad::EvalScope<T> scope(model); prediction = model(x); }
template <class T>
class EvalScope {
 public:
  /// Switches the module and all below it to evaluation mode.
  explicit EvalScope(Module<T>& module);
  ~EvalScope();
  EvalScope(const EvalScope&) = delete;
  EvalScope& operator=(const EvalScope&) = delete;

 private:
  std::vector<std::pair<Module<T>*, bool>> before_;
};

/// A copy of all parameters, buffers and generator states.
template <class T>
State<T> state(Module<T>& module);

/// Puts the numbers of a state back. Throws std::invalid_argument, naming all that are missing, unknown, given
/// twice or of another shape, before anything changes. With `strict` off, names on one side only are passed over.
template <class T>
void load_state(Module<T>& module, const State<T>& state, bool strict = true);

/// Copies parameters, buffers and generator states between two modules of the same structure. Throws as load_state.
template <class T>
void copy_state(Module<T>& from, Module<T>& to) {
  load_state(to, state(from));
}

/// What a state of this module holds, by name and shape, without the numbers.
template <class T>
StateNames state_names(Module<T>& module);

}  // namespace xgrad
