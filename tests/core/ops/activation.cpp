// Reference numbers and special points of the activations.
#include <xgrad/core/ops/activation.hpp>
#include <xgrad/core/ops/pointwise.hpp>

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
