// Points where an op is not smooth, ties, infinities and the ends of the range, as far as PyTorch and we agree.
// "special_NAME" is the function of row NAME of the op table.
#pragma once

#include "../core/op_table.hpp"

namespace reference {

/// One call of an op: a row of the table in its first variant, or an op at special points.
struct Call {
  std::string name;
  std::vector<xgrad::Array<double>> inputs;
  optable::Function<double> f64;
  optable::Function<float> f32;
};

inline std::vector<Call> special_points() {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double tiny = std::ldexp(1.0, -60);
  std::vector<Call> calls;
  const auto at = [&](const std::string& name, std::vector<xgrad::Array<double>> inputs, auto f) {
    calls.push_back({"special_" + name, std::move(inputs), f, f});
  };
  const auto one = [&](const std::string& name, const std::vector<double>& x, auto f) {
    at(name, {xgrad::from(x)}, [f](const auto& v) { return f(v[0]); });
  };
  const auto rows = [&](const std::string& name, const std::vector<double>& x, const xgrad::Shape& shape, auto f) {
    at(name, {xgrad::from(x, shape)}, [f](const auto& v) { return f(v[0]); });
  };
  const auto two = [&](const std::string& name, const std::vector<double>& a, const std::vector<double>& b, auto f) {
    at(name, {xgrad::from(a), xgrad::from(b)}, [f](const auto& v) { return f(v[0], v[1]); });
  };

  one("relu", {0, -0.0, tiny, -tiny, inf, -inf}, [](const auto& x) { return xgrad::relu(x); });
  one("abs", {0, -0.0, tiny, -tiny, inf, -inf}, [](const auto& x) { return xgrad::abs(x); });
  one("sqrt", {0, 4, inf, -1}, [](const auto& x) { return xgrad::sqrt(x); });
  one("rsqrt", {0, 4, inf}, [](const auto& x) { return xgrad::rsqrt(x); });
  one("exp", {0, 1000, -1000, inf, -inf}, [](const auto& x) { return xgrad::exp(x); });
  one("log", {0, 1, inf, -1}, [](const auto& x) { return xgrad::log(x); });
  one("log1p", {0, tiny, -1, inf}, [](const auto& x) { return xgrad::log1p(x); });
  one("expm1", {0, tiny, 1000, -1000, inf, -inf}, [](const auto& x) { return xgrad::expm1(x); });
  one("tanh", {0, tiny, 1000, -1000, inf, -inf}, [](const auto& x) { return xgrad::tanh(x); });
  one("erf", {0, tiny, 30, -30, inf, -inf}, [](const auto& x) { return xgrad::erf(x); });
  one("sigmoid", {0, 40, -40, 1000, -1000, inf, -inf}, [](const auto& x) { return xgrad::sigmoid(x); });
  one("softplus", {0, 40, -40, 1000, -1000, inf, -inf}, [](const auto& x) { return xgrad::softplus(x); });
  one("gelu", {0, -0.0, 10, -10, 40, -40}, [](const auto& x) { return xgrad::gelu(x); });
  one("gelu_tanh", {0, 10, -10, 1000, -1000}, [](const auto& x) { return xgrad::gelu_tanh(x); });
  one("silu", {0, 40, -40, 1000, -1000}, [](const auto& x) { return xgrad::silu(x); });
  one("normal_cdf", {0, 10, -10, 40, -40, inf, -inf}, [](const auto& x) { return xgrad::normal_cdf(x); });
  one("pow_0", {0, -0.0, 2, -2, inf}, [](const auto& x) { return xgrad::pow(x, 0); });
  one("pow_1", {0, -0.0, 2, -2, inf}, [](const auto& x) { return xgrad::pow(x, 1); });
  one("pow_2", {0, -0.0, 2, -2, inf}, [](const auto& x) { return xgrad::pow(x, 2); });
  one("pow_0_5", {0, 4, inf, -1}, [](const auto& x) { return xgrad::pow(x, 0.5); });
  one("pow_neg2", {0, 2, -2, inf}, [](const auto& x) { return xgrad::pow(x, -2); });
  one("number_div", {0, 2, inf, -inf}, [](const auto& x) { return 3 / x; });
  one("clip", {-0.5, 0.75, 0, inf, -inf, nan}, [](const auto& x) { return xgrad::clip(x, -0.5, 0.75); });
  two("pow", {0, 0, 0, 2, -2}, {0, 1, 2, 0, 2}, [](const auto& a, const auto& b) { return xgrad::pow(a, b); });
  two("div", {1, -1, 0, 1}, {0, 0, 0, inf}, [](const auto& a, const auto& b) { return a / b; });
  two("maximum", {1, 2, 0, -0.0, inf, -inf, nan, 1}, {1, 3, -0.0, 0, inf, inf, 1, nan},
      [](const auto& a, const auto& b) { return xgrad::maximum(a, b); });
  two("minimum", {1, 2, 0, -0.0, inf, -inf, nan, 1}, {1, 3, -0.0, 0, inf, inf, 1, nan},
      [](const auto& a, const auto& b) { return xgrad::minimum(a, b); });
  two("where_number", {1, 2, inf}, {1, 3, 0},
      [](const auto& a, const auto& b) { return xgrad::where(a > b, a * b, 0.5); });
  rows("amax_last_keep", {2, 2, 1, 3, 3, 3, -inf, -inf, -inf, 1, inf, inf}, {4, 3},
       [](const auto& x) { return xgrad::amax(x, -1, true); });
  rows("amin_last_keep", {2, 2, 1, 3, 3, 3, -inf, -inf, 1, inf, inf, inf}, {4, 3},
       [](const auto& x) { return xgrad::amin(x, -1, true); });
  rows("norm_twin", {0, 0, 3, 4, -5, 0}, {3, 2}, [](const auto& x) { return xgrad::norm(x, -1); });
  rows("stddev_last_keep", {2, 2, 2, 1, 2, 3}, {2, 3}, [](const auto& x) { return xgrad::stddev(x, -1, true); });
  rows("variance_last_keep", {2, 2, 2, 1, 2, 3}, {2, 3}, [](const auto& x) { return xgrad::variance(x, -1, true); });
  const std::vector<double> far = {1000, 999, -inf, -1000, -1001, -1002, 0, 0, 0, 1, -inf, -inf};
  rows("logsumexp_last_keep", far, {4, 3}, [](const auto& x) { return xgrad::logsumexp(x, -1, true); });
  rows("softmax", far, {4, 3}, [](const auto& x) { return xgrad::softmax(x); });
  rows("log_softmax", far, {4, 3}, [](const auto& x) { return xgrad::log_softmax(x); });
  return calls;
}

}  // namespace reference
