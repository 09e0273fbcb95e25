// Short forms for the tests of ops.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>
#include <xgrad/core/backward.hpp>
#include <xgrad/core/variable.hpp>

namespace opcheck {

using xgrad::Array;
using xgrad::Shape;
using V = xgrad::Variable<double>;

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double NaN = std::numeric_limits<double>::quiet_NaN();

inline Array<double> array(const std::vector<double>& data, const Shape& shape) { return xgrad::from(data, shape); }
inline Array<double> array(const std::vector<double>& data) { return xgrad::from(data, {data.size()}); }

/// A leaf.
inline V leaf(const std::vector<double>& data, const Shape& shape) { return {array(data, shape), true}; }
inline V leaf(const std::vector<double>& data) { return {array(data), true}; }

/// Compares shape and numbers: |got - want| <= abs + rel |want|; NaN equals NaN.
template <class A, class = std::enable_if_t<std::is_same_v<A, Array<double>>>>  // braces mean the vector below
void expect_array(const Array<double>& got, const A& want, double rel = 0, double abs = 0) {
  ASSERT_EQ(got.shape(), want.shape()) << xgrad::to_string(got.shape()) << " for " << xgrad::to_string(want.shape());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double a = got.data()[i], b = want.data()[i];
    if (a == b || (a != a && b != b)) continue;
    EXPECT_LE(std::abs(a - b), abs + rel * std::abs(b)) << "number " << i << " is " << a << ", not " << b;
  }
}
inline void expect_array(const Array<double>& got, const std::vector<double>& want, double rel = 0, double abs = 0) {
  expect_array(got, array(want, got.shape()), rel, abs);
}

/// The gradient of sum(g * y) at one leaf.
inline Array<double> gradient(const V& y, const V& x, const Array<double>& g) {
  return xgrad::grad({y}, {x}, {false, true}, {V(g)}).front().value();
}
inline Array<double> gradient(const V& y, const V& x) { return gradient(y, x, xgrad::ones<double>(y.shape())); }

/// Runs f, which must throw an Error whose text is exactly the one given.
template <class Error, class F>
void expect_error(F f, const std::string& text) {
  try {
    f();
    ADD_FAILURE() << "no error; expected " << text;
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()), text);
  }
}

}  // namespace opcheck
