// What LayerNorm and RMSNorm share: the rows they work on and the checks of options. Internal to layers.
#pragma once

#include <cmath>

#include "../core/ops/pointwise.hpp"
#include "../core/ops/reduction.hpp"
#include "last_axes.hpp"

namespace xgrad::detail {

/// An array as rows: its last `axes` axes make one row of `width` numbers.
struct Rows {
  std::size_t axes, width, count;
};

/// The rows of x: of the axes that `parameter` spans when it is defined, else of the last `axes` (0: one).
template <class T>
Rows rows_of(const char* who, const Variable<T>& x, const Variable<T>& parameter, std::size_t axes) {
  const Shape& shape = x.shape();
  if (parameter.defined()) {
    if (parameter.dimension() == 0) fail<ShapeError>(who, "gamma and beta must have the shape of a row but are 0-d");
    if (axes != 0 && axes != parameter.dimension())
      fail<ShapeError>(who, "a row must span ", axes, " axes but the parameter has shape ",
                       to_string(parameter.shape()));
    check_last_axes(who, parameter.shape(), shape);
    axes = parameter.dimension();
  } else if (axes == 0) {
    axes = 1;
  }
  if (shape.size() < axes)
    fail<ShapeError>(who, "a row spans the last ", axes, " axes but input is ", to_string(shape));
  std::size_t width = 1;
  for (std::size_t i = shape.size() - axes; i < shape.size(); ++i) width *= shape[i];
  if (width == 0) fail<ShapeError>(who, "needs at least one number a row but input is ", to_string(shape));
  return {axes, width, x.size() / width};
}

/// The last k axes, counted from the end.
inline Axes last_axes(std::size_t k) {
  std::vector<std::ptrdiff_t> axes;
  for (std::size_t i = 1; i <= k; ++i) axes.push_back(-static_cast<std::ptrdiff_t>(i));
  return axes;
}

// x / sqrt(mean(x^2) + eps) in plain ops. It does not change, nor does any derivative, when x and sqrt(eps) are
// divided by one number; by the largest of them, and no square leaves the range of T.
template <class T>
Variable<T> over_rms(const Variable<T>& x, double eps, const Axes& axes) {
  const T root = static_cast<T>(std::sqrt(eps));
  const Array<T> unit = xgrad::maximum(xgrad::amax(xgrad::abs(x.value()), axes, keep_dims), root);
  const Variable<T> u = x / unit, e = xgrad::square(xgrad::div(root, unit));
  return u * xgrad::rsqrt(xgrad::mean(xgrad::square(u), axes, keep_dims) + e);
}

inline void check_eps(const char* who, double eps) {
  if (!(eps > 0) || !std::isfinite(eps))
    fail<std::invalid_argument>(who, "eps must be finite and above 0 but is ", eps);
}

inline void check_row_shape(const char* who, const Shape& shape) {
  if (shape.empty() || element_count(shape) == 0)
    fail<std::invalid_argument>(who, "the shape of a row must have one axis or more, each at least 1, but is ",
                                to_string(shape));
}

}  // namespace xgrad::detail
