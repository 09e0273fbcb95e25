// The table of ops: one row per op and variant. ops.cpp runs every row; other tests read it too. A row's name is
// fixed: its inputs are drawn from a generator seeded by it, and results from elsewhere are filed under it.
#pragma once

#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>
#include <xgrad/core/random.hpp>
#include <xgrad/core/variable.hpp>

namespace optable {

using xgrad::Array;
using xgrad::Shape;
using xgrad::Variable;

template <class T>
using Function = std::function<Variable<T>(const std::vector<Variable<T>>&)>;

/// Where inputs are drawn from. All numbers are multiples of 1/1024, so exact in float.
enum class Domain {
  any,       ///< [-2, 2]
  positive,  ///< [0.5, 2.5]
  nonzero,   ///< [0.25, 2] of either sign
  lattice,   ///< different multiples of 1/4: no ties within an input
  between,   ///< those and 1/8: no ties with a lattice either
};

/// Shapes of the inputs of one call.
using Shapes = std::vector<Shape>;

struct Row {
  std::string name;
  std::vector<Domain> domains;   // of each input
  std::vector<Shapes> variants;  // the first is the row's own, for comparisons by name
  Function<double> f64;
  Function<float> f32;
  Function<double> twin;  // a plain composition with the same value, or empty

  template <class F>
  Row&& with_twin(F f) && {
    twin = f;
    return std::move(*this);
  }
};

inline void PrintTo(const Row& r, std::ostream* out) { *out << r.name; }  // for GoogleTest

/// A row from one generic function of a vector of Variables.
template <class F>
Row row(std::string name, std::vector<Domain> domains, std::vector<Shapes> variants, F f) {
  return {std::move(name), std::move(domains), std::move(variants), f, f, {}};
}

/// A row for a function of one Variable of any shape.
template <class F>
Row unary(std::string name, Domain domain, F f) {
  return row(std::move(name), {domain}, {{{2, 3, 5}}, {{1}}, {{}}, {{0, 3}}}, [f](const auto& v) { return f(v[0]); });
}

/// A row for a function of two Variables that broadcast.
template <class F>
Row binary(std::string name, Domain a, Domain b, F f) {
  return row(std::move(name), {a, b},
             {{{2, 3, 5}, {3, 1}},
              {{2, 3, 5}, {2, 3, 5}},
              {{5}, {2, 1, 5}},
              {{3, 1}, {1, 5}},
              {{}, {2, 3}},
              {{1}, {}},
              {{0, 3}, {1, 3}}},
             [f](const auto& v) { return f(v[0], v[1]); });
}

/// FNV-1a: the seed of a row, the same on every machine.
inline std::uint64_t seed_of(const std::string& name) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

inline Array<double> draw(xgrad::Rng& rng, Domain domain, const Shape& shape) {
  const std::size_t n = xgrad::element_count(shape);
  auto x = xgrad::empty<double>(shape);
  if (domain == Domain::lattice || domain == Domain::between) {
    const xgrad::Index order = rng.permutation(n);
    for (std::size_t i = 0; i < n; ++i)
      x.data()[i] = 0.25 * static_cast<double>(order.data()[i] - static_cast<std::int64_t>(n / 2)) +
                    (domain == Domain::between ? 0.125 : 0.0);
    return x;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double u = rng.uniform(), side = rng.uniform();
    double v = 4 * u - 2;
    if (domain == Domain::positive) v = 2 * u + 0.5;
    if (domain == Domain::nonzero) v = (1.75 * u + 0.25) * (side < 0.5 ? -1 : 1);
    x.data()[i] = std::round(v * 1024) / 1024;
  }
  return x;
}

/// The inputs of a row in one of its variants.
inline std::vector<Array<double>> inputs_of(const Row& r, std::size_t variant = 0) {
  xgrad::Rng rng(seed_of(r.name) + variant);
  std::vector<Array<double>> inputs;
  for (std::size_t i = 0; i < r.domains.size(); ++i) inputs.push_back(draw(rng, r.domains[i], r.variants[variant][i]));
  return inputs;
}

/// The gradient at the result that the row's gradients are taken with.
inline Array<double> cotangent_of(const Row& r, const Shape& result, std::size_t variant = 0) {
  xgrad::Rng rng(seed_of(r.name + "/cotangent") + variant);
  return draw(rng, Domain::nonzero, result);
}

template <class T>
std::vector<Variable<T>> variables(const std::vector<Array<double>>& arrays, bool requires_grad) {
  std::vector<Variable<T>> result;
  for (const Array<double>& a : arrays) result.emplace_back(xgrad::from<T>(a), requires_grad);
  return result;
}

/// The value and the gradients of one call.
template <class T>
struct Outcome {
  Array<T> value;
  std::vector<Array<T>> gradients;
};

template <class T>
Outcome<T> run(const Row& r, const Function<T>& f, std::size_t variant = 0) {
  const std::vector<Variable<T>> v = variables<T>(inputs_of(r, variant), true);
  const Variable<T> y = f(v);
  y.backward(xgrad::from<T>(cotangent_of(r, y.shape(), variant)));
  Outcome<T> result{y.value(), {}};
  for (const Variable<T>& x : v) result.gradients.push_back(x.has_grad() ? x.grad() : xgrad::zeros<T>(x.shape()));
  return result;
}

}  // namespace optable

#include "op_rows/combine.hpp"
#include "op_rows/pointwise.hpp"
#include "op_rows/reduce.hpp"
#include "op_rows/shape.hpp"

namespace optable {

/// All rows.
inline std::vector<Row> rows() {
  std::vector<Row> all;
  for (auto* part : {&pointwise_rows, &combine_rows, &reduce_rows, &shape_rows})
    for (Row& r : (*part)()) all.push_back(std::move(r));
  return all;
}

}  // namespace optable
