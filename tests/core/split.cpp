#include <gtest/gtest.h>

#include <algorithm>
#include <xgrad/core/kernels/index.hpp>
#include <xgrad/core/split.hpp>

#include "throws.hpp"

namespace {

using xgrad::Index;
using xgrad::Rng;
using xgrad::Split;

/// Both parts are ascending, and together every row once.
void expect_partition(const Split& split, std::size_t count) {
  EXPECT_TRUE(std::is_sorted(split.train.begin(), split.train.end()));
  EXPECT_TRUE(std::is_sorted(split.test.begin(), split.test.end()));
  std::vector<std::int64_t> all(split.train.begin(), split.train.end());
  all.insert(all.end(), split.test.begin(), split.test.end());
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), count);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(all[i], static_cast<std::int64_t>(i));
}

TEST(TrainTestSplit, SizesAndRows) {
  Rng rng(1);
  const std::vector<std::tuple<std::size_t, double, std::size_t>> cases = {
      {10, 0.2, 2}, {10, 0.25, 3}, {7, 0.5, 4}, {1030, 0.1, 103}, {2, 0.01, 1}, {2, 0.99, 1}, {5, 0.99, 4}};
  for (const auto& [count, share, tested] : cases) {
    const Split split = xgrad::train_test_split(count, share, rng);
    expect_partition(split, count);
    EXPECT_EQ(split.test.size(), tested) << count << ", " << share;
  }
}

TEST(TrainTestSplit, DAT_03_SameSeedSameRows) {
  Rng a(5), b(5), c(6);
  const Split first = xgrad::train_test_split(50, 0.2, a), again = xgrad::train_test_split(50, 0.2, b);
  EXPECT_TRUE(xgrad::array_equal(first.test, again.test));
  EXPECT_FALSE(xgrad::array_equal(first.test, xgrad::train_test_split(50, 0.2, a).test));
  EXPECT_FALSE(xgrad::array_equal(first.test, xgrad::train_test_split(50, 0.2, c).test));
  // Fisher and Yates on Philox by seed 42 gives 4 5 2 0 1 6 7 3; the first two are the test.
  Rng rng(42);
  EXPECT_TRUE(xgrad::array_equal(xgrad::train_test_split(8, 0.25, rng).test, Index{4, 5}));
}

TEST(TrainTestSplit, EveryRowIsTestedEquallyOften) {
  Rng rng(2);
  std::vector<int> times(5, 0);
  for (int i = 0; i < 5000; ++i)
    for (const auto row : xgrad::train_test_split(5, 0.4, rng).test) ++times[static_cast<std::size_t>(row)];
  for (const int n : times) EXPECT_NEAR(n, 2000, 200);  // 5.8 standard deviations
}

TEST(TrainTestSplit, GivesRowsToTake) {
  Rng rng(3);
  const auto x = xgrad::from<float>({0, 10, 20, 30}, {4, 1});
  const Split split = xgrad::train_test_split(4, 0.25, rng);
  const auto train = xgrad::take(x, split.train);
  EXPECT_EQ(train.shape(), (xgrad::Shape{3, 1}));
  EXPECT_EQ(train(0, 0), 10 * static_cast<float>(split.train(0)));
}

TEST(TrainTestSplit, RefusesWhatCannotBeSplit) {
  Rng rng(4);
  const auto before = rng.state();
  for (const double share : {0.0, 1.0, -0.5})
    EXPECT_THROWS(std::invalid_argument, xgrad::train_test_split(9, share, rng),
                  "[train_test_split] test_share must be in (0, 1) but is ");
  EXPECT_THROWS(std::invalid_argument, xgrad::train_test_split(1, 0.5, rng),
                "[train_test_split] needs at least 2 rows but got 1");
  EXPECT_EQ(rng.state(), before);
}

TEST(KFold, EveryRowIsTestedOnce) {
  Rng rng(1);
  const std::vector<std::pair<std::size_t, std::size_t>> cases = {{10, 5}, {11, 3}, {4, 4}, {23, 10}};
  for (const auto& [count, k] : cases) {
    const auto splits = xgrad::k_fold(count, k, rng);
    ASSERT_EQ(splits.size(), k);
    std::vector<int> tested(count, 0);
    for (std::size_t i = 0; i < k; ++i) {
      expect_partition(splits[i], count);
      EXPECT_EQ(splits[i].test.size(), count / k + (i < count % k));
      for (const auto row : splits[i].test) ++tested[static_cast<std::size_t>(row)];
    }
    EXPECT_EQ(tested, std::vector<int>(count, 1));
  }
}

TEST(KFold, DAT_03_SameSeedSameFolds) {
  Rng a(5), b(5);
  const auto first = xgrad::k_fold(20, 4, a), again = xgrad::k_fold(20, 4, b), next = xgrad::k_fold(20, 4, a);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(xgrad::array_equal(first[i].test, again[i].test));
  EXPECT_FALSE(xgrad::array_equal(first[0].test, next[0].test));
  EXPECT_FALSE(xgrad::array_equal(first[0].test, Index{0, 1, 2, 3, 4}));
}

TEST(KFold, RefusesImpossibleFolds) {
  Rng rng(4);
  EXPECT_THROWS(std::invalid_argument, xgrad::k_fold(9, 1, rng),
                "[k_fold] k must be from 2 to the number of rows, 9, but is 1");
  EXPECT_THROWS(std::invalid_argument, xgrad::k_fold(3, 4, rng), "3, but is 4");
  EXPECT_EQ(rng.state(), Rng(4).state());
}

}  // namespace
