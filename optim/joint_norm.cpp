#include "joint_norm.hpp"

#include "../core/kernels/sum_inline.hpp"

namespace xgrad::detail {

template <class T>
double joint_norm(const std::vector<const Array<T>*>& arrays) {
  const auto for_each_entry = [&](auto f) {
    for (const Array<T>* a : arrays)
      for (std::size_t i = 0; i < a->size(); ++i) f(static_cast<double>(a->data()[i]));
  };
  double sum = 0;
  for_each_entry([&](double x) { sum += x * x; });
  return root_of_squares(sum, 1, for_each_entry);
}

template double joint_norm(const std::vector<const Array<float>*>&);
template double joint_norm(const std::vector<const Array<double>*>&);

}  // namespace xgrad::detail
