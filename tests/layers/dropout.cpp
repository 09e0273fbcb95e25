#include <xgrad/layers/dropout.hpp>

#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/testing.hpp>
#include <xgrad/layers/sequential.hpp>

#include "core/kernels/reference.hpp"
#include "throws.hpp"

namespace {

using reference::expect_numbers;
using reference::sample;
using xgrad::Dropout;
using xgrad::Rng;
using xgrad::Variable;

TEST(Dropout, DRP_01_OneGivesZeros) {
  Rng rng(1);
  Dropout<double> layer(1, rng);
  Variable<double> x(xgrad::from<double>({1, -2, 3}), true);
  const auto y = layer(x);
  expect_numbers(y.value(), {0, 0, 0}, 0);
  y.backward(xgrad::ones<double>({3}));
  expect_numbers(x.grad(), {0, 0, 0}, 0);
}

TEST(Dropout, DRP_01_ZeroIsTheIdentity) {
  Rng rng(1);
  Dropout<double> layer(0, rng);
  const auto before = layer.rng.state();
  Variable<double> x(sample<double>({1000}, 1), true);
  const auto y = layer(x);
  EXPECT_TRUE(xgrad::array_equal(y.value(), x.value()));
  const auto seed = sample<double>({1000}, 2);
  y.backward(seed);
  EXPECT_TRUE(xgrad::array_equal(x.grad(), seed));
  EXPECT_EQ(layer.rng.state(), before);
}

TEST(Dropout, DRP_01_OutOfRange) {
  Rng rng(1);
  const auto before = rng.state();
  const Variable<double> x(xgrad::ones<double>({3}));
  for (const double p : {-0.1, 1.1, reference::kNaN}) {
    EXPECT_THROWS(std::invalid_argument, Dropout<double>(p, rng), "[Dropout] p must be in [0, 1] but is ");
    for (const bool training : {true, false})
      EXPECT_THROWS(std::invalid_argument, xgrad::dropout(x, p, rng, training),
                    "[dropout] p must be in [0, 1] but is ");
  }
  EXPECT_EQ(rng.state(), before);
}

TEST(Dropout, DRP_03_ScalingAndCount) {
  Rng rng(2);
  Dropout<double> layer(0.25, rng);
  const std::size_t n = 1000000;
  const auto y = layer(xgrad::ones<double>({n})).value();
  double kept = 0, sum = 0;
  for (const double v : y) {
    ASSERT_TRUE(v == 0 || v == 4.0 / 3) << v;
    kept += v > 0;
    sum += v;
  }
  EXPECT_NEAR(kept, 750000, 2200);
  EXPECT_NEAR(sum / static_cast<double>(n), 1, 0.0029);
}

TEST(Dropout, DRP_03_EvaluationUsesNoNumbers) {
  const Variable<double> x(sample<double>({100}, 3));
  Rng rng(4), same(4);
  Dropout<double> layer(0.5, rng), other(0.5, same);
  layer.eval();
  EXPECT_TRUE(xgrad::array_equal(layer(x).value(), x.value()));
  layer.train();
  EXPECT_TRUE(xgrad::array_equal(layer(x).value(), other(x).value()));
}

TEST(Dropout, DRP_03_MasksDifferAndRepeat) {
  const Variable<double> x(xgrad::ones<double>({200}));
  Rng rng(4), same(4);
  Dropout<double> first(0.5, rng), second(0.5, rng), repeated(0.5, same);
  const auto a = first(x).value(), b = first(x).value();
  EXPECT_FALSE(xgrad::array_equal(a, b));                   // step by step
  EXPECT_FALSE(xgrad::array_equal(a, second(x).value()));   // layer by layer
  EXPECT_TRUE(xgrad::array_equal(a, repeated(x).value()));  // run by run
  const auto state = first.rng.state();
  const auto c = first(x).value();
  first.rng.set_state(state);
  EXPECT_TRUE(xgrad::array_equal(c, first(x).value()));
}

TEST(Dropout, DRP_03_ModeReachesNestedModules) {
  Rng rng(5);
  using Steps = xgrad::Sequential<double>;
  Steps model{Steps{Dropout<double>(0.5, rng)}, Dropout<double>(0.5, rng)};
  const Variable<double> x(xgrad::ones<double>({100}));
  EXPECT_FALSE(xgrad::array_equal(model(x).value(), x.value()));
  {
    const xgrad::EvalScope<double> scope(model);
    EXPECT_TRUE(xgrad::array_equal(model(x).value(), x.value()));
  }
  model.at<Dropout<double>>(1).eval();
  EXPECT_FALSE(xgrad::array_equal(model(x).value(), x.value()));
  model.eval();
  EXPECT_TRUE(xgrad::array_equal(model(x).value(), x.value()));
}

TEST(Dropout, FloatAndDoubleDropTheSame) {
  Rng a(6), b(6);
  const auto wide = xgrad::dropout(Variable<double>(xgrad::ones<double>({1000})), 0.3, a).value();
  const auto narrow = xgrad::dropout(Variable<float>(xgrad::ones<float>({1000})), 0.3, b).value();
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(wide(i) == 0, narrow(i) == 0);
}

TEST(Dropout, GradientHasTheMaskOfTheValue) {
  Rng rng(7);
  Variable<double> x(xgrad::ones<double>({100}), true);
  const auto y = xgrad::dropout(x, 0.4, rng);
  y.backward(xgrad::ones<double>({100}));
  EXPECT_TRUE(xgrad::array_equal(x.grad(), y.value()));
}

TEST(Dropout, Contract) {
  Rng rng(8);
  for (const double p : {0.0, 0.5, 1.0}) {
    Dropout<double> layer(p, rng);
    const auto x = sample<double>({3, 5}, 9);
    EXPECT_TRUE(xgrad::testing::layer_contract(layer, x)) << p;
    EXPECT_TRUE(xgrad::testing::second_gradients_match(
        layer, [&](const auto& v) { return layer(v * v); }, x))
        << p;
  }
}

TEST(Dropout, EmptyInput) {
  Rng rng(9);
  EXPECT_EQ(xgrad::dropout(Variable<float>(xgrad::zeros<float>({0, 4})), 0.5, rng).shape(), (xgrad::Shape{0, 4}));
}

}  // namespace
