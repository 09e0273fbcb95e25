// What in an array is not finite, and where: for the messages of DetectAnomaly, GradGuard and gradient_norms.
#pragma once

#include <string>

#include "array.hpp"

namespace xgrad::detail {

/// The index tuple of an entry counted in row-major order.
Shape index_of(std::size_t entry, const Shape& shape);

/// True when no entry is NaN or infinite.
template <class T>
bool all_finite(const Array<T>& a);

/// One look at an array. `bad` entries are NaN or infinite; -inf is not bad when it is allowed.
template <class T>
struct Survey {
  explicit Survey(const Array<T>& a, bool allow_negative_infinity = false);

  std::size_t size;
  Shape shape;
  std::size_t bad = 0;
  std::size_t first = 0;              // the first bad one, counted in row-major order
  T worst = 0;                        // what stands there
  bool all_negative_infinity = true;  // of the bad ones
  std::size_t finite = 0;
  T low = 0, high = 0;  // of the finite ones
};

/// "NaN", "inf", "-inf", or the number with so many significant digits.
template <class T>
std::string number_text(T x, int digits = 6);

/// "NaN at (2, 3)": the first bad entry. There must be one.
template <class T>
std::string first_bad(const Survey<T>& seen);
/// The same of an array: the first entry that is not finite. There must be one.
template <class T>
std::string first_non_finite(const Array<T>& a);

/// "from -1 to 2.5", "from 0 to 1 but for 3 of 12 entries not finite, the first NaN at (0, 2)", "empty".
template <class T>
std::string range_text(const Survey<T>& seen);

}  // namespace xgrad::detail
