// How to write ops and a layer of your own, and to check their gradients.
#include <iostream>
#include <xgrad/xgrad.hpp>

using xgrad::Array;
using xgrad::Variable;

/// softsign(x) = x / (1 + |x|). One formula, g / (1 + |x|)^2, serves every order of derivative: an ordinary pass runs
/// it on arrays, a recorded pass on Variables. In it, functions are written with their xgrad:: in front.
template <class T>
Variable<T> softsign(const Variable<T>& x) {
  const Array<T> y = x.value() / (T(1) + xgrad::abs(x.value()));
  return xgrad::record<T>("softsign", {x}, xgrad::saves::inputs, y,
                          [](auto& b) { b.add(0, b.grad() / xgrad::square(T(1) + xgrad::abs(b.input(0)))); });
}

/// Running sums along the rows of a matrix: y[i][j] = x[i][0] + ... + x[i][j].
///
/// The derivative is written by hand on arrays, a running sum from the other end: fast, but not differentiable itself.
/// So the op comes with a twin, the same function composed of ops, which a recorded pass differentiates instead.
template <class T>
Variable<T> running_sum(const Variable<T>& x) {
  const std::size_t rows = x.shape()[0], n = x.shape()[1];
  Array<T> y = x.value();
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 1; j < n; ++j) y(i, j) += y(i, j - 1);
  const auto derivative = [rows, n](xgrad::ArrayBackward<T>& b) {
    Array<T> g = b.grad();
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = n - 1; j > 0; --j) g(i, j - 1) += g(i, j);
    b.add(0, std::move(g));
  };
  const auto twin = [n](const std::vector<Variable<T>>& inputs) {
    auto ones_above = xgrad::zeros<T>({n, n});
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i; j < n; ++j) ones_above(i, j) = T(1);
    return xgrad::matmul(inputs[0], Variable<T>(ones_above));
  };
  return xgrad::record<T>("running_sum", {x}, xgrad::saves::inputs, std::move(y), derivative, twin);
}

/// A layer on both: y = softsign(running_sum(x) * scale + shift). Parameters are Variables that require gradients;
/// `visit` names them, and saving, counting, optimizers and checks follow from that.
template <class T>
class Accumulate : public xgrad::Module<T> {
 public:
  explicit Accumulate(std::size_t features)
      : scale(xgrad::full<T>({features}, T(0.5)), true), shift(xgrad::zeros<T>({features}), true) {}

  Variable<T> operator()(const Variable<T>& x) { return softsign(running_sum(x) * scale + shift); }
  void visit(xgrad::Visitor<T>& v) override {
    v("scale", scale);
    v("shift", shift);
  }
  std::string name() const override { return "Accumulate"; }

  Variable<T> scale, shift;
};

int main() {
  xgrad::Rng rng(1);
  const Variable<double> x = rng.normal<double>({3, 5});
  Accumulate<double> layer(5);
  std::cout << layer.summary() << '\n';

  bool right = true;
  const auto report = [&](const char* what, const xgrad::GradcheckReport& r) {
    std::cout << what << ": " << r << '\n';
    right = right && r.ok();
  };
  report("gradients of softsign", xgrad::gradcheck(softsign<double>, x));
  report("gradients of running_sum", xgrad::gradcheck(running_sum<double>, x));
  report("second derivatives of the layer", xgrad::gradgradcheck(layer, x));

  const auto violations = xgrad::contract_violations(layer, x);
  std::cout << "contract of the layer: " << (violations.empty() ? "kept" : "broken") << '\n';
  for (const std::string& violation : violations) std::cout << "- " << violation << '\n';
  return right && violations.empty() ? 0 : 1;
}
