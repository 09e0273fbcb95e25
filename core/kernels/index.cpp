#include "index.hpp"

#include <algorithm>
#include <limits>

#include "strides_inline.hpp"

namespace xgrad {

Slice range(std::optional<std::ptrdiff_t> start, std::optional<std::ptrdiff_t> stop, std::ptrdiff_t step) {
  if (step == 0) fail<std::invalid_argument>("range", "step must not be 0");
  Slice slice;
  slice.start_ = start;
  slice.stop_ = stop;
  slice.step_ = std::max(step, -std::numeric_limits<std::ptrdiff_t>::max());  // so that -step exists
  return slice;
}

Slice::Run Slice::resolve(const char* who, std::size_t axis, std::size_t extent) const {
  const auto n = static_cast<std::ptrdiff_t>(extent);
  if (index_) {
    const std::ptrdiff_t i = *start_;
    if (i < -n || i >= n) fail<ShapeError>(who, "index ", i, " is outside axis ", axis, " of extent ", extent);
    return {static_cast<std::size_t>(i < 0 ? i + n : i), 1, 1, true};
  }
  const bool forward = step_ > 0;
  const std::ptrdiff_t lowest = forward ? 0 : -1, highest = forward ? n : n - 1;
  const auto bound = [&](const std::optional<std::ptrdiff_t>& end, std::ptrdiff_t otherwise) {
    if (!end) return otherwise;
    return std::max(lowest, std::min(highest, *end < 0 ? *end + n : *end));
  };
  const std::ptrdiff_t first = bound(start_, forward ? lowest : highest),
                       last = bound(stop_, forward ? highest : lowest);
  const std::ptrdiff_t length = forward ? last - first : first - last;
  if (length <= 0) return {0, 0, step_, false};
  return {static_cast<std::size_t>(first), static_cast<std::size_t>((length - 1) / (forward ? step_ : -step_) + 1),
          step_, false};
}

namespace {

struct Region {
  Shape shape;
  detail::Walk<1> walk;
  std::ptrdiff_t offset = 0;

  Region(const char* who, const Shape& whole, const Slices& slices) {
    if (slices.size() > whole.size())
      fail<ShapeError>(who, "got ", slices.size(), " slices for shape ", to_string(whole));
    const auto strides = detail::contiguous_strides(whole);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const Slice::Run run = (i < slices.size() ? slices[i] : all()).resolve(who, i, whole[i]);
      if (!run.dropped) shape.push_back(run.count);
      offset += static_cast<std::ptrdiff_t>(run.first) * strides[i];
      walk.push(run.count, {run.count > 1 ? run.step * strides[i] : 0});  // a step that is not gone may be huge
    }
  }
};

// Shape of one row per number in `rows`; refuses numbers outside [0, n).
Shape rows_shape(const char* who, const Shape& table, const Index& rows) {
  if (table.empty()) fail<ShapeError>(who, "needs an array with rows but got shape ()");
  const auto n = static_cast<std::int64_t>(table[0]);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows.data()[i] < 0 || rows.data()[i] >= n)
      fail<ShapeError>(who, "rows must lie in [0, ", n, ") but position ", i, " holds ", rows.data()[i]);
  Shape shape = rows.shape();
  for (std::size_t i = 1; i < table.size(); ++i) shape.push_back(table[i]);
  return shape;
}

std::size_t row_size(const Shape& table) { return element_count(Shape(table.begin() + 1, table.end())); }

}  // namespace

Shape slice_shape(const Shape& shape, const Slices& slices) { return Region("slice", shape, slices).shape; }

template <class T>
Array<T> slice(const Array<T>& x, const Slices& slices) {
  const Region region("slice", x.shape(), slices);
  Array<T> result(region.shape);
  T* out = result.data();
  const auto row = [&](const auto& at, std::size_t n, const auto& step) {
    const T* from = x.data() + at[0];
    if (step[0] == 1) std::copy(from, from + n, out);
    else
      for (std::size_t i = 0; i < n; ++i) out[i] = from[static_cast<std::ptrdiff_t>(i) * step[0]];
    out += n;
  };
  region.walk.each_row(row, {region.offset});
  return result;
}

template <class T>
void add_to_slice(Array<T>& target, const Slices& slices, const Array<T>& values) {
  const Region region("add_to_slice", target.shape(), slices);
  check_shape("add_to_slice", "values", region.shape, values.shape());
  const T* from = values.data();
  const auto row = [&](const auto& at, std::size_t n, const auto& step) {
    T* to = target.data() + at[0];
    if (step[0] == 1)
      for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
    else
      for (std::size_t i = 0; i < n; ++i) to[static_cast<std::ptrdiff_t>(i) * step[0]] += from[i];
    from += n;
  };
  region.walk.each_row(row, {region.offset});
}

template <class T>
Array<T> take(const Array<T>& x, const Index& rows) {
  Array<T> result(rows_shape("take", x.shape(), rows));
  const std::size_t width = row_size(x.shape());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const T* from = x.data() + static_cast<std::size_t>(rows.data()[i]) * width;
    std::copy(from, from + width, result.data() + i * width);
  }
  return result;
}

template <class T>
void add_rows(Array<T>& target, const Index& rows, const Array<T>& values) {
  check_shape("add_rows", "values", rows_shape("add_rows", target.shape(), rows), values.shape());
  const std::size_t width = row_size(target.shape());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    T* to = target.data() + static_cast<std::size_t>(rows.data()[i]) * width;
    const T* from = values.data() + i * width;
    for (std::size_t j = 0; j < width; ++j) to[j] += from[j];
  }
}

#define XGRAD_INSTANTIATE(T)                                             \
  template Array<T> slice(const Array<T>&, const Slices&);               \
  template void add_to_slice(Array<T>&, const Slices&, const Array<T>&); \
  template Array<T> take(const Array<T>&, const Index&);                 \
  template void add_rows(Array<T>&, const Index&, const Array<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
template Index slice(const Index&, const Slices&);
template Index take(const Index&, const Index&);

}  // namespace xgrad
