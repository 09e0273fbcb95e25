// Ops for tests of the checker: right ones, and whatever derivative a test plants.
#pragma once

#include <cmath>
#include <utility>

#include <xgrad/core/record.hpp>
#include <xgrad/core/variable.hpp>

namespace xgrad::planted {

using V = Variable<double>;

/// An op with the given value and derivative.
template <class F>
V op(const V& x, Array<double> value, F derivative) {
  return record<double>("planted", {x}, std::move(value), std::move(derivative));
}

template <class F>
Array<double> map(const V& x, F f) {
  Array<double> y = x.value();
  for (double& v : y) v = f(v);
  return y;
}

/// x^3 with `factor` x^2 for its derivative: right for 3.
inline V cube(const V& x, double factor = 3) {
  return op(x, map(x, [](double v) { return v * v * v; }),
            [factor](auto& b) { b.add(0, b.grad() * factor * b.input(0) * b.input(0)); });
}

/// f with the derivative df, number by number.
template <class F, class D>
V elementwise(const V& x, F f, D df) {
  return op(x, map(x, f), [df](ArrayBackward<double>& b) {
    Array<double> g = b.grad();
    for (std::size_t i = 0; i < g.size(); ++i) g.data()[i] *= df(b.input(0).data()[i]);
    b.add(0, std::move(g));
  });
}

inline V relu(const V& x) {
  return elementwise(
      x, [](double v) { return v > 0 ? v : 0; }, [](double v) { return v > 0 ? 1.0 : 0.0; });
}

inline V exp(const V& x) {
  return elementwise(
      x, [](double v) { return std::exp(v); }, [](double v) { return std::exp(v); });
}

}  // namespace xgrad::planted
