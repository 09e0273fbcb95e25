#include <gtest/gtest.h>
#include <xgrad/core/array.hpp>

namespace {

using xgrad::Shape;

TEST(Array, BracesHoldNumbersAndZerosTakesAShape) {
  const xgrad::Array<float> two{2, 3};
  EXPECT_EQ(two.shape(), Shape{2});
  EXPECT_EQ(xgrad::zeros<float>({2, 3}).shape(), (Shape{2, 3}));
}

}  // namespace
