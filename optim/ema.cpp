#include "ema.hpp"

#include <algorithm>
#include <cmath>

namespace xgrad {

template <class T>
Ema<T>::Ema(Module<T>& module, double decay) : parameters_(module.named_parameters()), decay_(decay) {
  if (!(decay >= 0 && decay < 1)) fail<std::invalid_argument>("Ema", "decay must be in [0, 1) but is ", decay);
  for (const auto& [name, p] : parameters_) means_.push_back(p.value());
}

template <class T>
void Ema<T>::update() {
  check_not_applied("update");
  ++updates_;
  const T share = static_cast<T>((1 - decay_) / (1 - std::pow(decay_, static_cast<double>(updates_))));
  for (std::size_t i = 0; i < means_.size(); ++i) {
    T* mean = means_[i].data();
    const T* w = parameters_[i].second.value().data();
    if (updates_ == 1) std::copy_n(w, means_[i].size(), mean);  // mean + (w - mean) may differ in the last bit
    else
      for (std::size_t j = 0; j < means_[i].size(); ++j) mean[j] += share * (w[j] - mean[j]);
  }
}

template <class T>
State<T> Ema<T>::state() const {
  check_not_applied("state");
  State<T> result;
  for (std::size_t i = 0; i < means_.size(); ++i) result.arrays.emplace_back(parameters_[i].first, means_[i]);
  result.numbers.emplace_back("updates", static_cast<double>(updates_));
  return result;
}

template <class T>
void Ema<T>::load_state(const State<T>& state) {
  check_not_applied("load_state");
  StateNames wanted;
  for (const auto& [name, p] : parameters_) wanted.arrays.emplace_back(name, p.shape());
  wanted.numbers.emplace_back("updates");
  std::string complaints = differences(names_of(state), wanted, true);
  for (const auto& [name, value] : state.numbers)
    if (!is_count(value)) complaints += "\n  " + name + " must be a whole number from 0";
  if (!complaints.empty()) fail<std::invalid_argument>("Ema", "the state must be of the same module:", complaints);
  for (std::size_t i = 0; i < means_.size(); ++i) means_[i] = state.array(parameters_[i].first);
  updates_ = static_cast<std::uint64_t>(state.number("updates"));
}

template <class T>
void Ema<T>::check_not_applied(const char* what) const {
  if (applied_) fail<std::logic_error>("Ema", what, " needs the trained weights but an EmaScope is open; end it first");
}

template <class T>
void Ema<T>::swap() {
  for (std::size_t i = 0; i < means_.size(); ++i)
    parameters_[i].second.mutate([&](Array<T>& value) { std::swap(value, means_[i]); });
  applied_ = !applied_;
}

template <class T>
EmaScope<T>::EmaScope(Ema<T>& ema) : ema_(ema) {
  ema.check_not_applied("another EmaScope");
  ema.swap();
}

template <class T>
EmaScope<T>::~EmaScope() {
  ema_.swap();
}

#define XGRAD_INSTANTIATE(T) \
  template class Ema<T>;     \
  template class EmaScope<T>;
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
