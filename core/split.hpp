// Parts of a data set by row number: training and test, folds.
#pragma once

#include <vector>

#include "random.hpp"

namespace xgrad {

/// Row numbers of two parts, each in ascending order; `take(x, split.train)` gives the rows.
struct Split {
  Index train;  ///< Rows to learn from.
  Index test;   ///< The others.
};

/// Draws round(count * test_share) of `count` rows for the test, at least one and not all; the others are for training.
///
///     const auto split = xgrad::train_test_split(x.shape()[0], 0.2, rng);
///     const auto x_train = xgrad::take(x, split.train), x_test = xgrad::take(x, split.test);
///
/// Throws std::invalid_argument unless test_share is in (0, 1) and there are at least 2 rows.
Split train_test_split(std::size_t count, double test_share, Rng& rng);

/// k splits for cross-validation: each row is in the test part of exactly one, drawn at random; the parts have
/// count / k rows, the first count % k of them one more. Throws std::invalid_argument unless 2 <= k <= count.
std::vector<Split> k_fold(std::size_t count, std::size_t k, Rng& rng);

}  // namespace xgrad
