#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <xgrad/core/arithmetic.hpp>
#include <xgrad/optim/clip.hpp>

namespace {

template <class T>
xgrad::Variable<T> with_grad(const std::vector<T>& g) {
  xgrad::Variable<T> v(xgrad::zeros<T>({g.size()}), true);
  v.set_grad(xgrad::from(g));
  return v;
}

const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
class Clip : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Clip, Types, );  // clang wants the empty argument

TYPED_TEST(Clip, NormScalesAllGradientsTogether) {
  using T = TypeParam;
  auto a = with_grad<T>({3, 0}), b = with_grad<T>({-4});
  EXPECT_EQ(xgrad::clip_grad_norm<T>({a, b}, 1), 5);
  EXPECT_NEAR(a.grad()(0), 0.6, 1e-7);
  EXPECT_NEAR(b.grad()(0), -0.8, 1e-7);
  EXPECT_EQ(a.grad()(1), 0);
}

TYPED_TEST(Clip, SmallNormsStayBitForBit) {
  using T = TypeParam;
  auto a = with_grad<T>({T(0.3), T(0.4)});
  EXPECT_NEAR(xgrad::clip_grad_norm<T>({a}, 0.6), 0.5, 1e-7);
  EXPECT_EQ(a.grad()(0), T(0.3));
  EXPECT_EQ(xgrad::clip_grad_norm<T>({with_grad<T>({0, 0})}, 1), 0);
}

TYPED_TEST(Clip, ValueBoundsEveryEntry) {
  using T = TypeParam;
  auto a = with_grad<T>({-3, T(-0.5), 0, T(0.5), 3, static_cast<T>(infinity), static_cast<T>(nan)});
  xgrad::clip_grad_value<T>({a}, 1);
  const auto& g = a.grad();
  EXPECT_TRUE(xgrad::array_equal(xgrad::from<T>(g.data(), {6}), xgrad::from<T>({-1, T(-0.5), 0, T(0.5), 1, 1})));
  EXPECT_TRUE(std::isnan(g(6)));
}

TEST(ClipGradNorm, AccumulatesInDouble) {
  // In float the sum of squares would stop growing at 2^24.
  auto a = with_grad<float>(std::vector<float>(20'000'000, 1.0f));
  EXPECT_DOUBLE_EQ(xgrad::clip_grad_norm<float>({a}, infinity), std::sqrt(2e7));
}

TEST(ClipGradNorm, NeitherOverflowsNorUnderflows) {
  EXPECT_NEAR(xgrad::clip_grad_norm<double>({with_grad<double>({3e200, 4e200})}, infinity) / 5e200, 1, 1e-15);
  EXPECT_NEAR(xgrad::clip_grad_norm<double>({with_grad<double>({3e-200, 4e-200})}, infinity) / 5e-200, 1, 1e-15);
  auto a = with_grad<double>({3e200, 4e200});
  xgrad::clip_grad_norm<double>({a}, 1);
  EXPECT_NEAR(a.grad()(0), 0.6, 1e-15);
}

TEST(ClipGradNorm, NonFiniteNormChangesNothing) {
  auto a = with_grad<double>({1, infinity}), b = with_grad<double>({nan, 7});
  EXPECT_EQ(xgrad::clip_grad_norm<double>({a}, 1), infinity);
  EXPECT_EQ(a.grad()(0), 1);
  EXPECT_TRUE(std::isnan(xgrad::clip_grad_norm<double>({a, b}, 1)));
  EXPECT_EQ(b.grad()(1), 7);
}

TEST(ClipGradNorm, LeavesOutWhatAStepWouldSkip) {
  auto a = with_grad<double>({3}), frozen = with_grad<double>({100});
  frozen.set_requires_grad(false);
  const xgrad::Variable<double> without(xgrad::zeros<double>({2}), true);
  EXPECT_EQ(xgrad::clip_grad_norm<double>({a, frozen, without, a}, infinity), 3);
  EXPECT_EQ(xgrad::clip_grad_norm<double>({}, 1), 0);
}

TEST(ClipGradNorm, MaxNormZeroGivesZeros) {
  auto a = with_grad<double>({3, 4});
  EXPECT_EQ(xgrad::clip_grad_norm<double>({a}, 0), 5);
  EXPECT_EQ(a.grad()(1), 0);
}

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Clip, RefusesImpossibleBounds) {
  const std::vector<xgrad::Variable<double>> p = {with_grad<double>({3})};
  EXPECT_EQ(refusal([&] { xgrad::clip_grad_norm(p, -1); }), "[clip_grad_norm] max_norm must be >= 0 but is -1");
  EXPECT_EQ(refusal([&] { xgrad::clip_grad_norm(p, nan); }), "[clip_grad_norm] max_norm must be >= 0 but is nan");
  EXPECT_EQ(refusal([&] { xgrad::clip_grad_value(p, -1); }), "[clip_grad_value] bound must be >= 0 but is -1");
  EXPECT_EQ(refusal([&] { xgrad::clip_grad_value(p, nan); }), "[clip_grad_value] bound must be >= 0 but is nan");
  const std::vector<xgrad::Variable<double>> constant = {xgrad::Variable<double>(xgrad::ones<double>({1}))};
  EXPECT_EQ(refusal([&] { xgrad::clip_grad_norm(constant, 1); }),
            "[clip_grad_norm] parameters must be leaves but number 0 is a constant; pass model.parameters(), or "
            "Variables made with requires_grad = true");
  EXPECT_EQ(p[0].grad()(0), 3);
}

}  // namespace
