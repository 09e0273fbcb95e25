#include "wide.hpp"

xgrad::Array<double> times_itself(const xgrad::Array<double>& m) { return xgrad::matmul(m, m); }

xgrad::Array<float> ramp(std::size_t count) {
  xgrad::Array<float> result = xgrad::zeros<float>({count});
  for (std::size_t i = 0; i < count; ++i) result(i) = static_cast<float>(i);
  return result * 1.f;
}

xgrad::Variable<float> weighed_sum(const xgrad::Variable<float>& x, const xgrad::Array<float>& weights) {
  return xgrad::sum(x * weights);
}
