// Reductions over any set of axes.
#pragma once

#include <xgrad/core/kernels/reduce.hpp>
#include <xgrad/core/ops/reduction.hpp>

#include "joining.hpp"

namespace property {

/// The numbers of x that go into the result at p, in row-major order.
template <class T>
std::vector<double> group(const Array<T>& x, const std::vector<bool>& reduced, bool keep, const Position& p) {
  Shape extents;
  for (std::size_t i = 0; i < x.dimension(); ++i) extents.push_back(reduced[i] ? x.shape()[i] : 1);
  std::vector<double> numbers;
  each(extents, [&](Position q) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < q.size(); ++i) {
      if (!reduced[i]) q[i] = p[next++];
      else if (keep) ++next;
    }
    numbers.push_back(at(x, q));
  });
  return numbers;
}

inline double sum_of(const std::vector<double>& numbers) {
  long double sum = 0;
  for (const double v : numbers) sum += v;
  return static_cast<double>(sum);
}
inline double variance_of(const std::vector<double>& numbers, std::size_t ddof) {
  const double mean = sum_of(numbers) / static_cast<double>(numbers.size());
  long double sum = 0;
  for (const double v : numbers) sum += (v - mean) * (v - mean);
  return static_cast<double>(sum) / static_cast<double>(numbers.size() - ddof);
}
inline double extreme_of(const std::vector<double>& numbers, double sign) {
  double best = numbers[0];
  for (const double v : numbers)
    if (std::isnan(v) || sign * v > sign * best) best = v;
  for (const double v : numbers)
    if (std::isnan(v)) best = v;
  return best;
}
inline double logsumexp_of(const std::vector<double>& numbers) {
  if (numbers.empty()) return -HUGE_VAL;
  const double largest = extreme_of(numbers, 1);
  if (std::isinf(largest)) return largest;
  long double sum = 0;
  for (const double v : numbers) sum += std::exp(static_cast<long double>(v) - largest);
  return largest + static_cast<double>(std::log(sum));
}
inline double norm_of(const std::vector<double>& numbers) {
  long double sum = 0;
  for (const double v : numbers) sum += static_cast<long double>(v) * v;
  return static_cast<double>(std::sqrt(sum));
}

/// Random axes of x, and the result that a reduction over them has to give.
template <class T>
struct DrawnReduction {
  const Array<T>& x;
  DrawnAxes drawn;
  xgrad::Axes axes;
  bool keep;
  Shape shape;
  std::size_t n = 1;  // how many numbers go into one

  DrawnReduction(Draw& draw, const Array<T>& numbers)
      : x(numbers), drawn(draw, x.dimension()), axes(drawn.list), keep(draw.coin()) {
    for (std::size_t i = 0; i < x.dimension(); ++i) {
      if (drawn.chosen[i]) n *= x.shape()[i];
      if (!drawn.chosen[i]) shape.push_back(x.shape()[i]);
      else if (keep) shape.push_back(1);
    }
  }
  void check(const char* name, bool good, const std::function<Array<T>()>& op,
             const std::function<double(const std::vector<double>&)>& want, double rel, double abs = 0) const {
    property::check<T>(
        name + (" of " + xgrad::to_string(x) + " " + text(x.shape()) + " over " + text(drawn.list)),
        good && drawn.good ? std::optional<Shape>(shape) : std::nullopt, op,
        [&](const Position& p) { return want(group(x, drawn.chosen, keep, p)); }, rel, abs);
  }
};

template <class T>
void reductions(Draw& draw) {
  with_source<T>(draw, draw.shape(), false, [&](const Array<T>& x, const auto& e) {
    const DrawnReduction<T> r(draw, x);
    const std::size_t ddof = draw.below(3);
    const double few = 8 * reference::unit<T>();
    r.check(
        "sum", true, [&] { return xgrad::sum(e, r.axes, r.keep); }, sum_of, few);
    r.check(
        "mean", r.n > 0, [&] { return xgrad::mean(e, r.axes, r.keep); },
        [](const auto& v) { return sum_of(v) / static_cast<double>(v.size()); }, few);
    const auto variance = [&](const auto& v) { return variance_of(v, ddof); };
    const bool enough = r.n > ddof;
    r.check(
        "variance", enough, [&] { return xgrad::variance(e, r.axes, r.keep, ddof); }, variance, few, few);
    r.check(
        "stddev", enough, [&] { return xgrad::stddev(xgrad::Variable<T>(e), r.axes, r.keep, ddof).value(); },
        [&](const auto& v) { return std::sqrt(variance(v)); }, few, few);
  });
}

/// Those with a meaning for every number: nan, infinities and the largest ones are among them.
template <class T>
void special_reductions(Draw& draw) {
  with_source<T>(draw, draw.shape(), true, [&](const Array<T>& x, const auto& e) {
    const DrawnReduction<T> r(draw, x);
    const double few = 16 * reference::unit<T>();
    const auto largest = [](const auto& v) { return extreme_of(v, 1); };
    const auto smallest = [](const auto& v) { return extreme_of(v, -1); };
    r.check(
        "amax", r.n > 0, [&] { return xgrad::amax(e, r.axes, r.keep); }, largest, few);
    r.check(
        "amin", r.n > 0, [&] { return xgrad::amin(e, r.axes, r.keep); }, smallest, few);
    r.check(
        "logsumexp", true, [&] { return xgrad::logsumexp(e, r.axes, r.keep); }, logsumexp_of, few, few);
    r.check(
        "norm", true, [&] { return xgrad::norm(xgrad::Variable<T>(e), r.axes, r.keep).value(); }, norm_of, few);
  });
}

template <class T>
void argmax(Draw& draw) {
  with_source<T>(draw, draw.shape(), true, [&](const Array<T>& x, const auto& e) {
    const std::ptrdiff_t axis = draw.axis(x.dimension());
    const auto a = resolved(axis, x.dimension());
    const bool keep = draw.coin();
    std::vector<bool> reduced(x.dimension(), false);
    Shape shape = x.shape();
    if (a) {
      reduced[*a] = true;
      shape[*a] = 1;
      if (!keep) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*a));
    }
    const bool good = a && x.shape()[*a] > 0;
    for (const double sign : {1.0, -1.0})
      check<std::int64_t>(
          (sign > 0 ? "argmax of " : "argmin of ") + xgrad::to_string(x) + " along " + std::to_string(axis),
          good ? std::optional<Shape>(shape) : std::nullopt,
          [&] { return sign > 0 ? xgrad::argmax(e, axis, keep) : xgrad::argmin(e, axis, keep); },
          [&](const Position& p) {
            const auto numbers = group(x, reduced, keep, p);
            const double best = extreme_of(numbers, sign);
            std::size_t i = 0;
            while (!(numbers[i] == best || (std::isnan(numbers[i]) && std::isnan(best)))) ++i;
            return static_cast<double>(i);
          });
  });
}

}  // namespace property
