#include "rmsprop.hpp"

#include <cmath>
#include <type_traits>

namespace xgrad {

template <class T>
RMSprop<T>::RMSprop(const std::vector<ParameterGroup<T>>& groups, const RMSpropOptions& options)
    : Optimizer<T>("RMSprop", groups, options.lr, options.weight_decay), options_(options) {
  if (!(options.alpha >= 0 && options.alpha < 1))
    fail<std::invalid_argument>("RMSprop", "alpha must be in [0, 1) but is ", options.alpha);
  if (!(options.eps >= 0 && std::isfinite(options.eps)))
    fail<std::invalid_argument>("RMSprop", "eps must be finite and >= 0 but is ", options.eps);
  if (!(options.momentum >= 0 && options.momentum <= 1))
    fail<std::invalid_argument>("RMSprop", "momentum must be in [0, 1] but is ", options.momentum);
}

template <class T>
void RMSprop<T>::update(Array<T>& value, const Array<T>& grad, Slot& slot) {
  if (slot.buffers.empty()) slot.buffers.assign(buffers_per_slot(), zeros<T>(value.shape()));
  const T lr = static_cast<T>(slot.lr), decay = static_cast<T>(slot.weight_decay), eps = static_cast<T>(options_.eps);
  const T alpha = static_cast<T>(options_.alpha), rest = static_cast<T>(1 - options_.alpha);
  const T momentum = static_cast<T>(options_.momentum);

  T* w = value.data();
  const T* grads = grad.data();
  T* squares = slot.buffers[0].data();
  T* means = slot.buffers[options_.centered ? 1 : 0].data();
  T* velocity = slot.buffers.back().data();
  // A loop for each form, without branches, so that it vectorises.
  const auto sweep = [&](auto centered, auto has_velocity) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const T g = decay == T(0) ? grads[i] : grads[i] + decay * w[i];
      T spread = squares[i] = alpha * squares[i] + rest * g * g;
      if (centered.value) {
        means[i] = alpha * means[i] + rest * g;
        spread -= means[i] * means[i];
        spread = spread < T(0) ? T(0) : spread;  // NaN stays
      }
      T move = g / (std::sqrt(spread) + eps);
      if (has_velocity.value) move = velocity[i] = momentum * velocity[i] + move;
      w[i] -= lr * move;
    }
  };
  const std::true_type yes;
  const std::false_type no;
  if (options_.centered) options_.momentum > 0 ? sweep(yes, yes) : sweep(yes, no);
  else options_.momentum > 0 ? sweep(no, yes) : sweep(no, no);
}

#define XGRAD_INSTANTIATE(T) template class RMSprop<T>;
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
