#include "clip.hpp"

#include <algorithm>
#include <cmath>

#include "joint_norm.hpp"
#include "optimizer.hpp"

namespace xgrad {

namespace {

/// The parameters that a step would change.
template <class T>
std::vector<Variable<T>> with_gradient(const char* who, const std::vector<Variable<T>>& parameters) {
  auto result = detail::distinct_leaves(who, parameters);
  const auto idle = [](const Variable<T>& p) { return !p.requires_grad() || !p.has_grad(); };
  result.erase(std::remove_if(result.begin(), result.end(), idle), result.end());
  return result;
}

}  // namespace

template <class T>
double clip_grad_norm(const std::vector<Variable<T>>& parameters, double max_norm) {
  if (!(max_norm >= 0)) fail<std::invalid_argument>("clip_grad_norm", "max_norm must be >= 0 but is ", max_norm);
  auto active = with_gradient("clip_grad_norm", parameters);
  std::vector<const Array<T>*> gradients;
  for (const Variable<T>& p : active) gradients.push_back(&p.grad());
  const double norm = detail::joint_norm(gradients);
  if (!std::isfinite(norm) || norm <= max_norm) return norm;
  const double factor = max_norm / norm;
  for (Variable<T>& p : active)
    p.mutate_grad([&](Array<T>& g) {
      for (std::size_t i = 0; i < g.size(); ++i) g.data()[i] = static_cast<T>(g.data()[i] * factor);
    });
  return norm;
}

template <class T>
void clip_grad_value(const std::vector<Variable<T>>& parameters, double bound) {
  if (!(bound >= 0)) fail<std::invalid_argument>("clip_grad_value", "bound must be >= 0 but is ", bound);
  for (Variable<T>& p : with_gradient("clip_grad_value", parameters))
    p.mutate_grad([&](Array<T>& g) {
      const T limit = static_cast<T>(bound);
      for (std::size_t i = 0; i < g.size(); ++i) {
        T& x = g.data()[i];
        if (x > limit) x = limit;
        else if (x < -limit) x = -limit;
      }
    });
}

#define XGRAD_INSTANTIATE(T)                                               \
  template double clip_grad_norm(const std::vector<Variable<T>>&, double); \
  template void clip_grad_value(const std::vector<Variable<T>>&, double);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
