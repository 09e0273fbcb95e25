#include "objective.hpp"

#include <algorithm>

#include "../core/weighted_mean.hpp"

namespace xgrad {

template <class T>
Variable<T> Objective<T>::loss(const Index& rows) const {
  Variable<T> result = loss_(rows);
  if (result.size() != 1)
    fail<ShapeError>("Objective", "a loss must be one number but has shape ", to_string(result.shape()),
                     "; reduce it with mean");
  return result;
}

template <class T>
double Objective<T>::mean(std::size_t batch_size) const {
  if (row_count_ == 0) fail<std::invalid_argument>("Objective", "needs at least one row but has none");
  if (batch_size == 0) fail<std::invalid_argument>("Objective", "batch_size must be at least 1 but is 0");
  const NoGrad off;
  const auto end = static_cast<std::int64_t>(row_count_);
  const auto size = static_cast<std::int64_t>(std::min(batch_size, row_count_));
  WeightedMean mean;
  for (std::int64_t first = 0; first < end; first += size) {
    const Index rows = arange<std::int64_t>(first, std::min(first + size, end));
    mean.add(static_cast<double>(loss(rows).item()), rows.size());
  }
  return mean.value();
}

template class Objective<float>;
template class Objective<double>;

}  // namespace xgrad
