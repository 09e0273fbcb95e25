// Walks over several arrays at once, each with its own strides. Internal to the kernels.
#pragma once

#include <array>

#include "../array.hpp"

namespace xgrad::detail {

/// A loop nest over N arrays. Axes are pushed from the outermost in; neighbours that every array crosses evenly are
/// joined, so that equal shapes become one row, and a row vector against a matrix two axes.
template <std::size_t N>
class Walk {
 public:
  using Offsets = std::array<std::ptrdiff_t, N>;

  void push(std::size_t extent, const Offsets& stride) {
    if (extent == 1) return;
    if (extent == 0) empty_ = true;
    if (!axes_.empty() && joins(axes_.back(), extent, stride)) {
      axes_.back().extent *= extent;
      axes_.back().stride = stride;
    } else {
      axes_.push_back({extent, stride});
    }
  }

  /// Calls row(offsets, n, strides) for each run of the innermost axis, in row-major order.
  template <class F>
  void each_row(F row, Offsets at = {}) const {
    if (empty_) return;
    if (axes_.empty()) return row(at, std::size_t(1), Offsets{});
    const std::size_t outer = axes_.size() - 1;
    const Axis inner = axes_[outer];
    xt::svector<std::size_t, 8> count(outer, 0);
    for (;;) {
      row(at, inner.extent, inner.stride);
      std::size_t axis = outer;
      for (;;) {  // step the odometer
        if (axis-- == 0) return;
        const Axis& a = axes_[axis];
        if (++count[axis] < a.extent) {
          for (std::size_t k = 0; k < N; ++k) at[k] += a.stride[k];
          break;
        }
        count[axis] = 0;
        for (std::size_t k = 0; k < N; ++k) at[k] -= static_cast<std::ptrdiff_t>(a.extent - 1) * a.stride[k];
      }
    }
  }

 private:
  struct Axis {
    std::size_t extent = 1;
    Offsets stride{};
  };

  static bool joins(const Axis& outer, std::size_t extent, const Offsets& stride) {
    for (std::size_t k = 0; k < N; ++k)
      if (outer.stride[k] != static_cast<std::ptrdiff_t>(extent) * stride[k]) return false;
    return true;
  }

  xt::svector<Axis, 8> axes_;
  bool empty_ = false;
};

/// `shape` with one more axis, which becomes axis `at`. (By hand: svector::insert trips g++'s -Warray-bounds.)
inline Shape with_axis(const Shape& shape, std::size_t at, std::size_t extent) {
  Shape result;
  for (std::size_t i = 0; i <= shape.size(); ++i) {
    if (i == at) result.push_back(extent);
    if (i < shape.size()) result.push_back(shape[i]);
  }
  return result;
}

/// Row-major strides of a contiguous array.
inline xt::svector<std::ptrdiff_t, 4> contiguous_strides(const Shape& shape) {
  xt::svector<std::ptrdiff_t, 4> strides(shape.size());
  std::ptrdiff_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= static_cast<std::ptrdiff_t>(shape[i]);
  }
  return strides;
}

/// Strides that read an array of `shape` as if it had shape `to`: 0 along the axes it is repeated over.
inline xt::svector<std::ptrdiff_t, 4> broadcast_strides(const Shape& shape, const Shape& to) {
  xt::svector<std::ptrdiff_t, 4> strides(to.size(), 0);
  const std::size_t lead = to.size() - shape.size();
  std::ptrdiff_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1) strides[lead + i] = step;
    step *= static_cast<std::ptrdiff_t>(shape[i]);
  }
  return strides;
}

/// A walk over arrays of the given shapes, each broadcast to `to`.
template <class... Shapes>
Walk<sizeof...(Shapes)> broadcast_walk(const Shape& to, const Shapes&... shapes) {
  const std::array<xt::svector<std::ptrdiff_t, 4>, sizeof...(Shapes)> strides{broadcast_strides(shapes, to)...};
  Walk<sizeof...(Shapes)> walk;
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::array<std::ptrdiff_t, sizeof...(Shapes)> stride;
    for (std::size_t k = 0; k < stride.size(); ++k) stride[k] = strides[k][i];
    walk.push(to[i], stride);
  }
  return walk;
}

}  // namespace xgrad::detail
