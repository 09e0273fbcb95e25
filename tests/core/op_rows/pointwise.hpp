// Rows of the op table: functions of one Variable, number by number.
#pragma once

#include <xgrad/core/ops/activation.hpp>
#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/ops/select.hpp>

namespace optable {

inline std::vector<Row> pointwise_rows() {
  using D = Domain;
  return {
      unary("neg", D::any, [](const auto& x) { return -x; }),
      unary("add_number", D::any, [](const auto& x) { return x + 3; }),
      unary("number_minus", D::any, [](const auto& x) { return 3 - x; }),
      unary("mul_number", D::any, [](const auto& x) { return 0.5 * x; }),
      unary("div_number", D::any, [](const auto& x) { return x / 4; }),
      unary("number_div", D::nonzero, [](const auto& x) { return 3 / x; }),
      unary("exp", D::any, [](const auto& x) { return xgrad::exp(x); }),
      unary("log", D::positive, [](const auto& x) { return xgrad::log(x); }),
      unary("log1p", D::positive, [](const auto& x) { return xgrad::log1p(x); }).with_twin([](const auto& v) {
        return xgrad::log(1 + v[0]);
      }),
      unary("expm1", D::any, [](const auto& x) { return xgrad::expm1(x); }).with_twin([](const auto& v) {
        return xgrad::exp(v[0]) - 1;
      }),
      unary("sqrt", D::positive, [](const auto& x) { return xgrad::sqrt(x); }).with_twin([](const auto& v) {
        return xgrad::exp(0.5 * xgrad::log(v[0]));
      }),
      unary("rsqrt", D::positive, [](const auto& x) { return xgrad::rsqrt(x); }).with_twin([](const auto& v) {
        return 1 / xgrad::sqrt(v[0]);
      }),
      unary("abs", D::nonzero, [](const auto& x) { return xgrad::abs(x); }),
      unary("square", D::any, [](const auto& x) { return xgrad::square(x); }).with_twin([](const auto& v) {
        return v[0] * v[0];
      }),
      unary("sin", D::any, [](const auto& x) { return xgrad::sin(x); }),
      unary("cos", D::any, [](const auto& x) { return xgrad::cos(x); }),
      unary("tanh", D::any, [](const auto& x) { return xgrad::tanh(x); }).with_twin([](const auto& v) {
        return 1 - 2 / (xgrad::exp(2 * v[0]) + 1);
      }),
      unary("erf", D::any, [](const auto& x) { return xgrad::erf(x); }),
      unary("pow_0", D::nonzero, [](const auto& x) { return xgrad::pow(x, 0); }),
      unary("pow_1", D::any, [](const auto& x) { return xgrad::pow(x, 1); }),
      unary("pow_2", D::any, [](const auto& x) { return xgrad::pow(x, 2); }),
      unary("pow_3", D::any, [](const auto& x) { return xgrad::pow(x, 3); }).with_twin([](const auto& v) {
        return v[0] * v[0] * v[0];
      }),
      unary("pow_neg2", D::nonzero, [](const auto& x) { return xgrad::pow(x, -2); }),
      unary("pow_2_5", D::positive, [](const auto& x) { return xgrad::pow(x, 2.5); }),
      unary("pow_of_number", D::any, [](const auto& x) { return xgrad::pow(1.5, x); }).with_twin([](const auto& v) {
        return xgrad::exp(v[0] * std::log(1.5));
      }),
      unary("clip", D::between, [](const auto& x) { return xgrad::clip(x, -0.5, 0.75); }),
      unary("relu", D::nonzero, [](const auto& x) { return xgrad::relu(x); }).with_twin([](const auto& v) {
        return xgrad::maximum(v[0], 0);
      }),
      unary("sigmoid", D::any, [](const auto& x) { return xgrad::sigmoid(x); }).with_twin([](const auto& v) {
        return 1 / (1 + xgrad::exp(-v[0]));
      }),
      unary("softplus", D::any, [](const auto& x) { return xgrad::softplus(x); }).with_twin([](const auto& v) {
        return xgrad::log(1 + xgrad::exp(v[0]));
      }),
      unary("gelu", D::any, [](const auto& x) { return xgrad::gelu(x); }).with_twin([](const auto& v) {
        return 0.5 * v[0] * (1 + xgrad::erf(v[0] * std::sqrt(0.5)));
      }),
      unary("gelu_tanh", D::any, [](const auto& x) { return xgrad::gelu_tanh(x); }).with_twin([](const auto& v) {
        const auto inner = std::sqrt(2 / std::acos(-1.0)) * (v[0] + 0.044715 * xgrad::pow(v[0], 3));
        return 0.5 * v[0] * (1 + xgrad::tanh(inner));
      }),
      unary("silu", D::any, [](const auto& x) { return xgrad::silu(x); }).with_twin([](const auto& v) {
        return v[0] / (1 + xgrad::exp(-v[0]));
      }),
      unary("normal_cdf", D::any, [](const auto& x) { return xgrad::normal_cdf(x); }).with_twin([](const auto& v) {
        return 0.5 * (1 + xgrad::erf(v[0] * std::sqrt(0.5)));
      }),
      unary("normal_pdf", D::any, [](const auto& x) { return xgrad::normal_pdf(x); }).with_twin([](const auto& v) {
        return xgrad::exp(-0.5 * v[0] * v[0]) / std::sqrt(2 * std::acos(-1.0));
      }),
      unary("gelu_grad", D::any, [](const auto& x) { return xgrad::gelu_grad(x); }),
      unary("gelu_tanh_grad", D::any, [](const auto& x) { return xgrad::gelu_tanh_grad(x); }),
      unary("silu_grad", D::any, [](const auto& x) { return xgrad::silu_grad(x); }),
  };
}

}  // namespace optable
