// Special points of the pointwise ops.
#include <xgrad/core/ops/pointwise.hpp>

#include "checks.hpp"

using namespace opcheck;

TEST(Pointwise, AG_07_FixedPowersAtZero) {
  const V x = leaf({0, 2});
  expect_array(gradient(xgrad::pow(x, 0), x), {0, 0});
  expect_array(gradient(xgrad::pow(x, 1), x), {1, 1});
  expect_array(gradient(xgrad::pow(x, 2), x), {0, 4});
  expect_array(gradient(xgrad::pow(x, 0.5), x), {inf, 0.5 / std::sqrt(2.0)}, 1e-15);
  const V zero = leaf({0, 0});  // PyTorch's answers
  expect_array(gradient(xgrad::rsqrt(zero), zero, array({1, 0})), {-inf, NaN});
  expect_array(gradient(xgrad::pow(zero, 0.5), zero, array({1, 0})), {inf, NaN});
}

TEST(Pointwise, AG_07_PowersOfTwoVariablesAtZero) {
  const V x = leaf({0, 2});
  for (const double p : {0.0, 1.0, 2.0}) {
    const V b = leaf({p, p});
    const V y = xgrad::pow(x, b);
    expect_array(gradient(y, x), {p == 1 ? 1.0 : 0.0, p == 0 ? 0.0 : p == 1 ? 1.0 : 4.0});
    expect_array(gradient(y, b), {0, std::pow(2.0, p) * std::log(2.0)}, 1e-15);
  }
  const V one = leaf({1, 1});
  expect_array(gradient(xgrad::pow(x, one), one), {0, 1.386294361119891}, 1e-15);
}

TEST(Pointwise, AG_07_SecondDerivativesOfPowersAreFiniteAtZero) {
  const V a = leaf({0, 0, 0, 2}), b = leaf({0, 1, 2, 0});
  const V y = xgrad::pow(a, b);
  const auto first = xgrad::grad({y}, {a, b}, {true}, {V(xgrad::ones<double>({4}))});
  expect_array(gradient(first[0], a), {0, 0, 2, 0});
  // d/db of b a^(b-1) at a = 2, b = 0 is 1/2.
  EXPECT_NEAR(gradient(first[0], b)(3), 0.5, 1e-15);
  expect_array(gradient(xgrad::grad({xgrad::pow(a, 2)}, {a}, {true}, {V(xgrad::ones<double>({4}))})[0], a),
               {2, 2, 2, 2});
}

TEST(Pointwise, AG_07_RootAtZero) {
  const V x = leaf({0, 0, 4});
  expect_array(gradient(xgrad::sqrt(x), x, array({1, 0, 1})), {inf, 0, 0.25});
  expect_array(gradient(xgrad::sqrt(x), x, array({-1, 0, 0})), {-inf, 0, 0});
  const V g = leaf({0, 0, 1});
  const auto first = xgrad::grad({xgrad::sqrt(x)}, {x}, {true}, {g});
  EXPECT_EQ(gradient(first[0], x)(1), 0);  // 0, not NaN, at the second order too
  EXPECT_NEAR(gradient(first[0], x)(2), -0.25 / 8, 1e-16);
}

TEST(Pointwise, LogAtZeroUnderAMask) {
  const V x = leaf({0, 2});
  expect_array(gradient(xgrad::log(x), x, array({0, 1})), {0, 0.5});
  expect_array(gradient(xgrad::log(x), x), {inf, 0.5});
}

TEST(Pointwise, AG_07_AbsAtZero) {
  const V x = leaf({0, -0.0, 3, -3, NaN});
  expect_array(gradient(xgrad::abs(x), x), {0, 0, 1, -1, NaN});
  expect_array(gradient(xgrad::sqrt(xgrad::abs(x)), x, array({1, 1, 0, 0, 0})), {0, 0, 0, 0, NaN});
}

TEST(Pointwise, DigitsNearZero) {
  const V x = leaf({1e-17});
  expect_array(xgrad::log1p(x).value(), {1e-17}, 1e-15);
  expect_array(xgrad::expm1(x).value(), {1e-17}, 1e-15);
  expect_array(gradient(xgrad::expm1(x), x), {1});
}

TEST(Pointwise, ReferenceNumbers) {  // 16 digits from an arbitrary-precision calculator
  const V x = leaf({0.5});
  expect_array(xgrad::erf(x).value(), {0.5204998778130465}, 1e-15);
  expect_array(gradient(xgrad::erf(x), x), {0.8787825789354449}, 1e-15);
  expect_array(xgrad::tanh(x).value(), {0.4621171572600098}, 1e-15);
  expect_array(gradient(xgrad::tanh(x), x), {0.7864477329659274}, 1e-15);
  expect_array(gradient(xgrad::rsqrt(x), x), {-1.414213562373095}, 1e-15);
  expect_array(gradient(xgrad::sin(x), x), {0.8775825618903728}, 1e-15);
  expect_array(gradient(xgrad::cos(x), x), {-0.4794255386042030}, 1e-15);
}

TEST(Pointwise, Errors) {
  const V a = leaf({1, 2}), b = leaf({1, 2, 3});
  expect_error<xgrad::GraphError>([] { xgrad::exp(V()); },
                                  "[Variable] this handle is undefined (default-constructed); assign a value first");
  EXPECT_THROW(xgrad::pow(a, b), xgrad::ShapeError);
}
