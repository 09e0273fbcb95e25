#include "reduce.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "broadcast_inline.hpp"
#include "columns_inline.hpp"
#include "reduce_inline.hpp"

namespace xgrad {

using detail::extreme_of_row;
using detail::kColumns;
using detail::Largest;
using detail::Reduction;
using detail::Smallest;

namespace {

template <class T>
void refuse_empty(const char* who, const Reduction<T>& r, const Array<T>& x) {
  if (r.n == 0)
    fail<ShapeError>(who, "needs at least one number but runs over an empty extent of ", to_string(x.shape()));
}

// From this many numbers on, sums run in vector code and threads.
constexpr std::size_t kMany = 4096;
// Longer rows and columns are added pairwise, to keep their digits.
constexpr std::size_t kLong = 65536;
constexpr double kSumCost = 0.25;  // of a number, in nanoseconds

// The large sums: of everything, of rows, or of the columns of one matrix.
template <class T>
Array<T> large_sum(const Reduction<T>& r, double divisor) {
  Array<T> result(r.shape);
  T* const out = result.data();
  const T* const x = r.data;
  const std::size_t n = r.n, width = r.inner;
  if (r.outer == 1 && width == 1) {
    const auto term = [=](std::size_t i) XGRAD_INLINE { return static_cast<double>(x[i]); };
    out[0] = static_cast<T>(detail::parallel_sum<double>(n, kSumCost, term) / divisor);
  } else if (width == 1) {
    const double cost = kSumCost * static_cast<double>(n);
    detail::parallel(r.outer, 1, cost, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
      for (std::size_t o = begin; o < end; ++o) {
        const T* const row = x + o * n;
        const auto term = [=](std::size_t i) XGRAD_INLINE { return static_cast<double>(row[i]); };
        out[o] = static_cast<T>(detail::lane_sum<double>(n, term) / divisor);
      }
    });
  } else {
    std::vector<double, memory::Allocator<double>> total(width);
    const std::array<double*, 1> to{total.data()};
    detail::each_row_with_sums(n, width, kSumCost, to, [=](std::size_t i, std::array<double*, 1> sums) XGRAD_INLINE {
      double* const sum = sums[0];
#pragma omp simd
      for (std::size_t j = 0; j < width; ++j) sum[j] += static_cast<double>(x[i * width + j]);
    });
    for (std::size_t j = 0; j < width; ++j) out[j] = static_cast<T>(total[j] / divisor);
  }
  return result;
}

// sum(x) / divisor: division by 1 is exact, so that sum and mean share their loops.
template <class T>
Array<T> sum_over(const Reduction<T>& r, double divisor) {
  const bool many = r.outer * r.n * r.inner >= kMany, all = r.outer == 1 && r.inner == 1;
  if (many && (all || (r.n <= kLong && (r.inner == 1 || r.outer == 1)))) return large_sum(r, divisor);
  return r.run(
      [&](const T* x) {
        return static_cast<T>(detail::sum_of(r.n, [x](std::size_t i) { return static_cast<double>(x[i]); }) / divisor);
      },
      [&](const T* x, std::size_t width, T* out) {
        double total[kColumns];
        detail::sum_columns(x, r.n, r.inner, width, total, [](T v, std::size_t) { return static_cast<double>(v); });
        for (std::size_t j = 0; j < width; ++j) out[j] = static_cast<T>(total[j] / divisor);
      });
}

template <class T, class Pick>
void extremes_of_columns(const T* x, std::size_t n, std::size_t stride, std::size_t width, T* out, Pick pick) {
  std::copy(x, x + width, out);
  for (std::size_t i = 1; i < n; ++i)
    for (std::size_t j = 0; j < width; ++j) out[j] = pick(out[j], x[i * stride + j]);
}

template <class T, class Pick>
Array<T> extreme(const char* who, const Array<T>& x, const Axes& axes, bool keep, Pick pick) {
  const Reduction<T> r(who, x, axes, keep);
  refuse_empty(who, r, x);
  return r.run(
      [&](const T* row) { return extreme_of_row(row, r.n, pick); },
      [&](const T* from, std::size_t width, T* out) { extremes_of_columns(from, r.n, r.inner, width, out, pick); });
}

template <class T, class Better>
Index position(const char* who, const Array<T>& x, std::ptrdiff_t axis, bool keep, Better better) {
  const Reduction<T> r(who, x, axis, keep);
  refuse_empty(who, r, x);
  Index result(r.shape);
  for (std::size_t o = 0; o < r.outer; ++o) {
    const T* from = r.data + o * r.n * r.inner;
    std::int64_t* best = result.data() + o * r.inner;
    std::fill(best, best + r.inner, 0);
    for (std::size_t i = 1; i < r.n; ++i)
      for (std::size_t j = 0; j < r.inner; ++j) {
        const T v = from[i * r.inner + j], held = from[static_cast<std::size_t>(best[j]) * r.inner + j];
        if (better(v, held) || (v != v && held == held)) best[j] = static_cast<std::int64_t>(i);
      }
  }
  return result;
}

}  // namespace

template <class T>
Array<T> sum(const Array<T>& x, const Axes& axes, bool keep) {
  return sum_over(Reduction<T>("sum", x, axes, keep), 1.0);
}

template <class T>
Array<T> mean(const Array<T>& x, const Axes& axes, bool keep) {
  const Reduction<T> r("mean", x, axes, keep);
  refuse_empty("mean", r, x);
  return sum_over(r, static_cast<double>(r.n));
}

namespace {

// What `finish(squares, mean, at)` makes of each sum of (x - mean)^2, at(i) being the i-th of its x, in double.
template <class T, class Finish>
Array<T> spread(const char* who, const Reduction<T>& r, std::size_t ddof, Finish finish) {
  if (r.n <= ddof) fail<ShapeError>(who, "with ddof ", ddof, " needs more than ", ddof, " numbers but got ", r.n);
  const double n = static_cast<double>(r.n);
  return r.run(
      [&](const T* row) {
        const auto at = [row](std::size_t i) { return static_cast<double>(row[i]); };
        const double m = detail::sum_of(r.n, at) / n;
        const auto squared = [at, m](std::size_t i) {
          const double d = at(i) - m;
          return d * d;
        };
        return static_cast<T>(finish(detail::sum_of(r.n, squared), m, at));
      },
      [&](const T* from, std::size_t width, T* out) {
        double m[kColumns], total[kColumns];
        detail::sum_columns(from, r.n, r.inner, width, m, [](T v, std::size_t) { return static_cast<double>(v); });
        for (std::size_t j = 0; j < width; ++j) m[j] /= n;
        const auto squared = [&m](T v, std::size_t j) {
          const double d = static_cast<double>(v) - m[j];
          return d * d;
        };
        detail::sum_columns(from, r.n, r.inner, width, total, squared);
        for (std::size_t j = 0; j < width; ++j)
          out[j] = static_cast<T>(
              finish(total[j], m[j], [&](std::size_t i) { return static_cast<double>(from[i * r.inner + j]); }));
      });
}

}  // namespace

template <class T>
Array<T> variance(const Array<T>& x, const Axes& axes, bool keep, std::size_t ddof) {
  const Reduction<T> r("variance", x, axes, keep);
  refuse_empty("variance", r, x);
  const double divisor = static_cast<double>(r.n - ddof);
  return spread("variance", r, ddof, [=](double squares, double, const auto&) { return squares / divisor; });
}

template <class T>
Array<T> stddev(const Array<T>& x, const Axes& axes, bool keep, std::size_t ddof) {
  const Reduction<T> r("stddev", x, axes, keep);
  refuse_empty("stddev", r, x);
  const double divisor = static_cast<double>(r.n - ddof);
  return spread("stddev", r, ddof, [&](double squares, double m, const auto& at) {
    std::size_t equal = 1;
    while (equal < r.n && at(equal) == at(0)) ++equal;
    if (equal == r.n) return 0.0;  // and not the rounding error of their mean
    return detail::root_of_squares(squares, divisor, [&](auto f) {
      for (std::size_t i = 0; i < r.n; ++i) f(at(i) - m);
    });
  });
}

template <class T>
Array<T> amax(const Array<T>& x, const Axes& axes, bool keep) {
  return extreme("amax", x, axes, keep, Largest());
}

template <class T>
Array<T> amin(const Array<T>& x, const Axes& axes, bool keep) {
  return extreme("amin", x, axes, keep, Smallest());
}

template <class T>
Array<T> logsumexp(const Array<T>& x, const Axes& axes, bool keep) {
  const Reduction<T> r("logsumexp", x, axes, keep);
  if (r.n == 0) return full<T>(r.shape, -std::numeric_limits<T>::infinity());
  // An infinite or NaN maximum is the result; subtracting it would make NaN of infinities.
  const auto result = [](T m, double total) { return std::isfinite(m) ? m + static_cast<T>(std::log(total)) : m; };
  return r.run(
      [&](const T* row) {
        const T m = extreme_of_row(row, r.n, Largest());
        const auto term = [row, m](std::size_t i) { return static_cast<double>(std::exp(row[i] - m)); };
        return result(m, detail::sum_of(r.n, term));
      },
      [&](const T* from, std::size_t width, T* out) {
        double total[kColumns];
        extremes_of_columns(from, r.n, r.inner, width, out, Largest());
        const auto term = [out](T v, std::size_t j) { return static_cast<double>(std::exp(v - out[j])); };
        detail::sum_columns(from, r.n, r.inner, width, total, term);
        for (std::size_t j = 0; j < width; ++j) out[j] = result(out[j], total[j]);
      });
}

template <class T>
Index argmax(const Array<T>& x, std::ptrdiff_t axis, bool keep) {
  return position("argmax", x, axis, keep, [](T v, T held) { return v > held; });
}

template <class T>
Index argmin(const Array<T>& x, std::ptrdiff_t axis, bool keep) {
  return position("argmin", x, axis, keep, [](T v, T held) { return v < held; });
}

template <class T>
Array<T> sum_to(const Array<T>& x, const Shape& shape) {
  if (same_shape(shape, x.shape())) return x;
  const std::size_t lead = x.dimension() - std::min(shape.size(), x.dimension());
  xt::svector<std::ptrdiff_t, 4> axes;  // no memory from the system: this runs in every step
  bool fits = shape.size() <= x.dimension();
  for (std::size_t i = 0; i < x.dimension() && fits; ++i) {
    if (i < lead || (shape[i - lead] == 1 && x.shape()[i] != 1)) axes.push_back(static_cast<std::ptrdiff_t>(i));
    else fits = shape[i - lead] == x.shape()[i];
  }
  if (!fits)
    fail<ShapeError>("sum_to", "shape ", to_string(x.shape()), " cannot be summed to ", to_string(shape),
                     ", which does not broadcast to it");
  Array<T> result = xgrad::sum(x, axes, true);
  result.reshape(shape);
  return result;
}

template <class T>
Array<T> broadcast_to(const Array<T>& x, const Shape& shape) {
  if (broadcast_shape("broadcast_to", x.shape(), shape) != shape)
    fail<ShapeError>("broadcast_to", "shape ", to_string(x.shape()), " does not broadcast to ", to_string(shape));
  Array<T> result = empty<T>(shape);
  T* out = result.data();
  detail::broadcast_walk(shape, x.shape()).each_row([&](const auto& at, std::size_t n, const auto& step) {
    const T* from = x.data() + at[0];
    if (step[0] == 1) std::copy(from, from + n, out);
    else std::fill(out, out + n, *from);
    out += n;
  });
  return result;
}

#define XGRAD_INSTANTIATE(T)                                                   \
  template Array<T> sum(const Array<T>&, const Axes&, bool);                   \
  template Array<T> mean(const Array<T>&, const Axes&, bool);                  \
  template Array<T> variance(const Array<T>&, const Axes&, bool, std::size_t); \
  template Array<T> stddev(const Array<T>&, const Axes&, bool, std::size_t);   \
  template Array<T> amax(const Array<T>&, const Axes&, bool);                  \
  template Array<T> amin(const Array<T>&, const Axes&, bool);                  \
  template Array<T> logsumexp(const Array<T>&, const Axes&, bool);             \
  template Index argmax(const Array<T>&, std::ptrdiff_t, bool);                \
  template Index argmin(const Array<T>&, std::ptrdiff_t, bool);                \
  template Array<T> sum_to(const Array<T>&, const Shape&);                     \
  template Array<T> broadcast_to(const Array<T>&, const Shape&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
