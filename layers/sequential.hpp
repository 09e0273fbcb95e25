// Sequential: modules and functions applied one after the other.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "../core/module.hpp"

namespace xgrad {

/// Steps applied in order, each taking a Variable and giving one.
///
///     Sequential<float> model{Linear<float>(13, 64, rng), xgrad::relu, Linear<float>(64, 1, rng)};
///
/// A step is a module (moved in), or a function or lambda. Steps are named by position, "0", "1", ...; a function takes
/// a number too, but only a module's parameters are listed. Without steps it is the identity. Careful: braces around
/// another Sequential, `Sequential<T>{std::move(other)}`, hold it as a step.
template <class T>
class Sequential : public Module<T> {
 public:
  /// What modules and functions convert to.
  class Step {
   public:
    using Function = Variable<T>(const Variable<T>&);  ///< Of a step that is a plain function.

    /// A plain function, picked from its overloads: `xgrad::relu`.
    Step(Function* f) : call_(f) {}

    /// A module (as a temporary or with std::move), or a lambda or other function object.
    /// @{
    template <class M, class = std::enable_if_t<std::is_base_of_v<Module<T>, M>>>
    Step(M& module) = delete;  // give a temporary or std::move(module): modules do not copy
    template <class F, class M = std::decay_t<F>,
              class = std::enable_if_t<std::is_invocable_r_v<Variable<T>, M&, const Variable<T>&> &&
                                       !(std::is_base_of_v<Module<T>, M> && std::is_lvalue_reference_v<F>)>>
    Step(F&& f) {
      if constexpr (std::is_base_of_v<Module<T>, M>) {
        auto module = std::make_shared<M>(std::move(f));
        module_ = module;
        call_ = [m = module.get()](const Variable<T>& x) { return (*m)(x); };
      } else {
        call_ = std::forward<F>(f);
      }
    }
    /// @}

   private:
    friend class Sequential;
    // Shared only because the elements of an initializer list can be copied but not moved.
    std::shared_ptr<Module<T>> module_;
    std::function<Function> call_;
  };

  /// The steps in order; none by default.
  /// @{
  Sequential() = default;
  Sequential(std::initializer_list<Step> steps) : steps_(steps) {}
  /// @}

  /// Appends a step.
  Sequential& add(Step step) {
    steps_.push_back(std::move(step));
    return *this;
  }

  /// Applies the steps one after the other. A ShapeError of a step says which it was.
  Variable<T> operator()(const Variable<T>& x) {
    Variable<T> y = x;
    std::size_t i = 0;
    try {
      for (; i < steps_.size(); ++i) y = steps_[i].call_(y);
    } catch (const ShapeError& error) {
      throw ShapeError(error.what() + ("; in step " + std::to_string(i)) + " of Sequential");
    }
    return y;
  }

  void visit(Visitor<T>& v) override {
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].module_) v(std::to_string(i), *steps_[i].module_);
  }
  std::string name() const override { return "Sequential"; }

  /// How many steps.
  std::size_t size() const noexcept { return steps_.size(); }

  /// Step i as the module it was made from: `model.at<Linear<float>>(0).weight`. Throws std::invalid_argument when
  /// there is no step i or it is something else.
  template <class M>
  M& at(std::size_t i) {
    if (i >= steps_.size())
      fail<std::invalid_argument>("Sequential", "step must be below ", steps_.size(), " but is ", i);
    M* const module = dynamic_cast<M*>(steps_[i].module_.get());
    if (!module)
      fail<std::invalid_argument>("Sequential", "step ", i, " is ",
                                  steps_[i].module_ ? "of type " + steps_[i].module_->name() : "a function",
                                  ", not of the type asked for");
    return *module;
  }

 private:
  std::vector<Step> steps_;
};

}  // namespace xgrad
