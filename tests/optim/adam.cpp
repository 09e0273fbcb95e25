#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>
#include <xgrad/optim/adam.hpp>

#include "throws.hpp"

namespace {

using xgrad::Adam;
using xgrad::AdamW;
using V = xgrad::Variable<double>;

V one() { return {xgrad::full<double>({}, 1), true}; }

/// w after each of `steps` steps from w = 1, the gradient being `slope(w)`.
template <class Optimizer, class F>
std::vector<double> path(Optimizer&& optimizer, V w, int steps, F slope) {
  std::vector<double> result;
  for (int i = 0; i < steps; ++i) {
    w.set_grad(xgrad::full<double>({}, slope(w.item())));
    optimizer.step();
    result.push_back(w.item());
  }
  return result;
}

void expect_path(const std::vector<double>& got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance * want[i]) << "step " << i + 1;
}

const auto always_one = [](double) { return 1.0; };
const auto parabola = [](double w) { return w; };  // the gradient of w^2/2
const auto flat = [](double) { return 0.0; };

TEST(Adam, OPT_02_MomentsAreCorrectedAndNotWrittenBack) {
  V w = one();
  expect_path(path(Adam<double>({w}), w, 3, always_one), {0.99900000001, 0.99800000002, 0.99700000003}, 1e-12);
}

TEST(Adam, OPT_02_EpsStandsOutsideTheRootAfterTheCorrection) {
  V w = one();
  w.mutate([](auto& a) { a.fill(0); });
  Adam<double> adam({w}, {1});
  w.set_grad(xgrad::full<double>({}, 1e-8));
  adam.step();
  EXPECT_NEAR(-w.item(), 0.5, 0.5e-12);
}

TEST(Adam, OPT_02_Parabola) {
  V w = one();
  expect_path(path(Adam<double>({w}, {0.1}), w, 4, parabola),
              {0.900000001, 0.8004122297123374, 0.7015862745044142, 0.6039390626821066}, 1e-12);
}

TEST(Adam, OPT_03_DecayGoesThroughTheGradient) {
  V w = one();
  expect_path(path(Adam<double>({w}, {0.01, 0.9, 0.999, 1e-8, 0.1}), w, 3, flat),
              {0.990000001, 0.9800027479, 0.9700101022}, 1e-10);
}

TEST(AdamW, OPT_03_DecayIsDecoupledAndTimesTheRate) {
  V w = one();
  expect_path(path(AdamW<double>({w}, {0.01, 0.9, 0.999, 1e-8, 0.1}), w, 3, flat), {0.999, 0.998001, 0.997002999},
              1e-14);
}

TEST(AdamW, OPT_03_GroupsWithoutDecayStayExactly) {
  V weight = one(), bias = one();
  AdamW<double> adam(std::vector<xgrad::ParameterGroup<double>>{{{weight}}, {{bias}, 1, 0}},
                     {0.01, 0.9, 0.999, 1e-8, 0.1});
  for (int i = 0; i < 3; ++i) {
    weight.set_grad(xgrad::zeros<double>({}));
    bias.set_grad(xgrad::zeros<double>({}));
    adam.step();
  }
  EXPECT_NEAR(weight.item(), 0.997002999, 1e-14);
  EXPECT_EQ(bias.item(), 1);
}

TEST(Adam, CountsTheStepsOfEachParameter) {
  V early = one(), late = one();
  Adam<double> adam({early, late}, {0.1});
  for (int i = 0; i < 5; ++i) {
    early.set_grad(xgrad::ones<double>({}));
    adam.step();
  }
  late.set_grad(xgrad::ones<double>({}));
  adam.step();
  EXPECT_NEAR(late.item(), 0.9, 1e-8);  // its first step, corrected as such
}

TEST(Adam, AmsgradKeepsTheLargestSquares) {
  V plain = one(), ams = one();
  Adam<double> a({plain}, {0.1, 0.9, 0.5}), b({ams}, {0.1, 0.9, 0.5, 1e-8, 0, true});
  for (const double g : {10.0, 0.1, 0.1, 0.1}) {
    plain.set_grad(xgrad::full<double>({}, g));
    ams.set_grad(xgrad::full<double>({}, g));
    a.step();
    b.step();
  }
  EXPECT_LT(plain.item(), ams.item());  // a smaller divisor makes longer steps
}

TEST(Adam, ANaNGradientIsNotHidden) {
  for (const bool amsgrad : {false, true}) {
    V w = one();
    Adam<double> adam({w}, {0.1, 0.9, 0.999, 1e-8, 0, amsgrad});
    w.set_grad(xgrad::full<double>({}, std::numeric_limits<double>::quiet_NaN()));
    adam.step();
    EXPECT_TRUE(std::isnan(w.item()));
    w.set_grad(xgrad::ones<double>({}));
    adam.step();
    EXPECT_TRUE(std::isnan(w.item()));
  }
}

TEST(Adam, TakesEmptyParameters) {
  V w(xgrad::zeros<double>({0, 3}), true);
  AdamW<double> adam({w});
  w.set_grad(xgrad::zeros<double>({0, 3}));
  adam.step();
  EXPECT_EQ(w.shape(), (xgrad::Shape{0, 3}));
}

TEST(Adam, ResumesBitForBitFromItsState) {
  for (const bool amsgrad : {false, true}) {
    V a(xgrad::from<double>({1, 2, 3}), true), b(xgrad::from<double>({1, 2, 3}), true);
    const xgrad::AdamWOptions options{0.1, 0.9, 0.99, 1e-8, 0.1, amsgrad};
    AdamW<double> whole({a}, options), resumed({b}, options);
    const auto step = [](V& w, AdamW<double>& adam, double g) {
      w.set_grad(xgrad::full<double>({3}, g));
      adam.step();
    };
    for (const double g : {1.0, 0.3, -2.0}) step(a, whole, g);
    b.mutate([&](auto& x) { x = a.value(); });
    const auto state = whole.state();
    EXPECT_EQ(state.arrays.size(), amsgrad ? 3u : 2u);
    resumed.load_state(state);
    for (const double g : {0.5, -0.2}) {
      step(a, whole, g);
      step(b, resumed, g);
    }
    EXPECT_TRUE(xgrad::array_equal(a.value(), b.value()));
  }
}

TEST(Adam, AStateOfOtherOptionsIsRefused) {
  V a = one(), b = one(), c = one();
  Adam<double> plain({a}), amsgrad({b}, {0.1, 0.9, 0.999, 1e-8, 0, true});
  AdamW<double> other({c});
  a.set_grad(xgrad::ones<double>({}));
  plain.step();
  EXPECT_THROWS(std::invalid_argument, amsgrad.load_state(plain.state()), "\n  missing: Adam.0.buffer.2");
  EXPECT_THROWS(std::invalid_argument, other.load_state(plain.state()), "[AdamW] the state must be of the same");
}

TEST(Adam, RefusesImpossibleOptions) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<V> p = {one()};
  EXPECT_THROWS(std::invalid_argument, Adam<double>(p, {-1}), "[Adam] lr must be finite and >= 0 but is -1");
  EXPECT_THROWS(std::invalid_argument, Adam<double>(p, {0.1, 1}), "[Adam] beta1 must be in [0, 1) but is 1");
  EXPECT_THROWS(std::invalid_argument, Adam<double>(p, {0.1, -0.1}), "[Adam] beta1 must be in [0, 1) but is -0.1");
  EXPECT_THROWS(std::invalid_argument, AdamW<double>(p, {0.1, 0.9, nan}), "[AdamW] beta2 must be in [0, 1) but is nan");
  EXPECT_THROWS(std::invalid_argument, Adam<double>(p, {0.1, 0.9, 0.999, -1}),
                "[Adam] eps must be finite and >= 0 but is -1");
  EXPECT_THROWS(std::invalid_argument, AdamW<double>(p, {0.1, 0.9, 0.999, 1e-8, -2}),
                "[AdamW] weight_decay must be finite and >= 0 but is -2");
}

}  // namespace
