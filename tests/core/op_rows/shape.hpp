// Rows of the op table: shapes, parts and rows.
#pragma once

#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/ops/shape.hpp>

namespace optable {

template <class F>
Row shape_row(std::string name, std::vector<Shapes> variants, F f) {
  return row(std::move(name), {Domain::any}, std::move(variants), [f](const auto& v) { return f(v[0]); });
}

inline std::vector<Row> shape_rows() {
  using xgrad::all;
  using xgrad::range;
  const xgrad::Index repeated = xgrad::from(std::vector<std::int64_t>{0, 4, 2, 2, 4, 2}, {2, 3});
  return {
      shape_row("reshape", {{{2, 3, 5}}, {{1, 1, 5}}, {{0, 5}}},
                [](const auto& x) {
                  return xgrad::reshape(x, {5, -1});
                }),
      shape_row("reshape_to_0d", {{{1, 1}}}, [](const auto& x) { return xgrad::reshape(x, {}); }),
      shape_row("transpose", {{{2, 3, 5}}, {{3, 2}}, {{4}}, {{}}, {{0, 3}}},
                [](const auto& x) { return xgrad::transpose(x); }),
      shape_row("permute", {{{2, 3, 5}}, {{0, 3, 2}}},
                [](const auto& x) {
                  return xgrad::permute(x, {1, 2, 0});
                }),
      shape_row("permute_negative", {{{2, 3, 5}}},
                [](const auto& x) {
                  return xgrad::permute(x, {-1, 0, -2});
                }),
      shape_row("expand_dims_0", {{{2, 3}}, {{}}, {{0}}}, [](const auto& x) { return xgrad::expand_dims(x, 0); }),
      shape_row("expand_dims_last", {{{2, 3}}, {{}}}, [](const auto& x) { return xgrad::expand_dims(x, -1); }),
      shape_row("squeeze", {{{1, 3, 1}}, {{1}}, {{0, 1}}}, [](const auto& x) { return xgrad::squeeze(x); }),
      shape_row("squeeze_axis", {{{1, 3, 1}}}, [](const auto& x) { return xgrad::squeeze(x, -1); }),
      shape_row("broadcast_to", {{{3, 1}}, {{5}}, {{}}, {{1, 1}}},
                [](const auto& x) {
                  return xgrad::broadcast_to(x, {2, 3, 5});
                }),
      shape_row("sum_to", {{{2, 3, 5}}},
                [](const auto& x) {
                  return xgrad::sum_to(x, {3, 1});
                }),
      shape_row("slice", {{{3, 5}}},
                [](const auto& x) {
                  return xgrad::slice(x, {range(1, 3), range(0, 5, 2)});
                }),
      shape_row("slice_index", {{{3, 5, 2}}},
                [](const auto& x) {
                  return xgrad::slice(x, {all(), -1});
                }),
      shape_row("slice_back", {{{5, 3}}}, [](const auto& x) { return xgrad::slice(x, {range(-1, 0, -2)}); }),
      shape_row("slice_empty", {{{5, 3}}}, [](const auto& x) { return xgrad::slice(x, {range(2, 2)}); }),
      shape_row("place", {{{3, 2}}},
                [](const auto& x) {
                  return xgrad::place(x, {all(), range(1, 5, 2)}, {3, 5});
                }),
      shape_row("take", {{{5, 2}}, {{5}}, {{5, 2, 3}}}, [repeated](const auto& x) { return xgrad::take(x, repeated); }),
      shape_row("take_none", {{{5, 2}}}, [](const auto& x) { return xgrad::take(x, xgrad::Index(Shape{0})); }),
      shape_row("place_rows", {{{2, 3, 2}}},
                [repeated](const auto& x) {
                  return xgrad::place_rows(x, repeated, {5, 2});
                }),
  };
}

}  // namespace optable
