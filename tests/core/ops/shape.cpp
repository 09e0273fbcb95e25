// Shapes, rows by number and parts: gradients that add up, costs and errors.
#include <ctime>
#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/ops/join.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/ops/shape.hpp>

#include "checks.hpp"

using namespace opcheck;

namespace {

xgrad::Index index(const std::vector<std::int64_t>& rows) { return xgrad::from(rows, {rows.size()}); }

}  // namespace

TEST(Take, AG_05_RepeatedRowsAddUp) {
  const V x = leaf({0.1});
  expect_array(gradient(xgrad::take(x, index({0, 0})), x, array({0.2, 0.3})), {0.5}, 1e-15);
  const V table = V(xgrad::zeros<double>({5, 2}), true);
  const Array<double> dy = array({1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, {5, 2});
  expect_array(gradient(xgrad::take(table, index({0, 4, 2, 2, 4})), table, dy), {1, 1, 0, 0, 7, 7, 0, 0, 7, 7}, 1e-15);
}

TEST(Take, AG_05_InvalidAndEmpty) {
  const V table = V(xgrad::ones<double>({5, 2}), true);
  EXPECT_THROW(xgrad::take(table, index({0, -1})), xgrad::ShapeError);
  EXPECT_THROW(xgrad::take(table, index({5})), xgrad::ShapeError);
  const V none = xgrad::take(table, index({}));
  EXPECT_EQ(none.shape(), Shape({0, 2}));
  expect_array(gradient(none, table), xgrad::zeros<double>({5, 2}));
}

TEST(Shape, Errors) {
  const V x = leaf({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THROW(xgrad::reshape(x, {4, -1}), xgrad::ShapeError);
  EXPECT_THROW(xgrad::permute(x, {0, 0}), xgrad::ShapeError);
  EXPECT_THROW(xgrad::permute(x, {0}), xgrad::ShapeError);
  EXPECT_THROW(xgrad::expand_dims(x, 3), xgrad::ShapeError);
  EXPECT_THROW(xgrad::squeeze(x, 0), xgrad::ShapeError);
  EXPECT_THROW(xgrad::broadcast_to(x, {3, 2}), xgrad::ShapeError);
}

TEST(Join, PartsOfOtherShapesAreRefused) {
  const V a = leaf({1, 2, 3}), b = leaf({1, 2, 3}, {1, 3});
  EXPECT_THROW(xgrad::concatenate({a, b}), xgrad::ShapeError);
  EXPECT_THROW(xgrad::concatenate(std::vector<V>{}), xgrad::ShapeError);
  EXPECT_THROW(xgrad::stack({a, b}), xgrad::ShapeError);
  EXPECT_THROW(xgrad::split(a, 2), xgrad::ShapeError);
  EXPECT_THROW(xgrad::split(a, std::vector<std::size_t>{1, 1}), xgrad::ShapeError);
}

TEST(Join, OnePartTwice) {
  const V a = leaf({1, 2});
  expect_array(gradient(xgrad::concatenate({a, a}), a, array({1, 2, 3, 4})), {4, 6});
  expect_array(gradient(xgrad::stack({a, a}, 1), a, array({1, 2, 3, 4}, {2, 2})), {3, 7});
}

TEST(Split, PartsInUseAloneLeaveTheOthersZero) {
  const V x = leaf({1, 2, 3, 4, 5, 6}, {3, 2});
  const auto parts = xgrad::split(x, 3);
  ASSERT_EQ(parts.size(), 3u);
  expect_array(gradient(parts[1], x), {0, 0, 1, 1, 0, 0});
  const auto columns = xgrad::split(x, std::vector<std::size_t>{1, 1}, 1);
  expect_array(columns[1].value(), array({2, 4, 6}, {3, 1}));
}

// One buffer for all parts: k times the numbers would be 4 gigabytes here, and minutes.
TEST(Split, BackwardThroughAllPartsIsOnePass) {
  const std::size_t n = std::size_t{1} << 15;
  const V x = V(xgrad::ones<double>({n}), true);
  V total = 0;
  for (const V& part : xgrad::split(x, n)) total += xgrad::sum(part);
  const std::clock_t start = std::clock();  // of the processor, which other programs do not slow down
  total.backward();
  const std::clock_t taken = std::clock() - start;
  expect_array(x.grad(), xgrad::ones<double>({n}));
  EXPECT_LT(taken, 2 * CLOCKS_PER_SEC);
}
