// Rows of the op table: reductions and softmax.
#pragma once

#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/ops/softmax.hpp>

namespace optable {

/// One function over all axes, one, several, and with kept axes: op(x, axes, keep).
template <class F>
void reduction_rows(std::vector<Row>& to, const std::string& name, Domain domain, bool of_nothing, F f) {
  std::vector<Shapes> whole = {{{2, 3, 5}}, {{1}}, {{}}};
  if (of_nothing) whole.push_back({{0, 3}});
  const auto add = [&](const std::string& suffix, std::vector<Shapes> variants, xgrad::Axes axes, bool keep) {
    to.push_back(row(name + suffix, {domain}, std::move(variants),
                     [f, axes, keep](const auto& v) { return f(v[0], axes, keep); }));
  };
  add("", whole, {}, false);
  add("_keep", {{{2, 3}}}, {}, true);
  add("_axis_0", {{{2, 3, 5}}, {{2, 0}}}, 0, false);
  add("_axis_1", {{{2, 3, 5}}, {{0, 3}}}, 1, false);
  add("_last_keep", {{{2, 3, 5}}, {{3, 1}}}, -1, true);
  add("_axes_0_2", {{{2, 3, 5}}}, {0, 2}, false);
  add("_axes_1_2_keep", {{{2, 3, 5}}}, {-1, 1}, true);
}

inline std::vector<Row> reduce_rows() {
  using D = Domain;
  using xgrad::Axes;
  std::vector<Row> rows;
  const auto last = [](const auto& x) { return xgrad::softmax(x); };
  const auto mask = [](const auto& x) {  // a lower triangle over the last two axes
    using T = typename std::decay_t<decltype(x)>::value_type;
    const std::size_t m = x.shape()[x.dimension() - 2], n = x.shape()[x.dimension() - 1];
    auto allowed = xgrad::zeros<T>({m, n});
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) allowed.data()[i * n + j] = static_cast<T>(j < i);  // row 0: nothing
    return allowed;
  };
  reduction_rows(rows, "sum", D::any, true, [](const auto& x, Axes a, bool k) { return xgrad::sum(x, a, k); });
  reduction_rows(rows, "mean", D::any, false, [](const auto& x, Axes a, bool k) { return xgrad::mean(x, a, k); });
  reduction_rows(rows, "amax", D::lattice, false, [](const auto& x, Axes a, bool k) { return xgrad::amax(x, a, k); });
  reduction_rows(rows, "amin", D::lattice, false, [](const auto& x, Axes a, bool k) { return xgrad::amin(x, a, k); });
  reduction_rows(rows, "norm", D::nonzero, true, [](const auto& x, Axes a, bool k) { return xgrad::norm(x, a, k); });
  reduction_rows(rows, "logsumexp", D::any, true,
                 [](const auto& x, Axes a, bool k) { return xgrad::logsumexp(x, a, k); });
  reduction_rows(rows, "variance", D::any, false,
                 [](const auto& x, Axes a, bool k) { return xgrad::variance(x, a, k); });
  const auto variance_twin = [](const auto& v) {
    return xgrad::mean(xgrad::square(v[0] - xgrad::mean(v[0], 1, true)), 1);
  };
  const auto sample_twin = [](const auto& v) {
    return xgrad::sum(xgrad::square(v[0] - xgrad::mean(v[0], 1, true)), 1) / 2;
  };
  rows.push_back(row("variance_twin", {D::any}, {{{2, 3, 5}}}, [](const auto& v) {
                   return xgrad::variance(v[0], 1);
                 }).with_twin(variance_twin));
  rows.push_back(row("variance_sample", {D::any}, {{{2, 3, 5}}}, [](const auto& v) {
                   return xgrad::variance(v[0], 1, false, 1);
                 }).with_twin(sample_twin));
  rows.push_back(row("stddev", {D::lattice}, {{{2, 3, 5}}}, [](const auto& v) { return xgrad::stddev(v[0]); }));
  rows.push_back(row("stddev_last_keep", {D::lattice}, {{{2, 3, 5}}, {{0, 2}}},
                     [](const auto& v) { return xgrad::stddev(v[0], -1, true); }));
  rows.push_back(row("stddev_axes_0_2", {D::lattice}, {{{2, 3, 5}}}, [](const auto& v) {
    return xgrad::stddev(v[0], {0, 2});
  }));
  rows.push_back(row("stddev_sample", {D::lattice}, {{{2, 3, 5}}}, [](const auto& v) {
                   return xgrad::stddev(v[0], 1, false, 1);
                 }).with_twin([sample_twin](const auto& v) { return xgrad::sqrt(sample_twin(v)); }));
  rows.push_back(row("norm_twin", {D::any}, {{{2, 3, 5}}}, [](const auto& v) {
                   return xgrad::norm(v[0], -1);
                 }).with_twin([](const auto& v) { return xgrad::sqrt(xgrad::sum(v[0] * v[0], -1)); }));
  rows.push_back(row("logsumexp_twin", {D::any}, {{{2, 3, 5}}}, [](const auto& v) {
                   return xgrad::logsumexp(v[0], {0, 1});
                 }).with_twin([](const auto& v) {
    return xgrad::log(xgrad::sum(xgrad::exp(v[0]), {0, 1}));
  }));
  const std::vector<Shapes> softmax_shapes = {{{2, 3, 5}}, {{1}}, {{0, 3}}, {{3, 0}}};
  rows.push_back(row("softmax", {D::any}, softmax_shapes, [last](const auto& v) {
                   return last(v[0]);
                 }).with_twin([](const auto& v) {
    const auto e = xgrad::exp(v[0]);
    return e / xgrad::sum(e, -1, true);
  }));
  rows.push_back(row("softmax_axis_0", {D::any}, {{{2, 3, 5}}}, [](const auto& v) { return xgrad::softmax(v[0], 0); }));
  rows.push_back(row("softmax_axis_1", {D::any}, {{{2, 3, 5}}}, [](const auto& v) { return xgrad::softmax(v[0], 1); }));
  rows.push_back(row("softmax_masked", {D::any}, {{{3, 5}}, {{2, 3, 3}}}, [mask](const auto& v) {
                   return xgrad::softmax(v[0], mask(v[0]));
                 }).with_twin([mask](const auto& v) {
    const auto e = xgrad::exp(v[0]) * Variable<double>(mask(v[0]));
    const auto total = xgrad::sum(e, -1, true);
    return e / (total + xgrad::equal(total, 0));
  }));
  rows.push_back(row("softmax_masked_axis_0", {D::any}, {{{3, 5}}},
                     [mask](const auto& v) { return xgrad::softmax(v[0], mask(v[0]), 0); }));
  rows.push_back(row("log_softmax", {D::any}, softmax_shapes, [](const auto& v) {
                   return xgrad::log_softmax(v[0]);
                 }).with_twin([](const auto& v) { return v[0] - xgrad::log(xgrad::sum(xgrad::exp(v[0]), -1, true)); }));
  rows.push_back(
      row("log_softmax_axis_1", {D::any}, {{{2, 3, 5}}}, [](const auto& v) { return xgrad::log_softmax(v[0], 1); }));
  rows.push_back(row("softmax_backward", {D::any, D::any}, {{{2, 3}, {2, 3}}},
                     [](const auto& v) { return xgrad::softmax_backward(v[0], v[1], 0); }));
  return rows;
}

}  // namespace optable
