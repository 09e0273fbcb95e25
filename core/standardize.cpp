#include "standardize.hpp"

#include <algorithm>
#include <limits>

#include "kernels/sum_inline.hpp"

namespace xgrad {

template <class T>
Standardizer<T>::Standardizer(std::size_t columns) : mean_(zeros<T>({columns})), std_(ones<T>({columns})) {}

template <class T>
void Standardizer<T>::visit(Visitor<T>& v) {
  v("mean", mean_);
  v("std", std_);
}

template <class T>
Standardizer<T>::Standardizer(const Array<T>& rows) {
  if (rows.dimension() != 2 || rows.shape()[0] == 0)
    fail<ShapeError>("Standardizer", "needs (rows, columns) with at least one row but got ", to_string(rows.shape()));
  const std::size_t n = rows.shape()[0], width = rows.shape()[1];
  mean_ = zeros<T>({width});
  std_ = ones<T>({width});
  for (std::size_t j = 0; j < width; ++j) {
    const auto at = [&](std::size_t i) { return static_cast<double>(rows.data()[i * width + j]); };
    bool constant = true;
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
      constant = constant && at(i) == at(0);
      mean += (at(i) - mean) / static_cast<double>(i + 1);  // cannot overflow, unlike the sum
    }
    // The rounding of a mean would give a constant column a tiny spread, and dividing by it would make noise large.
    mean_.data()[j] = constant ? rows.data()[j] : static_cast<T>(mean);
    if (constant) continue;
    for (std::size_t i = 0; i < n; ++i) squares += (at(i) - mean) * (at(i) - mean);
    const double std = detail::root_of_squares(squares, static_cast<double>(n), [&](auto f) {
      for (std::size_t i = 0; i < n; ++i) f(at(i) - mean);
    });
    std_.data()[j] = std::max(static_cast<T>(std), std::numeric_limits<T>::denorm_min());  // a small one may round to 0
  }
}

namespace {

template <class T, class F>
Array<T> columnwise(const char* who, const Array<T>& x, std::size_t width, F f) {
  if (x.dimension() != 2 || x.shape()[1] != width)
    fail<ShapeError>(who, "was made for (rows, ", width, ") but got ", to_string(x.shape()));
  auto result = empty<T>(x.shape());
  for (std::size_t i = 0; i < x.size(); ++i) result.data()[i] = f(x.data()[i], i % width);
  return result;
}

}  // namespace

template <class T>
Array<T> Standardizer<T>::apply(const Array<T>& x) const {
  return columnwise("Standardizer", x, mean_.size(),
                    [this](T value, std::size_t j) { return (value - mean_.data()[j]) / std_.data()[j]; });
}

template <class T>
Array<T> Standardizer<T>::undo(const Array<T>& x) const {
  return columnwise("Standardizer", x, mean_.size(),
                    [this](T value, std::size_t j) { return value * std_.data()[j] + mean_.data()[j]; });
}

template class Standardizer<float>;
template class Standardizer<double>;

}  // namespace xgrad
