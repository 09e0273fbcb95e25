#include <xgrad/layers/init.hpp>

#include "core/kernels/reference.hpp"
#include "throws.hpp"

namespace {

using xgrad::Array;
using xgrad::Fan;
using xgrad::Init;
using xgrad::Rng;
using xgrad::Shape;
namespace init = xgrad::init;

struct Moments {
  double largest, mean, deviation;
};

Moments moments(const Init& rule, const Shape& shape, int draws = 1000) {
  Rng rng(7);
  double largest = 0, sum = 0, squares = 0, n = 0;
  for (int i = 0; i < draws; ++i)
    for (const double w : rule.draw<double>(shape, rng)) {
      largest = std::max(largest, std::abs(w));
      sum += w;
      squares += w * w;
      ++n;
    }
  return {largest, sum / n, std::sqrt(squares / n - sum / n * (sum / n))};
}

TEST(Init, INI_01_LinearDefault) {
  const Moments m = moments(init::linear_default(), {2, 3});
  EXPECT_LE(m.largest, 0.5773502691896258);
  EXPECT_GT(m.largest, 0.57);
  EXPECT_NEAR(m.deviation, 1.0 / 3, 0.01);
  EXPECT_NEAR(m.mean, 0, 0.02);
}

TEST(Init, INI_01_Kaiming) {
  const Moments uniform = moments(init::kaiming_uniform(), {2, 3});
  EXPECT_LE(uniform.largest, 1.414213562373096);
  EXPECT_GT(uniform.largest, 1.40);
  EXPECT_NEAR(uniform.deviation, 0.816496580927726, 0.02);
  EXPECT_NEAR(moments(init::kaiming_normal(), {2, 3}).deviation, 0.816496580927726, 0.03);
  EXPECT_NEAR(moments(init::kaiming_normal(init::relu_gain, Fan::out), {2, 3}).deviation, 1, 0.03);
  // The slope sqrt(5) of PyTorch's Linear is another spelling of its default.
  const Moments slope = moments(init::kaiming_uniform(init::leaky_relu_gain(std::sqrt(5.0))), {2, 3});
  EXPECT_LE(slope.largest, 0.57735026918963);
  EXPECT_GT(slope.largest, 0.57);
}

TEST(Init, Xavier) {
  const double deviation = std::sqrt(2.0 / 5);
  const Moments uniform = moments(init::xavier_uniform(), {2, 3});
  EXPECT_LE(uniform.largest, std::sqrt(3.0) * deviation * (1 + 1e-15));
  EXPECT_GT(uniform.largest, std::sqrt(3.0) * deviation * 0.99);
  EXPECT_NEAR(moments(init::xavier_normal(), {2, 3}).deviation, deviation, 0.02);
  EXPECT_NEAR(moments(init::xavier_normal(0.02), {2, 3}).deviation, 0.02 * deviation, 0.0005);
}

TEST(Init, FurtherAxesCountInBothFans) {
  EXPECT_NEAR(moments(init::kaiming_normal(1), {2, 3, 4}).deviation, 1 / std::sqrt(12.0), 0.01);
  EXPECT_NEAR(moments(init::kaiming_normal(1, Fan::out), {2, 3, 4}).deviation, 1 / std::sqrt(8.0), 0.01);
}

TEST(Init, FixedRules) {
  Rng rng(1);
  EXPECT_TRUE(xgrad::array_equal(init::zeros().draw<double>({3}, rng), xgrad::zeros<double>({3})));
  EXPECT_TRUE(xgrad::array_equal(init::constant(2.5).draw<float>({2, 2}, rng), xgrad::full<float>({2, 2}, 2.5f)));
  EXPECT_EQ(rng.state(), Rng(1).state());  // constants draw nothing
  for (const double w : init::uniform(2, 3).draw<double>({1000}, rng)) EXPECT_TRUE(w >= 2 && w < 3);
  const Moments m = moments(init::normal(1, 0.5), {6});
  EXPECT_NEAR(m.mean, 1, 0.03);
  EXPECT_NEAR(m.deviation, 0.5, 0.02);
}

TEST(Init, SameSeedSameNumbersAndFloatAsDouble) {
  Rng a(3), b(3);
  EXPECT_TRUE(xgrad::array_equal(init::kaiming_normal().draw<double>({4, 5}, a),
                                 init::kaiming_normal().draw<double>({4, 5}, b)));
  EXPECT_FALSE(xgrad::array_equal(init::kaiming_normal().draw<double>({4, 5}, a),
                                  init::kaiming_normal().draw<double>({4, 5}, a)) &&
               a.state() == b.state());
  for (const float w : init::linear_default().draw<float>({50, 3}, a)) EXPECT_LE(std::abs(w), 0.57735027f);
}

TEST(Init, FansOfAnotherWeight) {
  Rng rng(1);
  double largest = 0;
  for (int i = 0; i < 500; ++i)
    for (const double b : init::linear_default().draw<double>({2}, rng, {2, 3}))
      largest = std::max(largest, std::abs(b));
  EXPECT_LE(largest, 0.5773502691896258);
  EXPECT_GT(largest, 0.57);
}

TEST(Init, EmptyShapes) {
  Rng rng(1);
  EXPECT_EQ(init::linear_default().draw<double>({2, 0}, rng).shape(), (Shape{2, 0}));
  EXPECT_TRUE(xgrad::array_equal(init::linear_default().draw<double>({2}, rng, {2, 0}), xgrad::zeros<double>({2})));
}

TEST(Init, Errors) {
  Rng rng(1);
  EXPECT_THROWS(xgrad::ShapeError, init::xavier_normal().draw<double>({3}, rng),
                "[init] fans need a weight of shape (out, in, ...) but got (3,); use init::uniform or init::normal");
  EXPECT_THROWS(std::invalid_argument, init::normal(0, -1), "[init] the deviation must not be negative but is -1");
  EXPECT_THROWS(std::invalid_argument, init::kaiming_normal(-1), "[init] the deviation must not be negative but is -1");
  EXPECT_THROWS(std::invalid_argument, init::uniform(1, 0),
                "[init] the range must not end below its start but is [1, 0)");
  EXPECT_THROWS(std::invalid_argument, init::constant(reference::kNaN), "[init] needs finite numbers but got nan");
}

}  // namespace
