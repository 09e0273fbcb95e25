// Groups of parameters that an optimizer treats unlike the others.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../core/module.hpp"

namespace xgrad {

/// Parameters whose rates are multiples of the optimizer's, so that one `set_lr` moves all groups together:
///
///     xgrad::SGD<T> sgd(std::vector<xgrad::ParameterGroup<T>>{{body.parameters(), 0.1}, {head.parameters()}}, {0.05});
///
/// Both factors must be finite and >= 0. For groups that differ in more, use an optimizer each.
template <class T>
struct ParameterGroup {
  std::vector<Variable<T>> parameters;  ///< Leaves; one given twice counts once.
  double lr_factor = 1;                 ///< The learning rate here, as a multiple of the optimizer's.
  double weight_decay_factor = 1;       ///< The weight decay here, as a multiple of the optimizer's; 0 is none.
};

/// Which parameters decay, by dotted name.
template <class T>
using DecayRule = std::function<bool(const std::string& name, const Variable<T>& parameter)>;

/// All parameters of a module in two groups, the second without weight decay: biases and the gains of norms. These are
/// the parameters with fewer than two axes, those named "bias", and those of modules whose name() ends in "Norm".
///
///     xgrad::AdamW<T> adam(xgrad::decay_groups(model), {1e-3});
///
/// A group that would be empty is left out.
template <class T>
std::vector<ParameterGroup<T>> decay_groups(Module<T>& module);

/// The same by a rule of one's own.
template <class T>
std::vector<ParameterGroup<T>> decay_groups(Module<T>& module, const DecayRule<T>& decays);

}  // namespace xgrad
