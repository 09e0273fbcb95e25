#include <xgrad/layers/sequential.hpp>

#include <xgrad/core/ops/activation.hpp>
#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/testing.hpp>
#include <xgrad/layers/feed_forward.hpp>
#include <xgrad/layers/layer_norm.hpp>
#include <xgrad/layers/residual.hpp>

#include "core/kernels/reference.hpp"
#include "throws.hpp"

namespace {

using reference::sample;
using xgrad::Dropout;
using xgrad::FeedForward;
using xgrad::LayerNorm;
using xgrad::Linear;
using xgrad::Residual;
using xgrad::Rng;
using xgrad::Sequential;
using xgrad::Variable;

static_assert(std::is_constructible_v<Sequential<float>::Step, Linear<float>>);
static_assert(!std::is_constructible_v<Sequential<float>::Step, Linear<float>&>, "modules do not copy");
static_assert(!std::is_constructible_v<Sequential<float>::Step, const Linear<float>&>, "modules do not copy");

TEST(Sequential, AppliesStepsInOrder) {
  Rng rng(1);
  const auto twice = [](const Variable<double>& x) { return x * 2.0; };
  Sequential<double> model{Linear<double>(3, 4, rng), xgrad::relu, Linear<double>(4, 2, rng), twice};
  EXPECT_EQ(model.size(), 4u);
  const auto x = sample<double>({5, 3}, 1);
  const auto& first = model.at<Linear<double>>(0);
  const auto& last = model.at<Linear<double>>(2);
  EXPECT_TRUE(xgrad::array_equal(model(x).value(), (last(xgrad::relu(first(x))) * 2.0).value()));
}

TEST(Sequential, NamesAreNumbers) {
  Rng rng(1);
  Sequential<float> model{Linear<float>(3, 4, rng), xgrad::tanh, Sequential<float>{LayerNorm<float>(4)}};
  model.add(Linear<float>(4, 2, rng)).add(xgrad::gelu);
  std::vector<std::string> names;
  for (const auto& entry : model.named_parameters()) names.push_back(entry.first);
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "2.0.weight", "2.0.bias", "3.weight", "3.bias"}));
}

TEST(Sequential, EmptyIsTheIdentity) {
  Sequential<double> model;
  const auto x = sample<double>({2, 3}, 1);
  EXPECT_TRUE(xgrad::array_equal(model(x).value(), x));
}

TEST(Sequential, MovesWithItsSteps) {
  Rng rng(1);
  const auto make = [&] {
    Sequential<double> model{Linear<double>(3, 4, rng)};
    return model;
  };
  Sequential<double> model = make();
  Sequential<double> moved = std::move(model);
  EXPECT_EQ(moved.parameters().size(), 2u);
  EXPECT_EQ(moved(xgrad::ones<double>({3})).shape(), (xgrad::Shape{4}));
}

TEST(Sequential, Contract) {
  Rng rng(2);
  Sequential<double> model{Linear<double>(3, 4, rng), LayerNorm<double>(4), xgrad::gelu, Dropout<double>(0.5, rng),
                           Linear<double>(4, 2, rng)};
  EXPECT_TRUE(xgrad::testing::layer_contract(model, sample<double>({5, 3}, 3)));
  EXPECT_TRUE(xgrad::testing::second_gradients_match(
      model, [&](const auto& v) { return model(v); }, sample<double>({5, 3}, 3)));
}

TEST(Sequential, Errors) {
  Rng rng(1);
  Sequential<double> model{Linear<double>(3, 4, rng), xgrad::relu};
  EXPECT_THROWS(std::invalid_argument, model.at<Linear<double>>(2), "[Sequential] step must be below 2 but is 2");
  EXPECT_THROWS(std::invalid_argument, model.at<Linear<double>>(1),
                "[Sequential] step 1 is a function, not of the type asked for");
  EXPECT_THROWS(std::invalid_argument, model.at<LayerNorm<double>>(0),
                "[Sequential] step 0 is of type Linear, not of the type asked for");
  model.add(Linear<double>(5, 2, rng));
  EXPECT_THROWS(xgrad::ShapeError, model(xgrad::ones<double>({7, 3})),
                "[Linear] last axis must be 5 but input is (7, 4); in step 2 of Sequential");
}

xgrad::FeedForwardOptions feed_forward(std::size_t d, double dropout) {
  xgrad::FeedForwardOptions o;
  o.d_model = d;
  o.dropout = dropout;
  o.activation = xgrad::Activation::gelu;
  return o;
}

TEST(Residual, AddsItsInput) {
  Rng rng(1);
  Residual block(Linear<double>(3, 3, rng));
  const Variable<double> x(sample<double>({2, 3}, 1));
  EXPECT_TRUE(xgrad::array_equal(block(x).value(), (x + block.inner(x)).value()));
  EXPECT_EQ(block.named_parameters()[0].first, "inner.weight");
}

TEST(Residual, TransformerBlockContract) {
  Rng rng(2);
  Residual block(Sequential<double>{LayerNorm<double>(3), FeedForward<double>(feed_forward(3, 0.1), rng)});
  EXPECT_TRUE(xgrad::testing::layer_contract(block, sample<double>({2, 4, 3}, 3)));
  EXPECT_TRUE(xgrad::testing::second_gradients_match(
      block, [&](const auto& v) { return block(v); }, sample<double>({2, 3}, 3)));
}

TEST(Residual, ModeReachesItsInside) {
  Rng rng(2);
  Sequential<double> model{Residual(Sequential<double>{Dropout<double>(0.5, rng)})};
  const Variable<double> x(xgrad::ones<double>({64}));
  EXPECT_FALSE(xgrad::array_equal(model(x).value(), (x + x).value()));
  {
    const xgrad::EvalScope<double> scope(model);
    EXPECT_TRUE(xgrad::array_equal(model(x).value(), (x + x).value()));
  }
  EXPECT_FALSE(xgrad::array_equal(model(x).value(), (x + x).value()));
}

TEST(Residual, RefusesAnotherShape) {
  Rng rng(1);
  Residual block(Linear<double>(3, 1, rng));
  EXPECT_THROWS(xgrad::ShapeError, block(xgrad::ones<double>({2, 3})),
                "[Residual] the output of the inner module must have shape (2, 3) but has shape (2, 1)");
}

}  // namespace
