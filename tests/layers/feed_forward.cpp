#include <xgrad/layers/feed_forward.hpp>

#include <xgrad/core/ops/activation.hpp>
#include <xgrad/core/testing.hpp>

#include "core/kernels/reference.hpp"
#include "throws.hpp"

namespace {

using reference::expect_numbers;
using reference::sample;
using xgrad::Activation;
using xgrad::FeedForward;
using xgrad::FeedForwardOptions;
using xgrad::Rng;
using xgrad::Shape;

constexpr Activation kAll[] = {Activation::relu, Activation::gelu,   Activation::gelu_tanh,
                               Activation::silu, Activation::swiglu, Activation::geglu};

FeedForwardOptions options(std::size_t d_model, std::size_t d_ff, Activation activation = Activation::relu,
                           double dropout = 0) {
  FeedForwardOptions o;
  o.d_model = d_model;
  o.d_ff = d_ff;
  o.activation = activation;
  o.dropout = dropout;
  return o;
}

double silu(double x) { return x / (1 + std::exp(-x)); }
double gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

double expected(Activation a, double x, double gate) {
  switch (a) {
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return silu(x);
    case Activation::swiglu:
      return silu(gate) * x;
    case Activation::geglu:
      return gelu(gate) * x;
  }
  return reference::kNaN;
}

// Every activation against the formula written out with loops.
TEST(FeedForward, ValuesOfEveryActivation) {
  for (const Activation a : kAll) {
    Rng rng(1);
    FeedForward<double> ffn(options(3, 5, a), rng);
    const auto x = sample<double>({2, 3}, 2);
    const auto map = [](const xgrad::Linear<double>& linear, const double* in, std::size_t k) {
      double sum = linear.bias.value()(k);
      for (std::size_t j = 0; j < linear.weight.shape()[1]; ++j) sum += linear.weight.value()(k, j) * in[j];
      return sum;
    };
    const bool gated = a == Activation::swiglu || a == Activation::geglu;
    ASSERT_EQ(ffn.linear_gate.has_value(), gated);
    std::vector<double> want;
    for (std::size_t i = 0; i < 2; ++i) {
      const double* row = x.data() + 3 * i;
      std::vector<double> hidden;
      for (std::size_t k = 0; k < 5; ++k)
        hidden.push_back(expected(a, map(ffn.linear1, row, k), gated ? map(*ffn.linear_gate, row, k) : 0));
      for (std::size_t k = 0; k < 3; ++k) want.push_back(map(ffn.linear2, hidden.data(), k));
    }
    expect_numbers(ffn(x).value(), want, 1e-13, 1e-14);
  }
}

TEST(FeedForward, SWG_01_WhichIsTheGate) {
  Rng rng(1);
  FeedForward<double> ffn(options(1, 1, Activation::swiglu), rng);
  for (auto& entry : ffn.named_parameters())
    entry.second.mutate([&](auto& w) { w.fill(entry.first == "linear2.weight" ? 1 : 0); });
  ffn.linear_gate->bias.mutate([](auto& b) { b(0) = 2; });
  ffn.linear1.bias.mutate([](auto& b) { b(0) = 3; });
  const auto y = ffn(xgrad::from<double>({1}));
  expect_numbers(y.value(), {5.284782467867295}, 1e-14);
  y.backward(xgrad::ones<double>({1}));
  expect_numbers(ffn.linear_gate->bias.grad(), {3.272352746354686}, 1e-14);
  expect_numbers(ffn.linear1.bias.grad(), {1.761594155955765}, 1e-14);
}

TEST(FeedForward, NamesAndSizes) {
  Rng rng(1);
  FeedForward<float> plain(options(4, 0), rng);
  EXPECT_EQ(plain.linear1.weight.shape(), (Shape{16, 4}));
  EXPECT_EQ(plain.linear2.weight.shape(), (Shape{4, 16}));
  std::vector<std::string> names;
  for (const auto& entry : plain.named_parameters()) names.push_back(entry.first);
  EXPECT_EQ(names, (std::vector<std::string>{"linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"}));

  auto o = options(4, 6, Activation::geglu);
  o.bias = false;
  FeedForward<float> gated(o, rng);
  names.clear();
  for (const auto& entry : gated.named_parameters()) names.push_back(entry.first);
  EXPECT_EQ(names, (std::vector<std::string>{"linear1.weight", "linear_gate.weight", "linear2.weight"}));
  ASSERT_EQ(xgrad::state(gated).generators.size(), 1u);
  EXPECT_EQ(xgrad::state(gated).generators[0].first, "dropout.rng");
}

TEST(FeedForward, PaperSize) {
  Rng rng(1);
  FeedForward<float> ffn(options(512, 2048), rng);
  EXPECT_EQ(ffn.count(), 2u * 512 * 2048 + 2048 + 512);
  EXPECT_EQ(ffn(sample<float>({2, 10, 512}, 1)).shape(), (Shape{2, 10, 512}));
}

double deviation(const xgrad::Array<double>& a) {
  double squares = 0;
  for (const double v : a) squares += v * v;
  return std::sqrt(squares / static_cast<double>(a.size()));
}

TEST(FeedForward, KaimingXavierInit) {
  Rng rng(1);
  auto o = options(64, 256, Activation::swiglu);
  o.init = xgrad::FeedForwardInit::kaiming_xavier;
  FeedForward<double> ffn(o, rng);
  const double kaiming = std::sqrt(2.0 / 64), xavier = 0.02 * std::sqrt(2.0 / (64 + 256));
  EXPECT_NEAR(deviation(ffn.linear1.weight.value()), kaiming, 0.03 * kaiming);
  EXPECT_NEAR(deviation(ffn.linear_gate->weight.value()), kaiming, 0.03 * kaiming);
  EXPECT_NEAR(deviation(ffn.linear2.weight.value()), xavier, 0.03 * xavier);
  EXPECT_EQ(deviation(ffn.linear1.bias.value()), 0);
  EXPECT_EQ(deviation(ffn.linear_gate->bias.value()), 0);
  EXPECT_EQ(deviation(ffn.linear2.bias.value()), 0);

  FeedForward<double> ordinary(options(64, 256), rng);
  const double uniform = 1 / std::sqrt(3.0 * 64);
  EXPECT_NEAR(deviation(ordinary.linear1.weight.value()), uniform, 0.03 * uniform);
  EXPECT_GT(deviation(ordinary.linear1.bias.value()), 0.5 * uniform);
}

// The dropout stands after the activation: with p = 1 only the last bias is left.
TEST(FeedForward, DropoutIsBetween) {
  Rng rng(1);
  FeedForward<double> ffn(options(3, 5, Activation::gelu, 1), rng);
  const auto x = sample<double>({2, 3}, 2);
  const auto b = ffn.linear2.bias.value();
  expect_numbers(ffn(x).value(), {b(0), b(1), b(2), b(0), b(1), b(2)}, 0);
  ffn.eval();
  EXPECT_NE(ffn(x).value()(0, 0), b(0));
}

// How the weights start does not depend on the probability of dropout.
TEST(FeedForward, DropoutTakesNoNumbersFromTheWeights) {
  Rng a(1), b(1);
  FeedForward<double> with(options(3, 5, Activation::relu, 0.5), a), without(options(3, 5), b);
  EXPECT_TRUE(xgrad::array_equal(with.linear2.weight.value(), without.linear2.weight.value()));
}

TEST(FeedForward, Contract) {
  for (const Activation a : kAll)
    for (const bool bias : {true, false})
      for (const double p : {0.0, 0.4}) {
        Rng rng(3);
        auto o = options(3, 5, a, p);
        o.bias = bias;
        FeedForward<double> ffn(o, rng);
        const auto x = sample<double>({2, 2, 3}, 4);
        EXPECT_TRUE(xgrad::testing::layer_contract(ffn, x));
        EXPECT_TRUE(xgrad::testing::second_gradients_match(
            ffn, [&](const auto& v) { return ffn(v); }, x));
      }
}

TEST(FeedForward, FloatAgreesWithDouble) {
  for (const Activation a : kAll) {
    Rng rng(3);
    FeedForward<double> wide(options(3, 7, a), rng);
    FeedForward<float> narrow(options(3, 7, a), rng);
    auto from = wide.named_parameters();
    auto to = narrow.named_parameters();
    for (std::size_t i = 0; i < from.size(); ++i)
      to[i].second.mutate([&](auto& w) { w = xgrad::from<float>(from[i].second.value()); });
    const auto x = sample<double>({17, 3}, 4);
    const auto y = wide(x).value();
    expect_numbers(narrow(xgrad::from<float>(x)).value(), std::vector<double>(y.begin(), y.end()), 0, 2e-6);
  }
}

TEST(FeedForward, Errors) {
  Rng rng(1);
  const auto before = rng.state();
  EXPECT_THROWS(std::invalid_argument, FeedForward<double>(FeedForwardOptions(), rng),
                "[FeedForward] d_model must be at least 1 but is 0");
  for (const double p : {-0.1, 1.5, reference::kNaN})
    EXPECT_THROWS(std::invalid_argument, FeedForward<double>(options(3, 5, Activation::relu, p), rng),
                  "[FeedForward] dropout must be in [0, 1] but is ");
  EXPECT_EQ(rng.state(), before);
  FeedForward<double> ffn(options(3, 5), rng);
  EXPECT_THROWS(xgrad::ShapeError, ffn(xgrad::zeros<double>({2, 4})),
                "[FeedForward] last axis must be 3 but input is (2, 4)");
}

}  // namespace
