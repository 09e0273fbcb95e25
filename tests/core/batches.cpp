#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <xgrad/core/batches.hpp>

#include "throws.hpp"

namespace {

using xgrad::Array;
using xgrad::Index;
using xgrad::Rng;

/// Row i holds i and i + 0.5; its label is 10 i.
Array<double> features(std::size_t rows) {
  auto x = xgrad::empty<double>({rows, 2});
  for (std::size_t i = 0; i < rows; ++i) x(i, 0) = static_cast<double>(i), x(i, 1) = x(i, 0) + 0.5;
  return x;
}
Index labels(std::size_t rows) {
  auto y = xgrad::arange<std::int64_t>(static_cast<std::int64_t>(rows));
  for (auto& v : y) v *= 10;
  return y;
}

/// First entries of all rows in the order of one epoch; checks on the way that rows stay whole and x and y together.
std::vector<int> epoch(std::size_t rows, std::size_t size, Rng& rng, xgrad::BatchOptions options = {}) {
  const auto x = features(rows);
  const auto y = labels(rows);
  std::vector<int> order;
  for (auto [a, b] : xgrad::batches(x, y, size, rng, options)) {
    static_assert(std::is_same_v<decltype(a), xgrad::Variable<double>> && std::is_same_v<decltype(b), Index>);
    EXPECT_FALSE(a.requires_grad());
    EXPECT_EQ(a.shape()[1], 2u);
    EXPECT_EQ(a.shape()[0], b.size());
    for (std::size_t i = 0; i < b.size(); ++i) {
      EXPECT_EQ(a.value()(i, 1), a.value()(i, 0) + 0.5);
      EXPECT_EQ(static_cast<double>(b(i)), 10 * a.value()(i, 0));
      order.push_back(static_cast<int>(a.value()(i, 0)));
    }
  }
  return order;
}

std::vector<std::size_t> sizes(std::size_t rows, std::size_t size, xgrad::BatchOptions options = {}) {
  Rng rng(1);
  const auto x = features(rows);
  const auto y = labels(rows);
  const auto range = xgrad::batches(x, y, size, rng, options);
  std::vector<std::size_t> result;
  for (const auto& batch : range) result.push_back(batch.y.size());
  EXPECT_EQ(range.size(), result.size());
  return result;
}

TEST(Batches, DAT_03_EachEpochIsAnotherPermutation) {
  Rng rng(42), again(42);
  std::vector<std::vector<int>> epochs;
  for (int e = 0; e < 3; ++e) {
    epochs.push_back(epoch(8, 3, rng));
    EXPECT_EQ(epochs.back(), epoch(8, 3, again));
    auto sorted = epochs.back();
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
}

TEST(Batches, DAT_03_OrderDependsOnTheGeneratorAlone) {
  Rng a(7), b(7), c(8);
  const auto order = epoch(20, 3, a);
  EXPECT_EQ(order, epoch(20, 6, b));  // not on the batch size
  EXPECT_NE(order, epoch(20, 3, c));
  Rng d(7);
  const auto permutation = d.permutation(20);
  EXPECT_TRUE(std::equal(order.begin(), order.end(), permutation.begin()));
}

TEST(Batches, DAT_03_ResumesFromTheGeneratorsState) {
  Rng rng(42);
  epoch(8, 3, rng);
  const auto saved = rng.state();
  const auto second = epoch(8, 3, rng), third = epoch(8, 3, rng);
  Rng resumed;
  resumed.set_state(saved);
  EXPECT_EQ(epoch(8, 3, resumed), second);
  EXPECT_EQ(epoch(8, 3, resumed), third);
}

TEST(Batches, DAT_03_SameOrderOnEveryMachine) {
  // Philox and Fisher-Yates by seed 42, three epochs of 8 rows, worked out by another program.
  Rng rng(42);
  EXPECT_EQ(epoch(8, 3, rng), (std::vector<int>{4, 5, 2, 0, 1, 6, 7, 3}));
  EXPECT_EQ(epoch(8, 3, rng), (std::vector<int>{0, 5, 2, 3, 7, 4, 6, 1}));
  EXPECT_EQ(epoch(8, 3, rng), (std::vector<int>{5, 4, 3, 1, 0, 6, 2, 7}));
}

TEST(Batches, DAT_03_ResumesWithinAnEpoch) {
  Rng rng(42);
  epoch(8, 3, rng);
  const auto saved = rng.state();
  const auto second = epoch(8, 3, rng), third = epoch(8, 3, rng);
  for (std::size_t done = 0; done <= 4; ++done) {
    Rng resumed;
    resumed.set_state(saved);
    const auto rest = epoch(8, 3, resumed, {false, done});
    EXPECT_EQ(rest,
              std::vector<int>(second.begin() + std::min<std::ptrdiff_t>(8, static_cast<std::ptrdiff_t>(3 * done)),
                               second.end()));
    EXPECT_EQ(epoch(8, 3, resumed), third);
  }
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sizes(8, 3, {true, 1}), Sizes{3});
  EXPECT_EQ(sizes(8, 3, {false, 2}), Sizes{2});
  EXPECT_EQ(sizes(8, 3, {false, 100}), Sizes{});
}

TEST(Batches, DAT_03_Sizes) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sizes(8, 3), (Sizes{3, 3, 2}));
  EXPECT_EQ(sizes(8, 3, {true}), (Sizes{3, 3}));
  EXPECT_EQ(sizes(8, 4), (Sizes{4, 4}));
  EXPECT_EQ(sizes(8, 4, {true}), (Sizes{4, 4}));
  EXPECT_EQ(sizes(0, 3), Sizes{});
  EXPECT_EQ(sizes(0, 3, {true}), Sizes{});
  EXPECT_EQ(sizes(2, 5), Sizes{2});
  EXPECT_EQ(sizes(2, 5, {true}), Sizes{});
}

TEST(Batches, KeepsTheRowsInOrderWithoutAGenerator) {
  const auto x = features(5);
  const auto y = labels(5);
  std::vector<std::int64_t> seen;
  for (auto [a, b] : xgrad::batches(x, y, 2)) seen.insert(seen.end(), b.begin(), b.end());
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 10, 20, 30, 40}));
  EXPECT_EQ(xgrad::batches(x, y, 2, {true}).size(), 2u);
}

TEST(Batches, TakesRowsOfAnyRank) {
  auto x = xgrad::empty<float>({4, 2, 3});
  std::iota(x.begin(), x.end(), 0.0f);
  const auto y = xgrad::arange<float>(4);
  for (auto [a, b] : xgrad::batches(x, y, 3)) {
    EXPECT_EQ(a.shape(), (xgrad::Shape{b.size(), 2, 3}));
    for (std::size_t i = 0; i < b.size(); ++i) EXPECT_EQ(a.value()(i, 1, 2), 6 * b.value()(i) + 5);
  }
}

TEST(Batches, TakesRowsWithoutEntries) {
  const auto x = xgrad::zeros<double>({3, 0}), y = xgrad::zeros<double>({3});
  for (auto [a, b] : xgrad::batches(x, y, 2)) EXPECT_EQ(a.shape(), (xgrad::Shape{b.size(), 0}));
}

TEST(Batches, RefusesWhatDoesNotFit) {
  Rng rng(3);
  const auto before = rng.state();
  const auto x = features(3), scalar = xgrad::zeros<double>({});
  const auto y = labels(4);
  EXPECT_THROWS(xgrad::ShapeError, xgrad::batches(x, y, 2, rng),
                "[batches] needs two arrays with equally many rows but got (3, 2) and (4,)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::batches(scalar, scalar, 2), "but got () and ()");
  EXPECT_THROWS(std::invalid_argument, xgrad::batches(x, x, 0, rng),
                "[batches] the batch size must be at least 1 but is 0");
  EXPECT_EQ(rng.state(), before);
}

}  // namespace
