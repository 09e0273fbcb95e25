// Rows of the op table: functions of several Variables, and matrix products.
#pragma once

#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/ops/join.hpp>
#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/ops/product.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/ops/select.hpp>
#include <xgrad/core/ops/shape.hpp>

namespace optable {

/// A matmul row; flags as given.
inline Row matmul_row(std::string name, std::vector<Shapes> variants, bool ta, bool tb) {
  return row(std::move(name), {Domain::any, Domain::any}, std::move(variants),
             [ta, tb](const auto& v) { return xgrad::matmul(v[0], v[1], ta, tb); });
}

inline std::vector<Row> combine_rows() {
  using D = Domain;
  const std::vector<Shapes> linear_shapes = {{{2, 3, 5}, {4, 5}, {4}}, {{3, 5}, {2, 5}, {2}}, {{5}, {2, 5}, {2}},
                                             {{1, 1}, {1, 1}, {1}},    {{0, 3}, {2, 3}, {2}}, {{3, 0}, {2, 0}, {2}},
                                             {{3, 2}, {0, 2}, {0}}};
  return {
      binary("add", D::any, D::any, [](const auto& a, const auto& b) { return a + b; }),
      binary("sub", D::any, D::any, [](const auto& a, const auto& b) { return a - b; }),
      binary("mul", D::any, D::any, [](const auto& a, const auto& b) { return a * b; }),
      binary("div", D::any, D::nonzero, [](const auto& a, const auto& b) { return a / b; }),
      binary("pow", D::positive, D::any, [](const auto& a, const auto& b) { return xgrad::pow(a, b); })
          .with_twin([](const auto& v) { return xgrad::exp(v[1] * xgrad::log(v[0])); }),
      binary("maximum", D::lattice, D::between, [](const auto& a, const auto& b) { return xgrad::maximum(a, b); })
          .with_twin([](const auto& v) { return xgrad::where(v[0] > v[1], v[0], v[1]); }),
      binary("minimum", D::lattice, D::between, [](const auto& a, const auto& b) { return xgrad::minimum(a, b); })
          .with_twin([](const auto& v) { return -xgrad::maximum(-v[0], -v[1]); }),
      binary("where", D::lattice, D::between,
             [](const auto& a, const auto& b) { return xgrad::where(a > -b, a * a, xgrad::sin(b)); }),
      binary("where_number", D::lattice, D::between,
             [](const auto& a, const auto& b) { return xgrad::where(a > b, a * b, 0.5); }),
      // The same Variable twice: both paths add up.
      unary("mul_self", D::any, [](const auto& x) { return x * x; }),
      unary("pow_self", D::positive, [](const auto& x) { return xgrad::pow(x, x); }),
      unary("maximum_self", D::any, [](const auto& x) { return xgrad::maximum(x, 0.5 * x + 5); }),
      matmul_row("matmul", {{{2, 3}, {3, 5}}, {{1, 1}, {1, 1}}, {{0, 3}, {3, 2}}, {{2, 0}, {0, 3}}, {{2, 3}, {3, 0}}},
                 false, false),
      matmul_row("matmul_ta", {{{3, 2}, {3, 5}}, {{0, 2}, {0, 3}}}, true, false),
      matmul_row("matmul_tb", {{{2, 3}, {5, 3}}, {{2, 0}, {3, 0}}}, false, true),
      matmul_row("matmul_ta_tb", {{{3, 2}, {5, 3}}}, true, true),
      matmul_row("matmul_batch",
                 {{{4, 2, 3}, {4, 3, 5}},
                  {{4, 1, 2, 3}, {2, 3, 5}},
                  {{1, 2, 3}, {4, 3, 5}},
                  {{4, 2, 3}, {1, 3, 5}},
                  {{0, 2, 3}, {0, 3, 5}},
                  {{2, 1, 2, 3}, {1, 4, 3, 2}}},
                 false, false),
      matmul_row("matmul_batch_ta", {{{4, 3, 2}, {4, 3, 5}}}, true, false),
      matmul_row("matmul_batch_tb", {{{4, 2, 3}, {4, 5, 3}}}, false, true),
      matmul_row("matmul_batch_ta_tb", {{{4, 3, 2}, {4, 5, 3}}}, true, true),
      matmul_row("matmul_weight", {{{4, 2, 3}, {3, 5}}, {{2, 2, 2, 3}, {3, 5}}, {{0, 2, 3}, {3, 5}}}, false, false),
      matmul_row("matmul_weight_ta", {{{4, 3, 2}, {3, 5}}}, true, false),
      matmul_row("matmul_weight_tb", {{{4, 2, 3}, {5, 3}}}, false, true),
      matmul_row("matmul_weight_ta_tb", {{{4, 3, 2}, {5, 3}}}, true, true),
      matmul_row("matmul_left", {{{2, 3}, {4, 3, 5}}, {{2, 3}, {2, 2, 3, 5}}, {{0, 3}, {4, 3, 5}}}, false, false),
      matmul_row("matmul_left_ta", {{{3, 2}, {4, 3, 5}}}, true, false),
      matmul_row("matmul_left_tb", {{{2, 3}, {4, 5, 3}}}, false, true),
      matmul_row("matmul_left_ta_tb", {{{3, 2}, {4, 5, 3}}}, true, true),
      matmul_row("matmul_vectors", {{{3}, {3}}, {{0}, {0}}, {{1}, {1}}}, false, false),
      matmul_row("matmul_row", {{{3}, {3, 5}}, {{3}, {4, 3, 5}}}, false, false),
      matmul_row("matmul_row_tb", {{{3}, {5, 3}}, {{3}, {4, 5, 3}}}, false, true),
      matmul_row("matmul_column", {{{2, 3}, {3}}, {{4, 2, 3}, {3}}}, false, false),
      matmul_row("matmul_column_ta", {{{3, 2}, {3}}, {{4, 3, 2}, {3}}}, true, false),
      row("linear", {D::any, D::any, D::any}, linear_shapes,
          [](const auto& v) { return xgrad::linear(v[0], v[1], v[2]); })
          .with_twin([](const auto& v) { return xgrad::matmul(v[0], xgrad::transpose(v[1])) + v[2]; }),
      row("linear_no_bias", {D::any, D::any}, {{{2, 3, 5}, {4, 5}}, {{5}, {2, 5}}, {{0, 3}, {2, 3}}},
          [](const auto& v) { return xgrad::linear(v[0], v[1]); })
          .with_twin([](const auto& v) { return xgrad::matmul(v[0], xgrad::transpose(v[1])); }),
      row("concatenate_0", {D::any, D::any, D::any}, {{{2, 3}, {1, 3}, {5, 3}}, {{2, 3}, {0, 3}, {1, 3}}},
          [](const auto& v) {
            return xgrad::concatenate({v[0], v[1], v[2]});
          }),
      row("concatenate_last", {D::any, D::any}, {{{2, 3, 5}, {2, 3, 2}}, {{1, 0}, {1, 0}}},
          [](const auto& v) {
            return xgrad::concatenate({v[0], v[1]}, -1);
          }),
      row("stack_0", {D::any, D::any}, {{{2, 3}, {2, 3}}, {{}, {}}, {{0}, {0}}},
          [](const auto& v) {
            return xgrad::stack({v[0], v[1]});
          }),
      row("stack_1", {D::any, D::any, D::any}, {{{2, 3}, {2, 3}, {2, 3}}},
          [](const auto& v) {
            return xgrad::stack({v[0], v[1], v[2]}, 1);
          }),
      row("stack_last", {D::any, D::any}, {{{2, 3}, {2, 3}}},
          [](const auto& v) {
            return xgrad::stack({v[0], v[1]}, -1);
          }),
      row("split_equal", {D::any}, {{{2, 6}}, {{0, 3}}},
          [](const auto& v) {
            const auto parts = xgrad::split(v[0], 3, -1);
            return parts[0] * parts[2] - xgrad::square(parts[1]);
          }),
      row("split_sizes", {D::any}, {{{5, 3}}},
          [](const auto& v) {
            const auto parts = xgrad::split(v[0], std::vector<std::size_t>{2, 0, 3});
            return xgrad::concatenate({parts[2] * parts[2], xgrad::sum(parts[0], 0, true) * parts[2], parts[1]});
          }),
  };
}

}  // namespace optable
