// A training loop in steady state: it learns, and it neither keeps graphs nor asks the system for memory.
#include <gtest/gtest.h>

#include <cmath>
#include <xgrad/xgrad.hpp>

#include "net.hpp"

namespace {

template <class T>
class Training : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Training, Types, );  // clang wants the empty argument

TYPED_TEST(Training, AG_10_AThousandStepsLearnAndKeepNothing) {
  using T = TypeParam;
  xgrad::Rng rng(5);
  Net<T> net(rng, 0, 3);
  xgrad::SGD<T> sgd(net.parameters(), {0.02, 0.9});
  const xgrad::Array<T> x = rng.normal<T>({256, 3});
  auto y = xgrad::empty<T>({256, 1});
  for (std::size_t i = 0; i < 256; ++i) y(i, 0) = std::sin(x(i, 0)) * x(i, 1) - x(i, 2);

  const std::size_t before = xgrad::live_nodes();
  std::size_t nodes = 0;
  std::uint64_t allocations = 0;
  double first = 0, last = 0;
  int step = 0;
  while (step < 1000)
    for (auto [a, b] : xgrad::batches(x, y, 32, rng)) {
      double loss_value;
      {
        const auto loss = xgrad::mse_loss(net(a), b);
        sgd.zero_grad();
        loss.backward();
        sgd.step();
        loss_value = loss.item();
      }
      ++step;
      (step <= 8 ? first : last) = loss_value;
      if (step == 1) nodes = xgrad::live_nodes();
      EXPECT_EQ(xgrad::live_nodes(), nodes) << "after step " << step;
      if (step == 20) allocations = xgrad::memory::system_allocations();
    }
  EXPECT_EQ(nodes, before);
  if (xgrad::memory::pooled()) {
    EXPECT_EQ(xgrad::memory::system_allocations(), allocations);
  }
  EXPECT_LT(last, 0.05 * first);
}

TYPED_TEST(Training, AG_10_ForwardOnly) {
  using T = TypeParam;
  xgrad::Rng rng(6);
  Net<T> net(rng, 0, 3);
  const xgrad::Array<T> x = rng.normal<T>({4, 3});
  const std::size_t before = xgrad::live_nodes();
  double total = 0;
  for (int i = 0; i < 1000; ++i) {
    total += static_cast<double>(xgrad::sum(net(x)).item());
    ASSERT_EQ(xgrad::live_nodes(), before);
  }
  EXPECT_TRUE(std::isfinite(total));
}

}  // namespace
