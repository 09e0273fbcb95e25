#include "finite.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace xgrad::detail {

Shape index_of(std::size_t entry, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; entry /= shape[axis]) index[axis] = entry % shape[axis];
  return index;
}

template <class T>
bool all_finite(const Array<T>& a) {
  bool bad = false;  // no early end: the loop vectorises
  for (std::size_t i = 0; i < a.size(); ++i) bad |= !(std::abs(a.data()[i]) <= std::numeric_limits<T>::max());
  return !bad;
}

template <class T>
Survey<T>::Survey(const Array<T>& a, bool allow_negative_infinity) : size(a.size()), shape(a.shape()) {
  for (std::size_t i = 0; i < size; ++i) {
    const T x = a.data()[i];
    if (std::isfinite(x)) {
      low = finite == 0 ? x : std::min(low, x);
      high = finite == 0 ? x : std::max(high, x);
      ++finite;
      continue;
    }
    const bool negative_infinity = x < 0;
    if (negative_infinity && allow_negative_infinity) continue;
    if (bad++ == 0) first = i, worst = x;
    all_negative_infinity = all_negative_infinity && negative_infinity;
  }
}

template <class T>
std::string number_text(T x, int digits) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  detail::Text out;
  out.precision(digits);
  out << x;
  return out.str();
}

template <class T>
std::string first_bad(const Survey<T>& seen) {
  return number_text(seen.worst) + " at " + to_string(index_of(seen.first, seen.shape));
}

template <class T>
std::string first_non_finite(const Array<T>& a) {
  return first_bad(Survey<T>(a));
}

template <class T>
std::string range_text(const Survey<T>& seen) {
  if (seen.size == 0) return "empty";
  detail::Text out;
  if (seen.finite > 0) out << "from " << number_text(seen.low) << " to " << number_text(seen.high);
  if (seen.bad > 0 && seen.finite > 0) out << " but for ";
  if (seen.bad > 0)
    out << seen.bad << " of " << count_text(seen.size, "entry", "entries") << " not finite, the first "
        << first_bad(seen);
  return out.str();
}

#define XGRAD_INSTANTIATE(T)                              \
  template bool all_finite(const Array<T>&);              \
  template struct Survey<T>;                              \
  template std::string number_text(T, int);               \
  template std::string first_bad(const Survey<T>&);       \
  template std::string first_non_finite(const Array<T>&); \
  template std::string range_text(const Survey<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad::detail
