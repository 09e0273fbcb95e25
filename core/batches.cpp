#include "batches.hpp"

#include <algorithm>

namespace xgrad {

void detail::check_batches(const Shape& x, const Shape& y, std::size_t size) {
  if (x.empty() || y.empty() || x[0] != y[0])
    fail<ShapeError>("batches", "needs two arrays with equally many rows but got ", to_string(x), " and ",
                     to_string(y));
  if (size == 0) fail<std::invalid_argument>("batches", "the batch size must be at least 1 but is 0");
}

template <class T>
Array<T> detail::gather_rows(const Array<T>& a, const std::int64_t* order, std::size_t count) {
  const std::size_t rows = a.shape()[0], width = rows == 0 ? 0 : a.size() / rows;
  Shape shape = a.shape();
  shape[0] = count;
  auto result = xgrad::empty<T>(shape);
  for (std::size_t i = 0; i < count; ++i)
    std::copy_n(a.data() + static_cast<std::size_t>(order[i]) * width, width, result.data() + i * width);
  return result;
}

template Array<float> detail::gather_rows(const Array<float>&, const std::int64_t*, std::size_t);
template Array<double> detail::gather_rows(const Array<double>&, const std::int64_t*, std::size_t);
template Index detail::gather_rows(const Index&, const std::int64_t*, std::size_t);

}  // namespace xgrad
