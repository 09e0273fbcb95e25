#include "split.hpp"

#include <algorithm>
#include <cmath>

namespace xgrad {

namespace {

/// The rows order[first], ..., order[last - 1] for the test, all others for training.
Split part(const Index& order, std::size_t first, std::size_t last) {
  std::vector<bool> tested(order.size(), false);
  for (std::size_t i = first; i < last; ++i) tested[static_cast<std::size_t>(order.data()[i])] = true;
  Split split{empty<std::int64_t>({order.size() - (last - first)}), empty<std::int64_t>({last - first})};
  std::int64_t* train = split.train.data();
  std::int64_t* test = split.test.data();
  for (std::size_t row = 0; row < order.size(); ++row) *(tested[row] ? test : train)++ = static_cast<std::int64_t>(row);
  return split;
}

}  // namespace

Split train_test_split(std::size_t count, double test_share, Rng& rng) {
  if (!(test_share > 0 && test_share < 1))
    fail<std::invalid_argument>("train_test_split", "test_share must be in (0, 1) but is ", test_share);
  if (count < 2) fail<std::invalid_argument>("train_test_split", "needs at least 2 rows but got ", count);
  const auto rounded = static_cast<std::size_t>(std::floor(static_cast<double>(count) * test_share + 0.5));
  return part(rng.permutation(count), 0, std::clamp<std::size_t>(rounded, 1, count - 1));
}

std::vector<Split> k_fold(std::size_t count, std::size_t k, Rng& rng) {
  if (k < 2 || k > count)
    fail<std::invalid_argument>("k_fold", "k must be from 2 to the number of rows, ", count, ", but is ", k);
  const Index order = rng.permutation(count);
  std::vector<Split> splits;
  for (std::size_t i = 0, first = 0; i < k; ++i) {
    const std::size_t size = count / k + (i < count % k);
    splits.push_back(part(order, first, first + size));
    first += size;
  }
  return splits;
}

}  // namespace xgrad
