// What the kernel tests compare with: numbers read one by one at their index, in double.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>
#include <xgrad/core/array.hpp>

namespace reference {

using xgrad::Array;
using xgrad::Shape;
using Position = std::vector<std::size_t>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
class Typed : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
struct TypeNames {
  template <class T>
  static std::string GetName(int) {
    return sizeof(T) == sizeof(float) ? "float" : "double";
  }
};

/// Uniform numbers in [low, high).
template <class T>
Array<T> sample(const Shape& shape, unsigned seed, double low = -2, double high = 2) {
  std::mt19937_64 bits(seed);
  Array<T> a = xgrad::empty<T>(shape);
  for (std::size_t i = 0; i < a.size(); ++i)
    a.data()[i] = static_cast<T>(low + (high - low) * (static_cast<double>(bits() >> 11) / 9007199254740992.0));
  return a;
}

/// Calls f with every position in a shape, in row-major order.
template <class F>
void each(const Shape& shape, F f) {
  Position at(shape.size(), 0);
  for (std::size_t left = xgrad::element_count(shape); left > 0; --left) {
    f(at);
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (++at[i] < shape[i]) break;
      at[i] = 0;
    }
  }
}

/// The number at a position; an array of lower rank or extent 1 is read as if broadcast.
template <class T>
double at(const Array<T>& a, const Position& position) {
  std::size_t offset = 0;
  const std::size_t lead = position.size() - a.dimension();
  for (std::size_t i = 0; i < a.dimension(); ++i)
    offset = offset * a.shape()[i] + (a.shape()[i] == 1 ? 0 : position[lead + i]);
  return static_cast<double>(a.data()[offset]);
}

template <class T>
constexpr double unit() {
  return static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
}

/// Equal (NaN counts as equal to NaN, infinities to themselves) or within `rel` of the wanted number, or `abs`.
inline bool close(double got, double want, double rel, double abs = 0) {
  if (std::isnan(want)) return std::isnan(got);
  return got == want || std::abs(got - want) <= std::max(abs, rel * std::abs(want));
}

/// Checks every number of `got` against want(position).
template <class T, class F>
void expect_all(const Array<T>& got, const Shape& shape, F want, double rel, double abs = 0) {
  ASSERT_EQ(got.shape(), shape);
  each(shape, [&](const Position& p) {
    EXPECT_TRUE(close(at(got, p), want(p), rel, abs))
        << at(got, p) << " and not " << want(p) << " at " << ::testing::PrintToString(p);
  });
}

template <class T>
void expect_numbers(const Array<T>& got, const std::vector<double>& want, double rel, double abs = 0) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(close(static_cast<double>(got.data()[i]), want[i], rel, abs))
        << got.data()[i] << " and not " << want[i] << " at " << i;
}

/// The message of the Error that f throws.
template <class Error, class F>
std::string message(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no such error";
}

}  // namespace reference
