#include "optimizer.hpp"

#include <cmath>
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
Optimizer<T>::Optimizer(const char* who, const std::vector<Variable<T>>& parameters, double lr)
    : who_(who), parameters_(detail::distinct_leaves(who, parameters)), slots_(parameters_.size()) {
  if (parameters_.empty())
    fail<std::invalid_argument>(who, "needs at least one parameter but the list is empty; does visit() name them?");
  set_lr(lr);
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
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Variable<T>& p = parameters_[i];
    if (!p.requires_grad() || !p.has_grad()) continue;
    p.mutate([&](Array<T>& value) { update(value, p.grad(), slots_[i]); });
    ++slots_[i].steps;
  }
}

#define XGRAD_INSTANTIATE(T)   \
  template class Optimizer<T>; \
  template std::vector<Variable<T>> detail::distinct_leaves(const char*, const std::vector<Variable<T>>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
