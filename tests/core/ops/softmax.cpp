// Huge logits, masks and rows that are masked altogether.
#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/ops/select.hpp>
#include <xgrad/core/ops/softmax.hpp>

#include "checks.hpp"

using namespace opcheck;

TEST(LogSoftmax, ACT_04_HugeLogits) {
  const auto of = [](const std::vector<double>& x) { return xgrad::log_softmax(leaf(x)).value(); };
  const double half = -0.6931471805599453;
  expect_array(of({1e8, 1e8}), {half, half}, 1e-14);
  expect_array(of({0, -1e7}), {0, -1e7}, 1e-14);
  expect_array(of({1000, 0}), {0, -1000}, 1e-14);
  expect_array(of({710, 710, 0}), {half, half, -710.6931471805599}, 1e-14);
  expect_array(of({-1000, -1001}), {-0.3132616875182228, -1.313261687518223}, 1e-14);
  expect_array(of({-5.2040, 7.8325}), {-13.03650217931252, -2.179312517909411e-6}, 1e-14, 1e-15);
  expect_array(of({88.72284}), {0});
  expect_array(xgrad::softmax(leaf({-5.2040, 7.8325})).value(), {2.179310143209611e-6, 1 - 2.179310143209611e-6},
               1e-13);
}

TEST(LogSoftmax, ACT_04_GradientOfHugeLogits) {
  const V x = leaf({0, -1e7});
  const V loss = -xgrad::log_softmax(x);
  expect_array(gradient(loss, x, array({0, 1})), {1, -1});
}

TEST(LogSoftmax, RowOfMinusInfinity) {
  const V x = leaf({-inf, -inf, 0, -inf}, {2, 2});
  const V y = xgrad::log_softmax(x);
  expect_array(y.value(), {-inf, -inf, 0, -inf});
  expect_array(gradient(y, x, array({1, 2, 1, 0}, {2, 2})), {0, 0, 0, 0});
  const auto first = xgrad::grad({y}, {x}, {true}, {leaf({1, 2, 1, 0}, {2, 2})});
  expect_array(first[0].value(), {0, 0, 0, 0});
  expect_array(gradient(first[0], x), {0, 0, 0, 0});
}

TEST(Softmax, FullyMaskedRowIsZeroToSecondOrder) {
  const Array<double> mask = array({0, 0, 0, 1, 0, 1}, {2, 3});
  const V x = leaf({NaN, inf, 1, 0.5, NaN, 1.5}, {2, 3}), g = leaf({1, 2, 3, 4, 5, 6}, {2, 3});
  const V y = xgrad::softmax(x, mask);
  const double p = 1 / (1 + std::exp(1.0)), pq = p * (1 - p);
  expect_array(y.value(), {0, 0, 0, p, 0, 1 - p}, 1e-15);
  expect_array(gradient(y, x, g.value()), {0, 0, 0, -2 * pq, 0, 2 * pq}, 1e-14);
  const auto first = xgrad::grad({y}, {x}, {true}, {g});
  expect_array(first[0].value(), {0, 0, 0, -2 * pq, 0, 2 * pq}, 1e-14);
  const Array<double> second = gradient(first[0], x, array({1, 1, 1, 1, 0, 0}, {2, 3}));
  const double d = -2 * pq * (1 - 2 * p);  // d/dx0 of -2 p (1 - p)
  expect_array(second, {0, 0, 0, d, 0, -d}, 1e-14);
  expect_array(gradient(first[0], g), {0, 0, 0, 0, 0, 0}, 0, 1e-15);
}

TEST(Softmax, RowOfMinusInfinityIsZero) {
  const V x = leaf({-inf, -inf, 1, 1}, {2, 2});
  const V y = xgrad::softmax(x);
  expect_array(y.value(), {0, 0, 0.5, 0.5});
  expect_array(gradient(y, x, array({1, 2, 1, 2}, {2, 2})), {0, 0, -0.25, 0.25});
}

TEST(Softmax, MasksOfEveryKind) {
  const V x = leaf({1, 2, 3, 4}, {2, 2});
  const Array<double> mask = array({1, 0});
  const std::vector<double> want = {1, 0, 1, 0};
  expect_array(xgrad::softmax(x, mask).value(), want);                    // broadcast
  expect_array(xgrad::softmax(x, V(mask)).value(), want);                 // Variable
  expect_array(xgrad::softmax(x, xgrad::from<int>(mask)).value(), want);  // another type
  expect_array(xgrad::softmax(x, mask > 0.5).value(), want);              // lazy
  expect_array(xgrad::softmax(x, xgrad::less(x, 4), 0).value(),
               array({1 / (1 + std::exp(2.)), 1, 1 - 1 / (1 + std::exp(2.)), 0}, {2, 2}), 1e-15);
  expect_error<xgrad::GraphError>([&] { xgrad::softmax(x, x); },
                                  "[softmax] the mask has no derivative but requires a gradient; pass detach() of it");
  expect_error<xgrad::ShapeError>(
      [&] {
        xgrad::softmax(x, array({1, 1, 1}));
      },
      "[softmax] shapes (2, 2) and (3,) do not broadcast: axis -1 is 2 vs 3");
  EXPECT_THROW(xgrad::softmax(x, 2), xgrad::ShapeError);
}
