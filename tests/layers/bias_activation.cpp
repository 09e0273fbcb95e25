#include <xgrad/layers/bias_activation.hpp>

#include <xgrad/core/ops/activation.hpp>
#include <xgrad/core/testing.hpp>
#include <xgrad/layers/dropout.hpp>
#include <xgrad/layers/feed_forward.hpp>

#include "core/kernels/reference.hpp"
#include "throws.hpp"

namespace {

using reference::sample;
using xgrad::Nonlinearity;
using V = xgrad::Variable<double>;

constexpr Nonlinearity kAll[] = {Nonlinearity::relu, Nonlinearity::gelu, Nonlinearity::gelu_tanh, Nonlinearity::silu};

/// The same in three ops.
V composed(const V& x, const V& bias, Nonlinearity f, double p, std::uint64_t key) {
  const V sum = bias.defined() ? x + bias : x;
  const V y = f == Nonlinearity::relu        ? xgrad::relu(sum)
              : f == Nonlinearity::gelu      ? xgrad::gelu(sum)
              : f == Nonlinearity::gelu_tanh ? xgrad::gelu_tanh(sum)
                                             : xgrad::silu(sum);
  return xgrad::dropout(y, p, key);
}

TEST(BiasActivation, AgreesWithThreeOps) {
  for (const Nonlinearity f : kAll)
    for (const double p : {0.0, 0.4, 1.0})
      for (const bool biased : {true, false}) {
        const auto run = [&](auto op) {
          V x(sample<double>({2, 3, 37}, 1), true), bias;
          if (biased) bias = V(sample<double>({37}, 2), true);
          const V y = op(x, bias, f, p, std::uint64_t{3});
          y.backward(sample<double>({2, 3, 37}, 4));
          return std::vector<xgrad::Array<double>>{y.value(), x.grad(), biased ? bias.grad() : x.grad()};
        };
        const auto fused = run([](auto&&... a) { return xgrad::bias_activation(a...); });
        const auto plain = run(composed);
        for (std::size_t i = 0; i < 3; ++i)
          reference::expect_numbers(fused[i], {plain[i].begin(), plain[i].end()}, 1e-13, 1e-14);
      }
}

TEST(BiasActivation, GradientsOfFirstAndSecondOrder) {
  for (const Nonlinearity f : kAll)
    for (const double p : {0.0, 0.4}) {
      const auto biased = [&](const V& x, const V& bias) { return xgrad::bias_activation(x, bias, f, p, 3); };
      const auto plain = [&](const V& x) { return xgrad::bias_activation(x * x, V(), f, p, 3); };
      const auto x = sample<double>({4, 5}, 1), bias = sample<double>({5}, 2);
      EXPECT_TRUE(xgrad::testing::gradients_match(biased, {x, bias}));
      EXPECT_TRUE(xgrad::testing::second_gradients_match(biased, {x, bias}));
      EXPECT_TRUE(xgrad::testing::gradients_match(plain, {x}));
      EXPECT_TRUE(xgrad::testing::second_gradients_match(plain, {x}));
    }
}

TEST(BiasActivation, NaNIsNotHidden) {
  for (const Nonlinearity f : kAll) {
    V x(xgrad::from<double>({reference::kNaN, 1}, {1, 2}), true);
    const V y = xgrad::bias_activation(x, V(), f);
    y.backward(xgrad::ones<double>({1, 2}));
    EXPECT_TRUE(std::isnan(y.value()(0, 0)) && std::isnan(x.grad()(0, 0)));
    EXPECT_TRUE(std::isfinite(y.value()(0, 1)) && std::isfinite(x.grad()(0, 1)));
  }
}

TEST(BiasActivation, NoRows) {
  V x(xgrad::zeros<double>({0, 3}), true), bias(xgrad::ones<double>({3}), true);
  const V y = xgrad::bias_activation(x, bias, Nonlinearity::gelu, 0.5, 1);
  y.backward(xgrad::zeros<double>({0, 3}));
  EXPECT_EQ(bias.grad(), xgrad::zeros<double>({3}));
  EXPECT_EQ(xgrad::bias_activation(V(xgrad::zeros<double>({3, 0})), V(), Nonlinearity::relu).shape(),
            (xgrad::Shape{3, 0}));
}

TEST(BiasActivation, Errors) {
  const V x(xgrad::ones<double>({2, 3}));
  EXPECT_THROWS(xgrad::ShapeError, xgrad::bias_activation(x, V(xgrad::ones<double>({2})), Nonlinearity::relu),
                "[bias_activation] the bias must have shape (3,) but has shape (2,)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::bias_activation(V(1.0), V(), Nonlinearity::relu),
                "[bias_activation] needs rows but the input is 0-d");
  EXPECT_THROWS(std::invalid_argument, xgrad::bias_activation(x, V(), Nonlinearity::relu, 1.5),
                "[bias_activation] p must be in [0, 1] but is 1.5");
}

// A FeedForward drops what its dropout layer would.
TEST(BiasActivation, FeedForwardUsesTheMaskOfItsDropout) {
  xgrad::Rng rng(1);
  xgrad::FeedForwardOptions options;
  options.d_model = 5;
  options.dropout = 0.5;
  xgrad::FeedForward<double> ffn(options, rng);
  const V x(sample<double>({7, 5}, 1));
  const auto before = ffn.dropout.rng;
  const auto y = ffn(x).value();
  const auto after = ffn.dropout.rng.state();
  ffn.dropout.rng = before;
  const auto plain = ffn.linear2(ffn.dropout(xgrad::relu(ffn.linear1(x)))).value();
  reference::expect_numbers(y, {plain.begin(), plain.end()}, 1e-13, 1e-14);
  EXPECT_EQ(ffn.dropout.rng.state(), after);
}

}  // namespace
