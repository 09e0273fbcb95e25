#include "array.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <ostream>

namespace xgrad {

std::string to_string(const Shape& shape) {
  detail::Text out;
  out << '(';
  for (std::size_t i = 0; i < shape.size(); ++i) out << (i ? ", " : "") << shape[i];
  out << (shape.size() == 1 ? ",)" : ")");
  return out.str();
}

std::size_t element_count(const Shape& shape) {
  std::ptrdiff_t n = 1;  // without extents of 0, since an empty array has strides too
  bool none = false;
  for (const std::size_t extent : shape) {
    none = none || extent == 0;
    if (__builtin_mul_overflow(n, std::max<std::size_t>(extent, 1), &n))
      fail<ShapeError>("element_count", "shape ", to_string(shape), " has more elements than can be counted");
  }
  return none ? 0 : static_cast<std::size_t>(n);
}

namespace {

using Unsigned = std::uint64_t;  // in which differences of whole numbers wrap around to what they are
constexpr Unsigned kTooMany = Unsigned{1} << 53;

/// How many numbers `arange` gives: kTooMany also when they cannot be counted.
template <class T>
Unsigned count_of(T start, T stop, T step) {
  if (step == T(0)) return kTooMany;
  if constexpr (std::is_integral_v<T>) {
    const bool up = step > 0;
    if (up ? start >= stop : start <= stop) return 0;
    const Unsigned from = static_cast<Unsigned>(start), to = static_cast<Unsigned>(stop),
                   by = static_cast<Unsigned>(step);
    const Unsigned span = up ? to - from : from - to, stride = up ? by : 0 - by;
    return std::min(span / stride + (span % stride != 0), kTooMany);
  } else {
    const double count =
        std::ceil((static_cast<double>(stop) - static_cast<double>(start)) / static_cast<double>(step));
    return !(std::abs(count) < 0x1p53) ? kTooMany : count > 0 ? static_cast<Unsigned>(count) : 0;
  }
}

}  // namespace

template <class T>
Array<T> arange(T start, T stop, T step) {
  const Unsigned count = count_of(start, stop, step);
  if (count == kTooMany)
    fail<std::invalid_argument>("arange",
                                "needs finite bounds, a step other than 0 and fewer than 2^53 numbers but got start ",
                                start, ", stop ", stop, ", step ", step);
  Array<T> result(Shape{static_cast<std::size_t>(count)});
  for (std::size_t i = 0; i < result.size(); ++i) {
    if constexpr (std::is_integral_v<T>)
      result.data()[i] = static_cast<T>(static_cast<Unsigned>(start) + i * static_cast<Unsigned>(step));
    else result.data()[i] = start + static_cast<T>(i) * step;
  }
  return result;
}

template <class T>
Array<T> linspace(T start, T stop, std::size_t count) {
  Array<T> result(Shape{count});
  T* const out = result.data();
  if (count > 0) out[0] = start;
  if (count < 2) return result;
  const std::size_t gaps = count - 1;
  if constexpr (std::is_integral_v<T>) {
    // From the lower end up, each gap adding whole + part / gaps.
    const bool up = start <= stop;
    Unsigned value = static_cast<Unsigned>(up ? start : stop), rest = 0;
    const Unsigned span = static_cast<Unsigned>(up ? stop : start) - value, whole = span / gaps, part = span % gaps;
    for (std::size_t i = 0; i < count; ++i) {
      out[up ? i : gaps - i] = static_cast<T>(value);
      rest += part;
      value += whole + (rest >= gaps ? 1 : 0);
      if (rest >= gaps) rest -= gaps;
    }
  } else {
    const double from = static_cast<double>(start), to = static_cast<double>(stop), n = static_cast<double>(gaps);
    const bool in_range = std::isfinite((to - from) * n);
    for (std::size_t i = 1; i < gaps; ++i) {
      const double at = static_cast<double>(i), share = at / n;
      out[i] = static_cast<T>(in_range ? from + (to - from) * at / n : from * (1 - share) + to * share);
    }
    out[gaps] = stop;
  }
  return result;
}

template <class T>
bool array_equal(const Array<T>& a, const Array<T>& b) {
  return a.shape() == b.shape() && std::equal(a.data(), a.data() + a.size(), b.data());
}

namespace {

constexpr std::size_t kEdge = 3;  // entries shown at either end of a long axis

template <class T>
void print_axis(std::ostream& out, const Array<T>& a, std::size_t axis, std::size_t offset) {
  if (axis == a.dimension()) {
    const T value = a.data()[offset];
    if (value == value) out << +value;
    else out << "nan";  // without the sign that some processors give it
    return;
  }
  const std::size_t n = a.shape()[axis];
  std::size_t stride = 1;
  for (std::size_t i = axis + 1; i < a.dimension(); ++i) stride *= a.shape()[i];
  const bool innermost = axis + 1 == a.dimension();
  const std::string separator = innermost ? ", " : ",\n" + std::string(axis + 1, ' ');
  out << '[';
  for (std::size_t i = 0; i < n; ++i) {
    if (i) out << separator;
    if (n > 2 * kEdge && i == kEdge) {
      out << "..." << separator;
      i = n - kEdge;
    }
    print_axis(out, a, axis + 1, offset + i * stride);
  }
  out << ']';
}

}  // namespace

template <class T>
void print(std::ostream& out, const Array<T>& a, int digits) {
  const auto precision = out.precision(digits);
  print_axis(out, a, 0, 0);
  out.precision(precision);
}

template <class T>
std::string to_string(const Array<T>& a, int digits) {
  detail::Text out;
  print(out, a, digits);
  return out.str();
}

std::size_t normalize_axis(const char* who, std::ptrdiff_t axis, std::size_t rank) {
  const auto n = static_cast<std::ptrdiff_t>(rank);
  if (axis < -n || axis >= n)
    fail<ShapeError>(who, "axis ", axis, " is outside an array with ", detail::count_text(rank, "axis", "axes"));
  return static_cast<std::size_t>(axis < 0 ? axis + n : axis);
}

Shape broadcast_shape(const char* who, const Shape& a, const Shape& b) {
  Shape result = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  const std::size_t lead = result.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::size_t& extent = result[lead + i];
    if (extent == 1) extent = shorter[i];
    else if (shorter[i] != 1 && shorter[i] != extent)
      fail<ShapeError>(who, "shapes ", to_string(a), " and ", to_string(b), " do not broadcast: axis ",
                       static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(shorter.size()), " is ",
                       a[a.size() - (shorter.size() - i)], " vs ", b[b.size() - (shorter.size() - i)]);
  }
  return result;
}

void check_shape(const char* who, const char* what, const Shape& want, const Shape& got) {
  if (!same_shape(want, got))
    fail<ShapeError>(who, what, " must have shape ", to_string(want), " but has shape ", to_string(got));
}

xt::svector<std::size_t, 4> Axes::resolve(const char* who, std::size_t rank) const {
  xt::svector<std::size_t, 4> result;
  if (all()) {
    for (std::size_t i = 0; i < rank; ++i) result.push_back(i);
    return result;
  }
  for (const std::ptrdiff_t axis : axes_) result.push_back(normalize_axis(who, axis, rank));
  std::sort(result.begin(), result.end());
  const auto twice = std::adjacent_find(result.begin(), result.end());
  if (twice != result.end()) fail<ShapeError>(who, "axis ", *twice, " is given twice");
  return result;
}

#define XGRAD_INSTANTIATE(T)                                   \
  template Array<T> arange(T, T, T);                           \
  template Array<T> linspace(T, T, std::size_t);               \
  template bool array_equal(const Array<T>&, const Array<T>&); \
  template void print(std::ostream&, const Array<T>&, int);    \
  template std::string to_string(const Array<T>&, int);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
XGRAD_INSTANTIATE(std::int64_t)

}  // namespace xgrad
