#include "reduction.hpp"

#include <limits>

#include "../kernels/shape.hpp"
#include "../record.hpp"
#include "pointwise.hpp"
#include "shape.hpp"
#include "weigh_inline.hpp"

namespace xgrad {

namespace {

/// What a reduction's derivative needs to know: the result's shape with reduced axes kept as 1, so that it broadcasts
/// against x, and how many numbers went into each result.
struct Reduced {
  Reduced(const char* who, const Shape& shape, const Axes& axes) : kept(shape) {
    for (const std::size_t axis : axes.resolve(who, shape.size())) {
      n *= shape[axis];
      kept[axis] = 1;
    }
  }

  template <class G>
  G spread(const G& g) const {
    return xgrad::reshape(g, Extents(kept));
  }

  Shape kept;
  std::size_t n = 1;
};

}  // namespace

template <class T>
Variable<T> sum(const Variable<T>& x, const Axes& axes, bool keep) {
  const Reduced r("sum", x.shape(), axes);
  return record<T>("sum", {x}, saves::nothing, xgrad::sum(x.value(), axes, keep),
                   [r](auto& b) { b.add(0, xgrad::broadcast_to(r.spread(b.grad()), b.shape(0))); });
}

template <class T>
Variable<T> mean(const Variable<T>& x, const Axes& axes, bool keep) {
  const Reduced r("mean", x.shape(), axes);
  return record<T>("mean", {x}, saves::nothing, xgrad::mean(x.value(), axes, keep),
                   [r](auto& b) { b.add(0, xgrad::broadcast_to(r.spread(b.grad()) / T(r.n), b.shape(0))); });
}

template <class T>
Variable<T> variance(const Variable<T>& x, const Axes& axes, bool keep, std::size_t ddof) {
  const Reduced r("variance", x.shape(), axes);
  return record<T>("variance", {x}, saves::inputs, xgrad::variance(x.value(), axes, keep, ddof),
                   [r, axes, ddof](auto& b) {
                     const auto g = xgrad::mul(r.spread(b.grad()), T(2) / T(r.n - ddof));
                     b.add(0, xgrad::mul(detail::centred(b.input(0), axes), g));
                   });
}

template <class T>
Variable<T> stddev(const Variable<T>& x, const Axes& axes, bool keep, std::size_t ddof) {
  const Reduced r("stddev", x.shape(), axes);
  return record<T>("stddev", {x}, saves::all, xgrad::stddev(x.value(), axes, keep, ddof), [r, axes, ddof](auto& b) {
    const auto slope = detail::over(detail::centred(b.input(0), axes), r.spread(b.output()));
    b.add(0, xgrad::mul(slope, r.spread(b.grad()) / T(r.n - ddof)));
  });
}

namespace {

/// g goes to the numbers that equal the result, in equal shares.
template <class T>
Variable<T> extreme(const char* name, const Variable<T>& x, Array<T> value, const Axes& axes) {
  const Reduced r(name, x.shape(), axes);
  return record<T>(name, {x}, saves::all, std::move(value), [r, axes](auto& b) {
    const Array<T> best = xgrad::reshape(detail::array_of(b.output()), Extents(r.kept));
    const Array<T> chosen = detail::binary("backward", detail::array_of(b.input(0)), best,
                                           [](T v, T y) { return T(v == y || (v != v && y != y)); });
    const auto g = xgrad::div(r.spread(b.grad()), xgrad::sum(chosen, axes, keep_dims));
    b.add(0, xgrad::where(chosen, g, T(0)));
  });
}

}  // namespace

template <class T>
Variable<T> amax(const Variable<T>& x, const Axes& axes, bool keep) {
  return extreme("amax", x, xgrad::amax(x.value(), axes, keep), axes);
}

template <class T>
Variable<T> amin(const Variable<T>& x, const Axes& axes, bool keep) {
  return extreme("amin", x, xgrad::amin(x.value(), axes, keep), axes);
}

namespace {

template <class T>
Array<T> euclidean(const Array<T>& x, const Axes& axes, bool keep) {
  const Array<T> total = xgrad::sum(xgrad::square(x), axes, keep);
  // Squares vanish or lose digits below this, and overflow above the largest number.
  const T low = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  bool safe = true;
  for (std::size_t i = 0; i < total.size(); ++i)
    safe = safe && total.data()[i] >= low && total.data()[i] <= std::numeric_limits<T>::max();
  if (safe || x.size() == 0) return xgrad::sqrt(total);
  const Array<T> largest = xgrad::amax(xgrad::abs(x), axes, keep_dims);
  const Array<T> unit =
      detail::map(largest, [](T m) { return m > T(0) && m <= std::numeric_limits<T>::max() ? m : T(1); });
  const Array<T> scaled = xgrad::sqrt(xgrad::sum(xgrad::square(xgrad::div(x, unit)), axes, keep));
  return xgrad::mul(scaled, xgrad::reshape(unit, Extents(scaled.shape())));
}

}  // namespace

template <class T>
Variable<T> norm(const Variable<T>& x, const Axes& axes, bool keep) {
  const Reduced r("norm", x.shape(), axes);
  return record<T>("norm", {x}, saves::all, euclidean(x.value(), axes, keep),
                   [r](auto& b) {  // x / y is at most 1; g / y may be infinite
                     b.add(0, xgrad::mul(detail::over(b.input(0), r.spread(b.output())), r.spread(b.grad())));
                   });
}

template <class T>
Variable<T> logsumexp(const Variable<T>& x, const Axes& axes, bool keep) {
  const Reduced r("logsumexp", x.shape(), axes);
  return record<T>("logsumexp", {x}, saves::all, xgrad::logsumexp(x.value(), axes, keep), [r, axes](auto& b) {
    // exp(x - y) is divided by its sum, 1 but for the rounding of y: near y = 1000 that is 3e-5 in float. Where all x
    // are -inf so is y: exp(x - 0) and its sum are 0 there, while x - y is NaN.
    const auto& output = b.output();
    const auto& y = detail::array_of(output);
    const auto level = r.spread(xgrad::where(xgrad::equal(y, -std::numeric_limits<T>::infinity()), T(0), y));
    const auto e = xgrad::exp(xgrad::sub(b.input(0), level));
    b.add(0, xgrad::mul(e, detail::over(r.spread(b.grad()), xgrad::sum(e, axes, keep_dims))));
  });
}

namespace {

template <class T>
const Array<T>& without_derivative(const char* who, const Variable<T>& x) {
  if (detail::tracks<T>(who, {x}))
    fail<GraphError>(who, "has no derivative but its input requires a gradient; pass detach() of it");
  return x.value();
}

}  // namespace

template <class T>
Index argmax(const Variable<T>& x, std::ptrdiff_t axis, bool keep) {
  return xgrad::argmax(without_derivative("argmax", x), axis, keep);
}

template <class T>
Index argmin(const Variable<T>& x, std::ptrdiff_t axis, bool keep) {
  return xgrad::argmin(without_derivative("argmin", x), axis, keep);
}

#define XGRAD_INSTANTIATE(T)                                                         \
  template Variable<T> sum(const Variable<T>&, const Axes&, bool);                   \
  template Variable<T> mean(const Variable<T>&, const Axes&, bool);                  \
  template Variable<T> variance(const Variable<T>&, const Axes&, bool, std::size_t); \
  template Variable<T> stddev(const Variable<T>&, const Axes&, bool, std::size_t);   \
  template Variable<T> amax(const Variable<T>&, const Axes&, bool);                  \
  template Variable<T> amin(const Variable<T>&, const Axes&, bool);                  \
  template Variable<T> norm(const Variable<T>&, const Axes&, bool);                  \
  template Variable<T> logsumexp(const Variable<T>&, const Axes&, bool);             \
  template Index argmax(const Variable<T>&, std::ptrdiff_t, bool);                   \
  template Index argmin(const Variable<T>&, std::ptrdiff_t, bool);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
