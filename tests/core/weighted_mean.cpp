#include <gtest/gtest.h>

#include <cmath>
#include <xgrad/core/batches.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/weighted_mean.hpp>

namespace {

using xgrad::WeightedMean;
using V = xgrad::Variable<double>;

TEST(WeightedMean, DAT_04_OfBatchMeansIsTheMeanOverAll) {
  const auto losses = xgrad::from<double>({1, 2, 3, 4, 10});
  WeightedMean weighted, plain;
  for (auto [x, y] : xgrad::batches(losses, losses, 2)) {
    weighted.add(xgrad::mean(x).item(), x.shape()[0]);
    plain.add(xgrad::mean(x).item(), 1);
  }
  EXPECT_EQ(weighted.value(), 4);
  EXPECT_EQ(weighted.weight, 5);
  EXPECT_EQ(plain.value(), 5);
}

TEST(WeightedMean, DAT_04_AccumulatedGradientOfUnequalMicroBatches) {
  // The gradient of w x is x: three samples of 1 and one of 5.
  V w(xgrad::ones<double>({}), true);
  const auto x = xgrad::from<double>({1, 1, 1, 5});
  for (auto [part, ignored] : xgrad::batches(x, x, 3))
    (xgrad::mean(w * part) * (static_cast<double>(part.shape()[0]) / 4)).backward();
  EXPECT_EQ(w.grad()(), 2);
  w.zero_grad();
  xgrad::mean(w * V(x)).backward();
  EXPECT_EQ(w.grad()(), 2);
}

TEST(WeightedMean, OfNothingIsNaN) {
  WeightedMean mean;
  EXPECT_TRUE(std::isnan(mean.value()));
  mean.add(3, 0);
  EXPECT_TRUE(std::isnan(mean.value()));
  mean.add(3, 0.5);
  EXPECT_EQ(mean.value(), 3);
}

}  // namespace
