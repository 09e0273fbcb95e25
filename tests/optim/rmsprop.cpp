#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>
#include <xgrad/optim/rmsprop.hpp>

#include "throws.hpp"

namespace {

using xgrad::RMSprop;
using V = xgrad::Variable<double>;

V one() { return {xgrad::full<double>({}, 1), true}; }

void step(V w, RMSprop<double>& optimizer, double gradient) {
  w.set_grad(xgrad::full<double>({}, gradient));
  optimizer.step();
}

TEST(RMSprop, FirstStep) {
  V w = one();
  RMSprop<double> plain({w}, {0.1, 0.75, 0});
  step(w, plain, 3);
  EXPECT_NEAR(w.item(), 1 - 0.1 / 0.5, 1e-15);  // 3 / sqrt(0.25 * 9)
  V c = one();
  RMSprop<double> centered({c}, {0.1, 0.75, 0, 0, 0, true});
  step(c, centered, 3);
  EXPECT_NEAR(c.item(), 1 - 0.1 / std::sqrt(0.25 - 0.0625), 1e-15);
}

TEST(RMSprop, CenteredNeverTakesTheRootOfANegativeNumber) {
  // A constant gradient: v - a^2 falls to 0 and rounding takes it below.
  V w = one();
  RMSprop<double> centered({w}, {1e-3, 0.5, 1e-3, 0, 0, true});
  for (int i = 0; i < 200; ++i) step(w, centered, 3.3);
  EXPECT_TRUE(std::isfinite(w.item()));
}

TEST(RMSprop, ANaNGradientIsNotHidden) {
  for (const bool centered : {false, true}) {
    V w = one();
    RMSprop<double> optimizer({w}, {0.1, 0.99, 1e-8, 0, 0.9, centered});
    step(w, optimizer, std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(std::isnan(w.item()));
  }
}

TEST(RMSprop, ResumesBitForBitFromItsState) {
  for (const double momentum : {0.0, 0.9})
    for (const bool centered : {false, true}) {
      V a = one(), b = one();
      const xgrad::RMSpropOptions options{0.1, 0.9, 1e-8, 0.1, momentum, centered};
      RMSprop<double> whole({a}, options), resumed({b}, options);
      for (const double g : {1.0, 0.3, -2.0}) step(a, whole, g);
      b.mutate([&](auto& x) { x = a.value(); });
      const auto state = whole.state();
      EXPECT_EQ(state.arrays.size(), 1u + (momentum > 0) + centered);
      resumed.load_state(state);
      for (const double g : {0.5, -0.2}) {
        step(a, whole, g);
        step(b, resumed, g);
      }
      EXPECT_EQ(a.item(), b.item());
    }
}

TEST(RMSprop, RefusesImpossibleOptions) {
  const std::vector<V> p = {one()};
  EXPECT_THROWS(std::invalid_argument, RMSprop<double>(p, {-1}), "[RMSprop] lr must be finite and >= 0 but is -1");
  EXPECT_THROWS(std::invalid_argument, RMSprop<double>(p, {0.1, 1}), "[RMSprop] alpha must be in [0, 1) but is 1");
  EXPECT_THROWS(std::invalid_argument, RMSprop<double>(p, {0.1, 0.9, -1}),
                "[RMSprop] eps must be finite and >= 0 but is -1");
  EXPECT_THROWS(std::invalid_argument, RMSprop<double>(p, {0.1, 0.9, 0, -1}),
                "[RMSprop] weight_decay must be finite and >= 0 but is -1");
  EXPECT_THROWS(std::invalid_argument, RMSprop<double>(p, {0.1, 0.9, 0, 0, 1.5}),
                "[RMSprop] momentum must be in [0, 1] but is 1.5");
}

}  // namespace
