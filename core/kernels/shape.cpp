#include "shape.hpp"

#include <algorithm>

#include "strides_inline.hpp"

namespace xgrad {

namespace {

template <class T>
Array<T> with_shape(const Array<T>& x, const Shape& shape) {
  Array<T> result(shape);
  std::copy(x.data(), x.data() + x.size(), result.data());
  return result;
}

std::string to_text(const Extents& list) {
  detail::Text out;
  out << '(';
  for (std::size_t i = 0; i < list.size(); ++i) out << (i ? ", " : "") << list[i];
  out << (list.size() == 1 ? ",)" : ")");
  return out.str();
}

struct Axis {
  std::size_t extent;
  std::ptrdiff_t from, to;  // strides in the source and in the result
};

// The axes of a permutation in the result's order, without those of extent 1 and with neighbours joined.
xt::svector<Axis, 8> joined_axes(const Shape& shape, const Shape& result, const xt::svector<std::size_t, 4>& order) {
  const auto from = detail::contiguous_strides(shape);
  const auto to = detail::contiguous_strides(result);
  xt::svector<Axis, 8> axes;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Axis axis{result[i], from[order[i]], to[i]};
    if (axis.extent == 1) continue;
    if (!axes.empty() && axes.back().from == axis.from * static_cast<std::ptrdiff_t>(axis.extent))
      axes.back() = {axes.back().extent * axis.extent, axis.from, axis.to};
    else axes.push_back(axis);
  }
  return axes;
}

// out[i * column.to + j] = in[i + j * row.from] in tiles, so that both sides stay in the cache.
template <class T>
void transpose_tiles(const T* in, T* out, const Axis& column, const Axis& row) {
  constexpr std::size_t tile = 16;
  for (std::size_t i0 = 0; i0 < column.extent; i0 += tile) {
    const std::size_t i1 = std::min(column.extent, i0 + tile);
    for (std::size_t j0 = 0; j0 < row.extent; j0 += tile) {
      const std::size_t j1 = std::min(row.extent, j0 + tile);
      for (std::size_t i = i0; i < i1; ++i)
        for (std::size_t j = j0; j < j1; ++j)
          out[static_cast<std::ptrdiff_t>(i) * column.to + static_cast<std::ptrdiff_t>(j)] =
              in[static_cast<std::ptrdiff_t>(i) + static_cast<std::ptrdiff_t>(j) * row.from];
    }
  }
}

template <class T>
void copy_permuted(const T* in, T* out, const xt::svector<Axis, 8>& axes) {
  if (axes.empty()) {
    *out = *in;
    return;
  }
  // The source runs along `column`, the result along `row`; when they are one axis, whole rows are copied.
  const Axis row = axes.back();
  std::size_t c = 0;
  while (axes[c].from != 1) ++c;
  const Axis column = axes[c];
  detail::Walk<2> rest;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i)
    if (i != c) rest.push(axes[i].extent, {axes[i].from, axes[i].to});
  rest.each_row([&](const auto& at, std::size_t n, const auto& step) {
    const T* source = in + at[0];
    T* target = out + at[1];
    for (std::size_t k = 0; k < n; ++k, source += step[0], target += step[1]) {
      if (row.from == 1) std::copy(source, source + row.extent, target);
      else transpose_tiles(source, target, column, row);
    }
  });
}

}  // namespace

Shape reshaped(const Shape& from, const Extents& to) {
  Shape result;
  std::size_t open = to.size();
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == -1 && open == to.size()) {
      open = i;
    } else if (to[i] < 0) {
      fail<ShapeError>("reshape", "extents must be at least 0, and one may be -1, but got ", to_text(to));
    }
    result.push_back(open == i ? 1 : static_cast<std::size_t>(to[i]));
  }
  const std::size_t count = element_count(from), known = element_count(result);
  if (open < to.size()) {
    result[open] = known == 0 ? 0 : count / known;
    if (known == 0)
      fail<ShapeError>("reshape", "the extent -1 in ", to_text(to), " is not determined beside an extent of 0");
  }
  if (element_count(result) != count)
    fail<ShapeError>("reshape", "shape ", to_string(from), " holds ", count, " numbers and does not fit ", to_text(to));
  return result;
}

template <class T>
Array<T> reshape(const Array<T>& x, const Extents& shape) {
  return with_shape(x, reshaped(x.shape(), shape));
}

template <class T>
Array<T> transpose(const Array<T>& x) {
  std::vector<std::size_t> order(x.dimension());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  return xgrad::permute(x, AxisOrder(order));
}

template <class T>
Array<T> permute(const Array<T>& x, const AxisOrder& order) {
  const std::size_t rank = x.dimension();
  if (order.size() != rank)
    fail<ShapeError>("permute", "the order must name each axis of ", to_string(x.shape()), " once but is ",
                     to_text(order));
  xt::svector<std::size_t, 4> from;
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = normalize_axis("permute", order[i], rank);
    if (std::find(from.begin(), from.end(), axis) != from.end())
      fail<ShapeError>("permute", "the order ", to_text(order), " names axis ", axis, " twice");
    from.push_back(axis);
    shape.push_back(x.shape()[axis]);
  }
  Array<T> result(shape);
  if (result.size() > 0) copy_permuted(x.data(), result.data(), joined_axes(x.shape(), shape, from));
  return result;
}

template <class T>
Array<T> expand_dims(const Array<T>& x, std::ptrdiff_t axis) {
  const std::size_t at = normalize_axis("expand_dims", axis, x.dimension() + 1);
  return with_shape(x, detail::with_axis(x.shape(), at, 1));
}

template <class T>
Array<T> squeeze(const Array<T>& x, const Axes& axes) {
  const auto dropped = axes.resolve("squeeze", x.dimension());
  Shape shape;
  for (std::size_t i = 0; i < x.dimension(); ++i) {
    const std::size_t extent = x.shape()[i];
    const bool named = !axes.all() && std::find(dropped.begin(), dropped.end(), i) != dropped.end();
    if (named && extent != 1)
      fail<ShapeError>("squeeze", "axis ", i, " of ", to_string(x.shape()),
                       " must have extent 1 to be dropped but has ", extent);
    if (!named && !(axes.all() && extent == 1)) shape.push_back(extent);
  }
  return with_shape(x, shape);
}

#define XGRAD_INSTANTIATE(T)                                      \
  template Array<T> reshape(const Array<T>&, const Extents&);     \
  template Array<T> transpose(const Array<T>&);                   \
  template Array<T> permute(const Array<T>&, const AxisOrder&);   \
  template Array<T> expand_dims(const Array<T>&, std::ptrdiff_t); \
  template Array<T> squeeze(const Array<T>&, const Axes&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
XGRAD_INSTANTIATE(std::int64_t)

}  // namespace xgrad
