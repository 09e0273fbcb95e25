// Random calls of ops, each compared with a plain loop: `check(op, draw)` draws arguments, good and bad ones, and
// throws a Mismatch unless the op gives what the loop gives, or refuses what has to be refused by an error of ours.
//
// The properties are functions of a Draw alone, so that the tests run them from a seeded generator and the fuzzer in
// tests/long from bytes. The loops go number by number and share nothing with the library's kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>
#include <xgrad/core/array.hpp>

#include "core/kernels/reference.hpp"

namespace property {

using reference::at;
using reference::each;
using reference::Position;
using xgrad::Array;
using xgrad::Shape;

using Wide = __int128_t;  // holds every product of two integers

struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where arguments come from. 0 is the plainest choice: a fuzzer's bytes end in zeros.
class Draw {
 public:
  virtual ~Draw() = default;
  /// A number in [0, n), for n up to 2^16.
  virtual std::size_t below(std::size_t n) = 0;

  bool rarely() { return below(16) == 15; }
  bool coin() { return below(2) == 1; }

  Shape shape(std::size_t lowest_rank = 0) {
    const std::size_t rank = lowest_rank + (rarely() ? 5 : below(4));
    Shape result;
    for (std::size_t i = 0; i < rank; ++i) result.push_back(extent());
    if (rank > 0 && rank < 3 && rarely()) result[rank - 1] = 20 + below(60);  // beyond the width of vector code
    return result;
  }
  std::size_t extent() { return rarely() ? 0 : 1 + below(4); }

  /// An axis of an array with `rank` axes, now and then one outside.
  std::ptrdiff_t axis(std::size_t rank) {
    const auto n = static_cast<std::ptrdiff_t>(rank);
    if (rarely() || n == 0) return extreme(n);
    return static_cast<std::ptrdiff_t>(below(2 * rank)) - n;
  }
  /// An integer at or beyond the edge of [-n, n).
  std::ptrdiff_t extreme(std::ptrdiff_t n) {
    using Limits = std::numeric_limits<std::ptrdiff_t>;
    const std::ptrdiff_t edges[] = {n, -n - 1, n + 1, -n, 0, Limits::max(), Limits::min(), Limits::min() + 1};
    return edges[below(8)];
  }
  /// Mostly an integer within [-n - 1, n + 1].
  std::ptrdiff_t integer(std::size_t n) {
    if (rarely()) return extreme(static_cast<std::ptrdiff_t>(n));
    return static_cast<std::ptrdiff_t>(below(2 * n + 3)) - static_cast<std::ptrdiff_t>(n) - 1;
  }

  /// Mostly multiples of 1/4, of which sums and products are exact; special values where the caller wants them.
  template <class T>
  T number(bool special) {
    using Limits = std::numeric_limits<T>;
    if (special && below(8) == 7) {
      const T specials[] = {T(0),          -T(0),          Limits::infinity(),       -Limits::infinity(),
                            T(NAN),        Limits::min(),  Limits::denorm_min(),     -Limits::denorm_min(),
                            Limits::max(), -Limits::max(), T(1) + Limits::epsilon(), T(-1000)};
      return specials[below(12)];
    }
    return static_cast<T>(static_cast<double>(below(33)) / 4 - 4);
  }
  template <class T>
  Array<T> array(const Shape& shape, bool special = false) {
    Array<T> result(shape);
    special = special && coin();
    for (std::size_t i = 0; i < result.size(); ++i) result.data()[i] = number<T>(special);
    return result;
  }
};

inline std::string text(const Shape& shape) { return xgrad::to_string(shape); }
template <class T>
std::string text(const std::vector<T>& list) {
  std::ostringstream out;
  for (std::size_t i = 0; i < list.size(); ++i) out << (i ? ", " : "{") << list[i];
  return list.empty() ? "{}" : out.str() + "}";
}

/// The same number, to the sign of zero, or within `rel` of the wanted one (or `abs`).
inline bool agrees(double got, double want, double rel, double abs) {
  if (std::isnan(want)) return std::isnan(got);
  if (got == want) return rel > 0 || got != 0 || std::signbit(got) == std::signbit(want);
  return std::abs(got - want) <= std::max(abs, rel * std::abs(want));
}

/// What the number at a position has to be.
using Want = std::function<double(const Position&)>;

template <class T>
void compare(const std::string& call, const Array<T>& got, const Shape& shape, const Want& want, double rel = 0,
             double abs = 0) {
  if (got.shape() != shape) throw Mismatch(call + " has shape " + text(got.shape()) + " and not " + text(shape));
  each(shape, [&](const Position& p) {
    const double number = at(got, p);
    const auto wanted = static_cast<double>(static_cast<T>(want(p)));
    if (agrees(number, wanted, rel, abs)) return;
    std::ostringstream out;
    out.precision(17);
    out << call << " is " << number << " and not " << wanted << " at " << text(p);
    throw Mismatch(out.str());
  });
}

/// Runs op. Where `shape` is empty it has to refuse; else its result has that shape and the numbers want(position), to
/// `rel` or `abs`, or exactly.
template <class T>
void check(const std::string& call, const std::optional<Shape>& shape, const std::function<Array<T>()>& op,
           const Want& want, double rel = 0, double abs = 0) {
  Array<T> got;
  try {
    got = op();
  } catch (const std::invalid_argument& error) {  // ShapeError is one
    if (error.what()[0] != '[') throw Mismatch(call + " failed with a foreign error: " + error.what());
    if (shape) throw Mismatch(call + " was refused: " + error.what());
    return;
  } catch (const std::exception& error) {
    throw Mismatch(call + " failed with an error of another kind: " + error.what());
  }
  if (!shape) throw Mismatch(call + " was not refused but gave shape " + text(got.shape()));
  compare(call, got, *shape, want, rel, abs);
}

/// The axis counted from the front, or nothing when it is outside.
inline std::optional<std::size_t> resolved(std::ptrdiff_t axis, std::size_t rank) {
  const auto n = static_cast<std::ptrdiff_t>(rank);
  if (axis >= 0 && axis < n) return static_cast<std::size_t>(axis);
  if (axis < 0 && axis >= -n) return static_cast<std::size_t>(axis + n);
  return std::nullopt;
}

/// The shape that two broadcast to, or nothing.
inline std::optional<Shape> common_shape(const Shape& a, const Shape& b) {
  Shape result;
  for (std::size_t i = std::max(a.size(), b.size()); i > 0; --i) {
    const std::size_t x = a.size() >= i ? a[a.size() - i] : 1, y = b.size() >= i ? b[b.size() - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    result.push_back(x == 1 ? y : x);
  }
  return result;
}

/// A shape that mostly broadcasts with `shape`.
inline Shape partner(Draw& draw, const Shape& shape) {
  if (draw.rarely()) return draw.shape();
  Shape result;
  for (std::size_t i = draw.below(shape.size() + 1); i < shape.size(); ++i)
    result.push_back(draw.below(3) == 2 ? 1 : shape[i]);
  return result;
}

}  // namespace property
