#include <xgrad/layers/linear.hpp>

#include <xgrad/core/linalg.hpp>
#include <xgrad/core/ops/product.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/testing.hpp>

#include "core/kernels/reference.hpp"
#include "throws.hpp"

namespace {

using reference::expect_numbers;
using reference::sample;
using xgrad::Linear;
using xgrad::LinearOptions;
using xgrad::Rng;
using xgrad::Shape;
using xgrad::Variable;

LinearOptions options(std::size_t in, std::size_t out, bool bias = true) {
  LinearOptions o;
  o.in = in;
  o.out = out;
  o.bias = bias;
  return o;
}

template <class T>
class LinearTyped : public ::testing::Test {};
TYPED_TEST_SUITE(LinearTyped, reference::Types, );

TYPED_TEST(LinearTyped, KnownNumbers) {
  using T = TypeParam;
  Rng rng(1);
  Linear<T> linear(3, 2, rng);
  linear.weight.mutate([](auto& w) { w = xgrad::from<T>({1, 2, 3, 4, 5, 6}, {2, 3}); });
  linear.bias.mutate([](auto& b) { b = xgrad::from<T>({10, 20}); });
  expect_numbers(linear(xgrad::from<T>({1, 0, -1}, {1, 3})).value(), {8, 18}, 0);
  const auto one = linear(xgrad::from<T>({1, 1, 1}));
  EXPECT_EQ(one.shape(), (Shape{2}));
  expect_numbers(one.value(), {16, 35}, 0);
}

TEST(Linear, LIN_01_NoRows) {
  Rng rng(1);
  Linear<double> linear(3, 2, rng);
  Variable<double> x(xgrad::zeros<double>({0, 3}), true);
  const auto y = linear(x);
  EXPECT_EQ(y.shape(), (Shape{0, 2}));
  y.backward(xgrad::zeros<double>({0, 2}));
  EXPECT_EQ(x.grad().shape(), (Shape{0, 3}));
  EXPECT_TRUE(xgrad::array_equal(linear.weight.grad(), xgrad::zeros<double>({2, 3})));
  EXPECT_TRUE(xgrad::array_equal(linear.bias.grad(), xgrad::zeros<double>({2})));
}

TEST(Linear, LIN_01_NoInnerSize) {
  Variable<double> x(xgrad::zeros<double>({3, 0}), true), w(xgrad::zeros<double>({2, 0}), true);
  Variable<double> b(xgrad::from<double>({1, 2}), true);
  const auto y = xgrad::linear(x, w, b);
  expect_numbers(y.value(), {1, 2, 1, 2, 1, 2}, 0);
  y.backward(xgrad::ones<double>({3, 2}));
  EXPECT_EQ(w.grad().shape(), (Shape{2, 0}));
  expect_numbers(b.grad(), {3, 3}, 0);
}

TEST(Linear, LIN_02_TwoLeadingAxes) {
  Rng rng(1);
  Linear<double> linear(4, 5, rng);
  linear.weight.mutate([](auto& w) { w.fill(1); });
  linear.bias.mutate([](auto& b) { b = xgrad::arange<double>(5); });
  Variable<double> x(xgrad::ones<double>({2, 3, 4}), true);
  auto dy = xgrad::empty<double>({2, 3, 5});
  reference::each({2, 3, 5}, [&](const auto& p) { dy(p[0], p[1], p[2]) = static_cast<double>(p[1] + 1); });
  const auto y = linear(x);
  reference::expect_all(
      y.value(), {2, 3, 5}, [](const auto& p) { return 4.0 + static_cast<double>(p[2]); }, 0);
  y.backward(dy);
  reference::expect_all(
      linear.bias.grad(), {5}, [](const auto&) { return 12.0; }, 0);
  reference::expect_all(
      linear.weight.grad(), {5, 4}, [](const auto&) { return 12.0; }, 0);
  reference::expect_all(
      x.grad(), {2, 3, 4}, [](const auto& p) { return 5.0 * static_cast<double>(p[1] + 1); }, 0);
}

TEST(Linear, FirstNumbersAreAsInPyTorch) {
  Rng rng(5);
  double largest = 0, largest_bias = 0;
  for (int i = 0; i < 300; ++i) {
    Linear<double> linear(3, 2, rng);
    EXPECT_EQ(linear.weight.shape(), (Shape{2, 3}));
    EXPECT_EQ(linear.bias.shape(), (Shape{2}));
    for (const double w : linear.weight.value()) largest = std::max(largest, std::abs(w));
    for (const double b : linear.bias.value()) largest_bias = std::max(largest_bias, std::abs(b));
  }
  EXPECT_LE(largest, 0.5773502691896258);
  EXPECT_GT(largest, 0.57);
  EXPECT_LE(largest_bias, 0.5773502691896258);
  EXPECT_GT(largest_bias, 0.56);
}

TEST(Linear, ChosenInit) {
  Rng rng(5);
  auto o = options(3, 2);
  o.init = xgrad::init::constant(7);
  o.bias_init = xgrad::init::zeros();
  Linear<float> linear(o, rng);
  EXPECT_TRUE(xgrad::array_equal(linear.weight.value(), xgrad::full<float>({2, 3}, 7.0f)));
  EXPECT_TRUE(xgrad::array_equal(linear.bias.value(), xgrad::zeros<float>({2})));
}

// Forward and weight gradient; the data want none.
TEST(Linear, TrainingStepOnDataTakesTwoProducts) {
  Rng rng(1);
  Linear<double> linear(4, 3, rng);
  const Variable<double> data(sample<double>({6, 4}, 1));
  const auto before = xgrad::products();
  xgrad::sum(linear(data)).backward();
  EXPECT_EQ(xgrad::products() - before, 2u);

  Variable<double> inner(data.value(), true);
  const auto again = xgrad::products();
  xgrad::sum(linear(inner)).backward();
  EXPECT_EQ(xgrad::products() - again, 3u);

  linear.freeze();
  const auto frozen = xgrad::products();
  xgrad::sum(linear(inner)).backward();
  EXPECT_EQ(xgrad::products() - frozen, 2u);
}

TEST(Linear, Contract) {
  Rng rng(2);
  for (const bool bias : {true, false}) {
    Linear<double> linear(options(3, 5, bias), rng);
    for (const Shape& lead : {Shape{}, Shape{2}, Shape{2, 4}, Shape{1, 1, 2}}) {
      Shape shape = lead;
      shape.push_back(3);
      const auto x = sample<double>(shape, 3);
      EXPECT_TRUE(xgrad::testing::layer_contract(linear, x));
      EXPECT_TRUE(xgrad::testing::second_gradients_match(
          linear, [&](const auto& v) { return linear(v); }, x));
    }
    const auto named = linear.named_parameters();
    ASSERT_EQ(named.size(), bias ? 2u : 1u);
    EXPECT_EQ(named[0].first, "weight");
    EXPECT_EQ(named.back().first, bias ? "bias" : "weight");
  }
}

TEST(Linear, FloatAgreesWithDouble) {
  Rng rng(2), same(2);
  Linear<double> wide(17, 7, rng);
  Linear<float> narrow(17, 7, same);
  narrow.weight.mutate([&](auto& w) { w = xgrad::from<float>(wide.weight.value()); });
  narrow.bias.mutate([&](auto& b) { b = xgrad::from<float>(wide.bias.value()); });
  const auto x = sample<double>({5, 17}, 4);
  const auto y = wide(x).value();
  expect_numbers(narrow(xgrad::from<float>(x)).value(), std::vector<double>(y.begin(), y.end()), 0, 3e-6);
}

TEST(Linear, Errors) {
  Rng rng(1);
  Linear<double> linear(8, 2, rng);
  EXPECT_THROWS(xgrad::ShapeError, linear(xgrad::zeros<double>({2, 5, 6})),
                "[Linear] last axis must be 8 but input is (2, 5, 6)");
  EXPECT_THROWS(xgrad::ShapeError, linear(xgrad::zeros<double>({})), "[Linear] last axis must be 8 but input is ()");
  const auto before = rng.state();
  EXPECT_THROWS(std::invalid_argument, Linear<double>(0, 2, rng),
                "[Linear] in and out must be at least 1 but are 0 and 2");
  EXPECT_THROWS(std::invalid_argument, Linear<double>(LinearOptions(), rng),
                "[Linear] in and out must be at least 1 but are 0 and 0");
  EXPECT_EQ(rng.state(), before);
}

}  // namespace
