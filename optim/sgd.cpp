#include "sgd.hpp"

#include "../core/kernels/parallel_inline.hpp"

namespace xgrad {

template <class T>
SGD<T>::SGD(const std::vector<ParameterGroup<T>>& groups, const SGDOptions& options)
    : Optimizer<T>("SGD", groups, options.lr, options.weight_decay), options_(options) {
  const auto check_share = [](const char* what, double value) {
    if (!(value >= 0 && value <= 1)) fail<std::invalid_argument>("SGD", what, " must be in [0, 1] but is ", value);
  };
  check_share("momentum", options.momentum);
  check_share("dampening", options.dampening);
  if (options.nesterov && !(options.momentum > 0 && options.dampening == 0))
    fail<std::invalid_argument>("SGD", "nesterov needs momentum > 0 and dampening = 0 but they are ", options.momentum,
                                " and ", options.dampening);
}

template <class T>
void SGD<T>::update(Array<T>& value, const Array<T>& grad, Slot& slot) {
  const std::size_t n = value.size();
  const T lr = static_cast<T>(slot.lr), decay = static_cast<T>(slot.weight_decay);
  const T momentum = static_cast<T>(options_.momentum), kept = static_cast<T>(1 - options_.dampening);
  const bool nesterov = options_.nesterov;
  T* const w = value.data();
  const T* const g = grad.data();
  constexpr double cost = 0.3;  // of a number, in nanoseconds
  // The branches do not change within a loop; the compiler takes them out.
  const auto direction = [=](std::size_t i) XGRAD_INLINE { return decay == T(0) ? g[i] : g[i] + decay * w[i]; };

  if (momentum == T(0)) {
    detail::parallel(n, 1024, cost, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
#pragma omp simd
      for (std::size_t i = begin; i < end; ++i) w[i] -= lr * direction(i);
    });
    return;
  }
  const bool first = slot.buffers.empty();
  if (first) slot.buffers.push_back(empty<T>(value.shape()));
  T* const v = slot.buffers[0].data();
  detail::parallel(n, 1024, 1.5 * cost, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
#pragma omp simd
    for (std::size_t i = begin; i < end; ++i) {
      const T d = direction(i), u = first ? d : momentum * v[i] + kept * d;
      v[i] = u;
      w[i] -= lr * (nesterov ? d + momentum * u : u);
    }
  });
}

#define XGRAD_INSTANTIATE(T) template class SGD<T>;
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
