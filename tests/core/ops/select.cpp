// Ties, bounds, NaN and conditions.
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/ops/select.hpp>

#include "checks.hpp"

using namespace opcheck;

TEST(Select, AG_07_TiesShare) {
  const V a = leaf({1, 2, 3}), b = leaf({3, 2, 1});
  for (const V& y : {xgrad::maximum(a, b), -xgrad::minimum(-a, -b)}) {
    expect_array(y.value(), {3, 2, 3});
    expect_array(gradient(y, a), {0, 0.5, 1});
    expect_array(gradient(y, b), {1, 0.5, 0});
  }
  const V x = leaf({2, 0});
  expect_array(gradient(xgrad::maximum(x, x), x), {1, 1});
}

TEST(Select, ACT_03_MaximumKeepsNaN) {
  const V a = leaf({NaN, 1, NaN}), b = leaf({1, NaN, NaN});
  expect_array(xgrad::maximum(a, b).value(), {NaN, NaN, NaN});
  expect_array(xgrad::minimum(a, b).value(), {NaN, NaN, NaN});
  expect_array(xgrad::maximum(a, 0).value(), {NaN, 1, NaN});
  expect_array(xgrad::maximum(0, a).value(), {NaN, 1, NaN});
  expect_array(gradient(xgrad::maximum(a, b), a), {1, 1, 1});
}

TEST(Select, ClipPassesWithinTheBounds) {
  const V x = leaf({-2, -1, 0, 1, 2, NaN});
  expect_array(xgrad::clip(x, -1, 1).value(), {-1, -1, 0, 1, 1, NaN});
  expect_array(gradient(xgrad::clip(x, -1, 1), x), {0, 1, 1, 1, 0, 0});
  expect_array(gradient(xgrad::clip(x, -1, 1), x, array({inf, 1, 1, 1, inf, 1})), {0, 1, 1, 1, 0, 0});
  EXPECT_THROW(xgrad::clip(x, 1, -1), std::invalid_argument);
}

TEST(Select, WhereIgnoresTheOtherSide) {
  const V a = leaf({1, inf, 3}), b = leaf({NaN, 5, 6});
  const Array<double> condition = array({1, 0, -2});  // anything but 0
  const V y = xgrad::where(condition, a, b);
  expect_array(y.value(), {1, 5, 3});
  expect_array(gradient(y, a, array({1, inf, 2})), {1, 0, 2});
  expect_array(gradient(y, b, array({inf, 1, NaN})), {0, 1, 0});
  expect_array(xgrad::where(a > 2, a, 0).value(), {0, inf, 3});
  expect_array(xgrad::where(condition > 0, 7, a).value(), {7, inf, 3});
  expect_error<xgrad::GraphError>([&] { xgrad::where(a, a, b); },
                                  "[where] the condition has no derivative but requires a gradient; compare it (x > 0) "
                                  "or pass detach() of it");
  expect_array(xgrad::where(a.detach(), b, b).value(), b.value());
}

TEST(Select, ComparisonsAreConstants) {
  const V a = leaf({1, 2, NaN}), b = leaf({2, 2, NaN});
  const auto constant = [](const V& y, const std::vector<double>& want) {
    EXPECT_FALSE(y.requires_grad());
    expect_array(y.value(), want);
  };
  constant(a < b, {1, 0, 0});
  constant(a <= b, {1, 1, 0});
  constant(a > b, {0, 0, 0});
  constant(a >= b, {0, 1, 0});
  constant(xgrad::less(a, b), {1, 0, 0});
  constant(xgrad::less_equal(a, b), {1, 1, 0});
  constant(xgrad::greater(b, a), {1, 0, 0});
  constant(xgrad::greater_equal(b, a), {1, 1, 0});
  constant(xgrad::equal(a, b), {0, 1, 0});
  constant(xgrad::not_equal(a, b), {1, 0, 1});
  constant(xgrad::sign(a - 2), {-1, 0, NaN});
}

// AG-04: each operand's gradient has the operand's own shape.
TEST(Broadcasting, AG_04_SumsBack) {
  const V a = V(xgrad::ones<double>({3, 4}), true), b = V(xgrad::ones<double>({1, 4}), true);
  expect_array(gradient(a + b, a), xgrad::ones<double>({3, 4}));
  expect_array(gradient(a + b, b), array({3, 3, 3, 3}, {1, 4}));
  const V column = leaf({1, 2, 3, 4}, {4, 1}), row = leaf({5, 6, 7, 8}, {1, 4});
  const V loss = xgrad::sum(column * row);
  expect_array(gradient(loss, column), array({26, 26, 26, 26}, {4, 1}));
  expect_array(gradient(loss, row), array({10, 10, 10, 10}, {1, 4}));
  const V s = V(2.0 * xgrad::ones<double>({}), true);
  expect_array(gradient(s * xgrad::ones<double>({2, 3}), s), array({6}, {}));
  const V one = leaf({3});
  expect_array(gradient(one * xgrad::ones<double>({5, 4}), one), array({20}));
  const V flat = leaf({1, 2, 3, 4});
  expect_array(gradient(flat + a, flat), array({3, 3, 3, 3}));
  expect_array(gradient(xgrad::maximum(flat, a - 9), flat), array({3, 3, 3, 3}));
}
