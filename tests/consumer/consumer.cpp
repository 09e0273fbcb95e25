// A user's program against the public headers. Built as C++17, 20 and 23 by each compiler: what it does must compile
// and run in all of them.
#include <xgrad/xgrad.hpp>

#include <cmath>
#include <cstdio>

namespace {

/// A user's op: x^3.
template <class T>
xgrad::Variable<T> cube(const xgrad::Variable<T>& x) {
  return xgrad::record<T>("cube", {x}, xgrad::saves::inputs, x.value() * x.value() * x.value(), [](auto& b) {
    const auto& v = b.input(0);
    b.add(0, b.grad() * v * v * T(3));
  });
}

/// A user's layer.
template <class T>
class Block : public xgrad::Module<T> {
 public:
  Block(std::size_t d, xgrad::Rng& rng) : norm(d), ffn(options(d), rng) {}
  xgrad::Variable<T> operator()(const xgrad::Variable<T>& x) { return x + ffn(norm(x)); }
  void visit(xgrad::Visitor<T>& v) override {
    v("norm", norm);
    v("ffn", ffn);
  }

  xgrad::LayerNorm<T> norm;
  xgrad::FeedForward<T> ffn;

 private:
  static xgrad::FeedForwardOptions options(std::size_t d) {
#if __cplusplus >= 202002L
    return {.d_model = d, .dropout = 0.01};
#else
    xgrad::FeedForwardOptions o;
    o.d_model = d;
    o.dropout = 0.01;
    return o;
#endif
  }
};

int failures = 0;

void expect(bool ok, const char* what) {
  if (ok) return;
  std::printf("wrong: %s\n", what);
  ++failures;
}

template <class T>
void check() {
  using Array = xgrad::Array<T>;
  xgrad::Rng rng(42);

  // Arrays, reductions (which xtensor 0.24 breaks in C++20) and operators on either side.
  const Array m = {{1, 2, 3}, {4, 5, 6}};
  expect(std::abs(xgrad::variance(m, 1)(0) - T(2) / 3) < T(1e-6), "row variance");
  const Array plain = xt::sum(m, {1});
  expect(plain(1) == 15, "xtensor's own sum");
  xgrad::Variable<T> x(m, true);
  xgrad::sum(m * x + (m + m) - x * m + 2 * cube(x)).backward();
  expect(x.grad()(1, 2) == 216, "gradient of 2 x^3 at 6");
  x.zero_grad();
  const auto slope = xgrad::grad(xgrad::sum(cube(x)), x, {true});
  expect(xgrad::grad(xgrad::sum(slope), x).value()(0, 1) == 12, "second derivative of x^3 at 2");

  // Training.
  Block<T> block(4, rng);
  const Array features = rng.template normal<T>({64, 4}), targets = -features;
#if __cplusplus >= 202002L
  xgrad::SGD<T> sgd(block.parameters(), {.lr = 0.02, .momentum = 0.9});
#else
  xgrad::SGDOptions options;
  options.lr = 0.02;
  options.momentum = 0.9;
  xgrad::SGD<T> sgd(block.parameters(), options);
#endif
  T first = 0, last = 0;
  for (int epoch = 0; epoch < 100; ++epoch)
    for (auto [a, b] : xgrad::batches(features, targets, 16, rng)) {
      auto loss = xgrad::mse_loss(block(a), b);
      sgd.zero_grad();
      loss.backward();
      sgd.step();
      last = loss.item();
      if (epoch == 0) first = last;
    }
  expect(last < first / 3, "the loss falls");

  // Errors are exceptions of their own types.
  try {
    block(features + Array{1, 2});
    expect(false, "shapes that do not fit are refused");
  } catch (const std::exception&) {
  }
}

}  // namespace

int main() {
  check<float>();
  check<double>();
  if (failures == 0) std::printf("C++ %ld: all as it should be\n", static_cast<long>(__cplusplus));
  return failures != 0;
}
