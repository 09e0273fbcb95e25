#include "guard.hpp"

#include "../core/finite.hpp"

namespace xgrad {

template <class T>
GradGuard<T>::GradGuard(Module<T>& module, NonFinite choice)
    : parameters_(module.named_parameters()), choice_(choice) {}

template <class T>
bool GradGuard<T>::passes() {
  const std::pair<std::string, Variable<T>>* first = nullptr;
  std::size_t others = 0;
  for (const auto& named : parameters_) {
    const Variable<T>& p = named.second;
    if (!p.requires_grad() || !p.has_grad() || detail::all_finite(p.grad())) continue;
    if (first) ++others;
    else first = &named;
  }
  if (!first) return true;
  if (choice_ == NonFinite::error)
    fail<AnomalyError>(
        "GradGuard", "gradients must be finite but that of ", first->first, " holds ",
        detail::first_non_finite(first->second.grad()),
        others ? ", and of " + detail::count_text(others, "other parameter", "other parameters") + ", too" : "",
        "; lower the learning rate, clip gradients, or leave such steps out (NonFinite::skip)");
  ++skipped_;
  return false;
}

template <class T>
State<T> GradGuard<T>::state() const {
  State<T> result;
  result.numbers.emplace_back("skipped", static_cast<double>(skipped_));
  return result;
}

template <class T>
void GradGuard<T>::load_state(const State<T>& state) {
  const double skipped = state.number("skipped");
  if (!is_count(skipped))
    fail<std::invalid_argument>("GradGuard", "skipped must be a whole number from 0 but is ", skipped);
  skipped_ = static_cast<std::uint64_t>(skipped);
}

template class GradGuard<float>;
template class GradGuard<double>;

}  // namespace xgrad
