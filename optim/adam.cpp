#include "adam.hpp"

#include <cmath>

namespace xgrad {

template <class T>
Adam<T>::Adam(const char* who, const std::vector<ParameterGroup<T>>& groups, const AdamOptions& options, bool decoupled)
    : Optimizer<T>(who, groups, options.lr, options.weight_decay), options_(options), decoupled_(decoupled) {
  const auto check_beta = [&](const char* what, double value) {
    if (!(value >= 0 && value < 1)) fail<std::invalid_argument>(who, what, " must be in [0, 1) but is ", value);
  };
  check_beta("beta1", options.beta1);
  check_beta("beta2", options.beta2);
  if (!(options.eps >= 0 && std::isfinite(options.eps)))
    fail<std::invalid_argument>(who, "eps must be finite and >= 0 but is ", options.eps);
}

template <class T>
void Adam<T>::update(Array<T>& value, const Array<T>& grad, Slot& slot) {
  if (slot.buffers.empty()) slot.buffers.assign(buffers_per_slot(), zeros<T>(value.shape()));
  // The corrections go into two numbers, so that the moments themselves stay as they are.
  const double t = static_cast<double>(slot.steps + 1);
  const T rate = static_cast<T>(slot.lr / (1 - std::pow(options_.beta1, t)));
  const T correction = static_cast<T>(1 / std::sqrt(1 - std::pow(options_.beta2, t)));
  const T beta1 = static_cast<T>(options_.beta1), rest1 = static_cast<T>(1 - options_.beta1);
  const T beta2 = static_cast<T>(options_.beta2), rest2 = static_cast<T>(1 - options_.beta2);
  const T eps = static_cast<T>(options_.eps);
  const T l2 = decoupled_ ? T(0) : static_cast<T>(slot.weight_decay);
  const T kept = decoupled_ ? static_cast<T>(1 - slot.lr * slot.weight_decay) : T(1);

  T* w = value.data();
  const T* grads = grad.data();
  T* m = slot.buffers[0].data();
  T* v = slot.buffers[1].data();
  // Writes both moments and gives the first.
  const auto moments = [&](std::size_t i) {
    const T g = l2 == T(0) ? grads[i] : grads[i] + l2 * w[i];
    v[i] = beta2 * v[i] + rest2 * g * g;
    return m[i] = beta1 * m[i] + rest1 * g;
  };
  const std::size_t n = value.size();
  if (!options_.amsgrad) {
    for (std::size_t i = 0; i < n; ++i) {
      const T mean = moments(i);
      w[i] = w[i] * kept - rate * mean / (std::sqrt(v[i]) * correction + eps);
    }
    return;
  }
  T* largest = slot.buffers[2].data();
  for (std::size_t i = 0; i < n; ++i) {
    const T mean = moments(i);
    largest[i] = v[i] > largest[i] || std::isnan(v[i]) ? v[i] : largest[i];
    w[i] = w[i] * kept - rate * mean / (std::sqrt(largest[i]) * correction + eps);
  }
}

#define XGRAD_INSTANTIATE(T) \
  template class Adam<T>;    \
  template class AdamW<T>;
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
