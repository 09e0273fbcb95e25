#include "optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <unordered_set>

namespace xgrad {

template <class T>
std::vector<Variable<T>> detail::distinct_leaves(const char* who, const std::vector<Variable<T>>& parameters) {
  std::vector<Variable<T>> result;
  std::unordered_set<const Node<T>*> seen;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Variable<T>& p = parameters[i];
    if (!p.defined() || !p.node() || !p.node()->as_leaf())
      fail<GraphError>(who, "parameters must be leaves but number ", i, " is ",
                       !p.defined() ? "undefined (default-constructed)"
                       : !p.node()  ? "a constant"
                                    : std::string("the result of ") + p.op(),
                       "; pass model.parameters(), or Variables made with requires_grad = true");
    if (seen.insert(p.node().get()).second) result.push_back(p);
  }
  return result;
}

template <class T>
Optimizer<T>::Optimizer(const char* who, const std::vector<ParameterGroup<T>>& groups, double lr, double weight_decay)
    : who_(who) {
  set_lr(lr);
  const auto check_rate = [&](const char* what, double value) {
    if (!(value >= 0 && std::isfinite(value)))
      fail<std::invalid_argument>(who, what, " must be finite and >= 0 but is ", value);
  };
  check_rate("weight_decay", weight_decay);
  for (const ParameterGroup<T>& group : groups) {
    check_rate("lr_factor", group.lr_factor);
    check_rate("weight_decay_factor", group.weight_decay_factor);
    for (const Variable<T>& p : detail::distinct_leaves(who, group.parameters)) {
      parameters_.push_back(p);
      slots_.emplace_back().weight_decay = weight_decay * group.weight_decay_factor;
      lr_factors_.push_back(group.lr_factor);
    }
  }
  if (parameters_.empty())
    fail<std::invalid_argument>(who, "needs at least one parameter but the list is empty; does visit() name them?");
  if (detail::distinct_leaves(who, parameters_).size() != parameters_.size())
    fail<std::invalid_argument>(who, "a parameter stands in two groups; give each to one");
}

template <class T>
void Optimizer<T>::set_lr(double lr) {
  if (!(lr >= 0 && std::isfinite(lr))) fail<std::invalid_argument>(who_, "lr must be finite and >= 0 but is ", lr);
  lr_ = lr;
}

template <class T>
void Optimizer<T>::zero_grad() {
  for (Variable<T>& p : parameters_) p.zero_grad();
}

template <class T>
void Optimizer<T>::step() {
  const auto moves = [](const Variable<T>& p) { return p.requires_grad() && p.has_grad(); };
  if (std::none_of(parameters_.begin(), parameters_.end(), moves))
    fail<GraphError>(who_,
                     "no parameter has a gradient; call backward() between zero_grad() and step(), on a loss that "
                     "is computed from this optimizer's parameters");
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Variable<T>& p = parameters_[i];
    if (!moves(p)) continue;
    slots_[i].lr = lr_ * lr_factors_[i];
    p.mutate([&](Array<T>& value) { update(value, p.grad(), slots_[i]); });
    ++slots_[i].steps;
  }
}

template <class T>
State<T> Optimizer<T>::state() const {
  State<T> result;
  result.numbers.emplace_back(who_ + std::string(".lr"), lr_);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].steps == 0) continue;
    const std::string name = who_ + ('.' + std::to_string(i)) + '.';
    result.numbers.emplace_back(name + "steps", static_cast<double>(slots_[i].steps));
    for (std::size_t k = 0; k < slots_[i].buffers.size(); ++k)
      result.arrays.emplace_back(name + "buffer." + std::to_string(k), slots_[i].buffers[k]);
  }
  return result;
}

template <class T>
void Optimizer<T>::load_state(const State<T>& state) {
  // A parameter that was never updated has nothing to remember: its steps say whether it has.
  const std::map<std::string, double> numbers(state.numbers.begin(), state.numbers.end());
  const std::string lr = who_ + std::string(".lr");
  StateNames wanted;
  wanted.numbers.push_back(lr);
  std::string impossible;
  std::vector<Slot> slots(slots_.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].weight_decay = slots_[i].weight_decay;
    const std::string name = who_ + ('.' + std::to_string(i)) + '.';
    const auto steps = numbers.find(name + "steps");
    if (steps == numbers.end()) continue;
    wanted.numbers.push_back(steps->first);
    for (std::size_t k = 0; k < buffers_per_slot(); ++k)
      wanted.arrays.emplace_back(name + "buffer." + std::to_string(k), parameters_[i].shape());
    if (!(is_count(steps->second) && steps->second >= 1))
      impossible += "\n  " + steps->first + " must be a whole number from 1";
    else slots[i].steps = static_cast<std::uint64_t>(steps->second);
  }
  const std::string complaints = differences(names_of(state), wanted, true) + impossible;
  if (!complaints.empty())
    fail<std::invalid_argument>(who_, "the state must be of the same optimizer, options and parameters:", complaints);

  for (std::size_t i = 0; i < slots.size(); ++i)
    for (std::size_t k = 0; slots[i].steps != 0 && k < buffers_per_slot(); ++k)
      slots[i].buffers.push_back(state.array(who_ + ('.' + std::to_string(i)) + ".buffer." + std::to_string(k)));
  set_lr(numbers.at(lr));  // the last that may throw
  slots_ = std::move(slots);
}

#define XGRAD_INSTANTIATE(T)   \
  template class Optimizer<T>; \
  template std::vector<Variable<T>> detail::distinct_leaves(const char*, const std::vector<Variable<T>>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
