#include "joint_norm.hpp"

#include <algorithm>
#include <cmath>

namespace xgrad::detail {

template <class T>
double joint_norm(const std::vector<const Array<T>*>& arrays) {
  const auto for_each_entry = [&](auto f) {
    for (const Array<T>* a : arrays)
      for (std::size_t i = 0; i < a->size(); ++i) f(static_cast<double>(a->data()[i]));
  };
  double sum = 0;
  for_each_entry([&](double x) { sum += x * x; });
  if (std::isnormal(sum)) return std::sqrt(sum);
  // Squares of numbers above 1e154 or below 1e-154 leave the range of double; measured by the largest they do not.
  double largest = 0;
  for_each_entry([&](double x) { largest = std::isnan(x) ? x : std::max(largest, std::abs(x)); });
  if (largest == 0 || !std::isfinite(largest)) return std::isnan(sum) ? sum : largest;
  sum = 0;
  for_each_entry([&](double x) { sum += (x / largest) * (x / largest); });
  return largest * std::sqrt(sum);
}

template double joint_norm(const std::vector<const Array<float>*>&);
template double joint_norm(const std::vector<const Array<double>*>&);

}  // namespace xgrad::detail
