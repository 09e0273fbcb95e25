// Joining and splitting, of index.hpp.
#include <algorithm>
#include <limits>
#include <numeric>

#include "index.hpp"
#include "strides_inline.hpp"

namespace xgrad {

namespace {

std::size_t count_before(const Shape& shape, std::size_t axis) {
  return element_count(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis)));
}

// Writes the parts side by side: from each in turn, one of its `outer` equal pieces.
template <class T>
Array<T> interleave(const std::vector<const Array<T>*>& parts, const Shape& shape, std::size_t outer) {
  Array<T> result(shape);
  T* out = result.data();
  for (std::size_t o = 0; o < outer; ++o)
    for (const Array<T>* part : parts) {
      const std::size_t piece = part->size() / outer;
      out = std::copy(part->data() + o * piece, part->data() + (o + 1) * piece, out);
    }
  return result;
}

template <class T>
std::vector<const Array<T>*> pointers(const std::vector<Array<T>>& parts) {
  std::vector<const Array<T>*> result;
  for (const Array<T>& part : parts) result.push_back(&part);
  return result;
}

}  // namespace

template <class T>
Array<T> concatenate(const std::vector<const Array<T>*>& parts, std::ptrdiff_t axis) {
  if (parts.empty()) fail<ShapeError>("concatenate", "needs at least one array");
  Shape shape = parts[0]->shape();
  const std::size_t at = normalize_axis("concatenate", axis, shape.size());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Shape other = parts[i]->shape();
    const std::size_t extent = other.size() == shape.size() ? other[at] : 0;
    if (other.size() == shape.size()) other[at] = shape[at];
    if (other != shape)
      fail<ShapeError>("concatenate", "shapes must agree except along axis ", at, " but part 0 has ",
                       to_string(parts[0]->shape()), " and part ", i, " has ", to_string(parts[i]->shape()));
    shape[at] += extent;
  }
  return interleave(parts, shape, count_before(shape, at));
}

template <class T>
Array<T> stack(const std::vector<const Array<T>*>& parts, std::ptrdiff_t axis) {
  if (parts.empty()) fail<ShapeError>("stack", "needs at least one array");
  const Shape& shape = parts[0]->shape();
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i]->shape() != shape)
      fail<ShapeError>("stack", "shapes must agree but part 0 has ", to_string(shape), " and part ", i, " has ",
                       to_string(parts[i]->shape()));
  const std::size_t at = normalize_axis("stack", axis, shape.size() + 1);
  return interleave(parts, detail::with_axis(shape, at, parts.size()), count_before(shape, at));
}

template <class T>
Array<T> concatenate(const std::vector<Array<T>>& parts, std::ptrdiff_t axis) {
  return xgrad::concatenate(pointers(parts), axis);
}

template <class T>
Array<T> stack(const std::vector<Array<T>>& parts, std::ptrdiff_t axis) {
  return xgrad::stack(pointers(parts), axis);
}

template <class T>
std::vector<Array<T>> split(const Array<T>& x, const std::vector<std::size_t>& sizes, std::ptrdiff_t axis) {
  const std::size_t at = normalize_axis("split", axis, x.dimension());
  const std::size_t extent = x.shape()[at];
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  const auto add = [](std::size_t a, std::size_t b) { return a > most - b ? most : a + b; };  // must not wrap around
  const std::size_t total = std::accumulate(sizes.begin(), sizes.end(), std::size_t(0), add);
  if (total != extent)
    fail<ShapeError>("split", "sizes must add up to ", extent, ", the extent of axis ", at, " of ",
                     to_string(x.shape()), ", but add up to ", total);
  const std::size_t outer = count_before(x.shape(), at);
  const std::size_t inner =
      element_count(Shape(x.shape().begin() + static_cast<std::ptrdiff_t>(at) + 1, x.shape().end()));
  std::vector<Array<T>> parts;
  std::size_t begin = 0;  // of the part within a row
  for (const std::size_t size : sizes) {
    Shape shape = x.shape();
    shape[at] = size;
    Array<T> part(shape);
    const std::size_t piece = size * inner;
    for (std::size_t o = 0; o < outer; ++o) {
      const T* const from = x.data() + o * extent * inner + begin;
      std::copy(from, from + piece, part.data() + o * piece);
    }
    begin += piece;
    parts.push_back(std::move(part));
  }
  return parts;
}

template <class T>
std::vector<Array<T>> split(const Array<T>& x, std::size_t parts, std::ptrdiff_t axis) {
  const std::size_t at = normalize_axis("split", axis, x.dimension());
  const std::size_t extent = x.shape()[at];
  if (parts == 0 || extent % parts != 0)
    fail<ShapeError>("split", "axis ", at, " of ", to_string(x.shape()), " does not split into ", parts,
                     " equal parts; pass their sizes");
  return xgrad::split(x, std::vector<std::size_t>(parts, extent / parts), axis);
}

#define XGRAD_INSTANTIATE(T)                                                          \
  template Array<T> concatenate(const std::vector<Array<T>>&, std::ptrdiff_t);        \
  template Array<T> concatenate(const std::vector<const Array<T>*>&, std::ptrdiff_t); \
  template Array<T> stack(const std::vector<Array<T>>&, std::ptrdiff_t);              \
  template Array<T> stack(const std::vector<const Array<T>*>&, std::ptrdiff_t);       \
  template std::vector<Array<T>> split(const Array<T>&, std::size_t, std::ptrdiff_t); \
  template std::vector<Array<T>> split(const Array<T>&, const std::vector<std::size_t>&, std::ptrdiff_t);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
XGRAD_INSTANTIATE(std::int64_t)

}  // namespace xgrad
