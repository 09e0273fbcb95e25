// Reference numbers and special points of the activations.
#include <xgrad/core/ops/activation.hpp>
#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/ops/reduction.hpp>

#include "checks.hpp"

using namespace opcheck;

TEST(Activation, ACT_01_TwoFormsOfGelu) {
  const V x = leaf({-3, -1, 0, 0.5, 1, 3});
  expect_array(
      xgrad::gelu(x).value(),
      {-0.004049694094890284, -0.1586552539314571, 0, 0.3457312306370066, 0.8413447460685429, 2.99595030590511}, 1e-12);
  expect_array(
      gradient(xgrad::gelu(x), x),
      {-0.01194564720418393, -0.0833154705876863, 0.5, 0.8674951246561628, 1.083315470587686, 1.011945647204184},
      1e-12);
  expect_array(
      xgrad::gelu_tanh(x).value(),
      {-0.003637392081773019, -0.1588080093917233, 0, 0.3457140098251439, 0.8411919906082767, 2.996362607918227},
      1e-12);
  expect_array(
      gradient(xgrad::gelu_tanh(x), x),
      {-0.01158416663096973, -0.08296408384578256, 0.5, 0.8673699035346423, 1.082964083845783, 1.01158416663097},
      1e-12);
}

TEST(Activation, ACT_01_GeluKeepsDigitsFarBelowZero) {
  const V x = leaf({-6, -9});
  expect_array(xgrad::gelu(x).value(), {-5.919525870226189e-9, -1.015729565358e-18}, 1e-10);
  EXPECT_NEAR(gradient(xgrad::gelu(x), x)(0), -3.546870945390201e-8, 1e-18);
  const V six = leaf({-6});
  expect_array(xgrad::gelu_tanh(six).value(), {-8.439646700762297e-11}, 0, 1e-15);
  expect_array(gradient(xgrad::gelu_tanh(six), six), {-7.709973930953696e-10}, 0, 1e-15);
}

TEST(Activation, ACT_03_ReluKeepsNaN) {
  const V x = leaf({NaN, 1, -1, 0, -0.0});
  const V y = xgrad::relu(x);
  expect_array(y.value(), {NaN, 1, 0, 0, 0});
  expect_array(gradient(y, x), {NaN, 1, 0, 0, 0});
  expect_array(gradient(y, x, array({0, 1, inf, -inf, NaN})), {NaN, 1, 0, 0, 0});
  // An infinite gradient from above a dead unit stays out.
  const V z = leaf({-1, 4});
  expect_array(gradient(xgrad::sqrt(xgrad::relu(z)), z), {0, 0.25});
}

TEST(Activation, BothEndsAreFinite) {
  const V x = leaf({-1e4, -800, 800, 1e4});
  expect_array(xgrad::sigmoid(x).value(), {0, 0, 1, 1});
  expect_array(gradient(xgrad::sigmoid(x), x), {0, 0, 0, 0});
  expect_array(xgrad::softplus(x).value(), {0, 0, 800, 1e4});
  expect_array(gradient(xgrad::softplus(x), x), {0, 0, 1, 1});
  for (const V& y : {xgrad::silu(x), xgrad::gelu(x), xgrad::gelu_tanh(x)}) {
    expect_array(y.value(), {0, 0, 800, 1e4});
    expect_array(gradient(y, x), {0, 0, 1, 1});
  }
}

TEST(Activation, SWG_01_Silu) {
  const V x = leaf({2});
  expect_array(xgrad::silu(x).value(), {1.761594155955765}, 1e-14);
  expect_array(gradient(3 * xgrad::silu(x), x), {3.272352746354686}, 1e-14);
}

namespace {

template <class T>
class ActivationEnds : public ::testing::Test {};
using BothTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ActivationEnds, BothTypes, );

}  // namespace

// The slope of each is its limit there, and all further derivatives are 0, whatever squares and cubes of x would be.
TYPED_TEST(ActivationEnds, DerivativesOfEveryOrder) {
  using T = TypeParam;
  using W = xgrad::Variable<T>;
  struct Case {
    const char* name;
    W (*f)(const W&);
    T below, above;  // slopes
  };
  const std::vector<Case> cases = {
      {"sigmoid", xgrad::sigmoid, 0, 0},
      {"softplus", xgrad::softplus, 0, 1},
      {"relu", xgrad::relu, 0, 1},
      {"gelu", xgrad::gelu, 0, 1},
      {"gelu_tanh", xgrad::gelu_tanh, 0, 1},
      {"silu", xgrad::silu, 0, 1},
      {"normal_cdf", xgrad::normal_cdf, 0, 0},
      {"normal_pdf", xgrad::normal_pdf, 0, 0},
      {"gelu_grad", xgrad::gelu_grad, 0, 0},
      {"gelu_tanh_grad", xgrad::gelu_tanh_grad, 0, 0},
      {"silu_grad", xgrad::silu_grad, 0, 0},
      {"tanh", xgrad::tanh, 0, 0},
      {"erf", xgrad::erf, 0, 0},
  };
  const T largest = std::numeric_limits<T>::max();
  std::vector<T> sizes = {
      T(sizeof(T) == 4 ? 200 : 1000), T(1e4), T(1e7), T(1e13), T(1e20), std::sqrt(largest), T(0.9) * largest, T(inf)};
  for (const double size : {1e60, 1e110, 1e200, 1e308})
    if (sizeof(T) == 8) sizes.push_back(static_cast<T>(size));
  for (const Case& c : cases)
    for (const T size : sizes)
      for (const T g : {T(1), T(3)}) {
        const W x(xgrad::from<T>({-size, size}), true);
        EXPECT_EQ(xgrad::grad({c.f(x)}, {x}, {false}, {W(xgrad::full<T>({2}, g))})[0].value(),
                  (Array<T>{g * c.below, g * c.above}))
            << c.name << " at " << size;
        W slope = xgrad::grad({c.f(x)}, {x}, {true}, {W(xgrad::full<T>({2}, g))})[0];
        EXPECT_EQ(slope.value(), (Array<T>{g * c.below, g * c.above})) << c.name << " at " << size;
        for (int order = 2; order <= 4; ++order) {
          if (!slope.requires_grad()) break;
          slope = xgrad::grad({slope}, {x}, {true, true, true}, {W(xgrad::full<T>({2}, g))})[0];
          EXPECT_EQ(slope.value(), (Array<T>{0, 0})) << c.name << " of order " << order << " at " << size;
        }
      }
}

// What a recorded pass gives keeps the digits of the ordinary one.
TYPED_TEST(ActivationEnds, RecordedSlopesKeepDigitsFarBelowZero) {
  using T = TypeParam;
  using W = xgrad::Variable<T>;
  using F = W (*)(const W&);
  for (const F f : {F(xgrad::silu), F(xgrad::gelu_tanh)}) {
    const W x(xgrad::from<T>({-3, -5, -7}), true);
    const auto ordinary = xgrad::grad(xgrad::sum(f(x)), x).value();
    const auto recorded = xgrad::grad(xgrad::sum(f(x)), x, {true}).value();
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(recorded(i), ordinary(i), 200 * std::numeric_limits<T>::epsilon() * std::abs(ordinary(i))) << x;
  }
}
