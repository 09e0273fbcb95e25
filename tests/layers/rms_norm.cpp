#include <xgrad/layers/rms_norm.hpp>

#include <xgrad/core/backward.hpp>
#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/testing.hpp>

#include "core/kernels/reference.hpp"
#include "throws.hpp"

namespace {

using reference::expect_numbers;
using reference::sample;
using xgrad::RMSNorm;
using xgrad::RMSNormOptions;
using xgrad::Shape;
using xgrad::Variable;

RMSNormOptions options(const Shape& shape, bool gamma = true) {
  RMSNormOptions o;
  o.shape = shape;
  o.gamma = gamma;
  return o;
}

TEST(RMSNorm, KnownNumbers) {
  auto o = options({2});
  o.eps = 0.5;  // mean square 12.5
  RMSNorm<double> norm(o);
  norm.gamma.mutate([](auto& g) { g = xgrad::from<double>({1, 2}); });
  expect_numbers(norm(xgrad::from<double>({3, 4})).value(), {3 / std::sqrt(13.0), 8 / std::sqrt(13.0)}, 1e-15);
  RMSNorm<float> ordinary(2);
  expect_numbers(ordinary(xgrad::from<float>({3, 4})).value(), {3 / std::sqrt(12.50001), 4 / std::sqrt(12.50001)},
                 2e-7);
}

TEST(RMSNorm, ZeroRowGivesZerosAndFiniteGradient) {
  RMSNorm<double> norm(3);
  Variable<double> x(xgrad::zeros<double>({3}), true);
  const auto y = norm(x);
  expect_numbers(y.value(), {0, 0, 0}, 0);
  y.backward(xgrad::from<double>({1, 2, 3}));
  const double r = 1 / std::sqrt(1e-5);
  expect_numbers(x.grad(), {r, 2 * r, 3 * r}, 1e-13);
}

TEST(RMSNorm, NoRows) {
  RMSNorm<double> norm(4);
  Variable<double> x(xgrad::zeros<double>({1, 0, 4}), true);
  norm(x).backward(xgrad::zeros<double>({1, 0, 4}));
  EXPECT_EQ(x.grad().shape(), (Shape{1, 0, 4}));
  EXPECT_TRUE(xgrad::array_equal(norm.gamma.grad(), xgrad::zeros<double>({4})));
}

template <class T>
void compare_with_plain(std::size_t rows, std::size_t width, double tolerance) {
  const Variable<T> x(sample<T>({rows, width}, 1), true), gamma(sample<T>({width}, 2), true);
  const Variable<T> seed(sample<T>({rows, width}, 3));
  const auto fused = xgrad::rms_norm(x, gamma);
  const auto squares = xgrad::sum(x * x, -1, xgrad::keep_dims) / static_cast<T>(width);
  const auto composed = gamma * x / xgrad::sqrt(squares + T(1e-5));
  const auto near = [&](const Variable<T>& a, const Variable<T>& b, const char* what) {
    ASSERT_EQ(a.shape(), b.shape());
    double scale = 1;
    for (const T v : b.value()) scale = std::max(scale, std::abs(static_cast<double>(v)));
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a.value().data()[i], b.value().data()[i], tolerance * scale) << what << ", width " << width;
  };
  near(fused, composed, "value");
  xgrad::GradOptions keep;
  keep.retain_graph = true;
  const auto by_kernel = xgrad::grad({fused}, {x, gamma}, keep, {seed});
  const auto by_plain = xgrad::grad({composed}, {x, gamma}, keep, {seed});
  keep.create_graph = true;
  const auto by_twin = xgrad::grad({fused}, {x, gamma}, keep, {seed});
  for (std::size_t i = 0; i < 2; ++i) {
    near(by_kernel[i], by_plain[i], "kernel gradient");
    near(by_twin[i], by_plain[i], "twin gradient");
  }
}

// Squares that overflow leave no trace in a recorded pass either.
template <class T>
void compare_recorded(T size, double eps) {
  const Variable<T> x(sample<T>({3, 64}, 8) * size, true), seed(sample<T>({3, 64}, 9));
  const Variable<T> y = xgrad::rms_norm(x, {}, eps);
  const auto ordinary = xgrad::grad({y}, {x}, {false, true}, {seed})[0].value();
  const auto recorded = xgrad::grad({y}, {x}, {true}, {seed})[0].value();
  const double scale = static_cast<double>(xgrad::item(xgrad::amax(xgrad::abs(ordinary))));
  EXPECT_GT(scale, 0);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(static_cast<double>(recorded.data()[i]) / scale, static_cast<double>(ordinary.data()[i]) / scale,
                16 * std::numeric_limits<T>::epsilon())
        << size << ' ' << i;
}

TEST(RMSNorm, RecordedGradientsKeepTheirRange) {
  compare_recorded<float>(1, 1e-5);
  compare_recorded<float>(1e20f, 1e-5);
  compare_recorded<double>(1, 1e-5);
  compare_recorded<double>(1e150, 1e-5);
}

TEST(RMSNorm, KernelAgreesWithPlainOps) {
  for (const std::size_t rows : {1, 3, 17})
    for (const std::size_t width : {1, 3, 7, 17, 1023}) {
      compare_with_plain<double>(rows, width, 1e-12);
      compare_with_plain<float>(rows, width, 2e-5);
    }
  compare_with_plain<double>(1023, 3, 1e-11);
}

TEST(RMSNorm, Gradients) {
  using V = Variable<double>;
  const auto x = sample<double>({2, 3, 5}, 1), gamma = sample<double>({3, 5}, 2);
  const auto scaled = [](const V& a, const V& g) { return xgrad::rms_norm(a, g, 1e-3); };
  const auto plain = [](const V& a) { return xgrad::rms_norm(a, {}, 1e-3); };
  EXPECT_TRUE(xgrad::testing::gradients_match(scaled, {x, gamma}));
  EXPECT_TRUE(xgrad::testing::gradients_match(plain, x));
  EXPECT_TRUE(xgrad::testing::second_gradients_match(scaled, {x, gamma}));
  EXPECT_TRUE(xgrad::testing::second_gradients_match(plain, x));
}

TEST(RMSNorm, Contract) {
  RMSNorm<double> norm(5), bare(options({5}, false)), wide(options({3, 5}));
  EXPECT_TRUE(xgrad::testing::layer_contract(norm, sample<double>({2, 3, 5}, 4)));
  EXPECT_TRUE(xgrad::testing::layer_contract(bare, sample<double>({2, 3, 5}, 5)));
  EXPECT_TRUE(xgrad::testing::layer_contract(wide, sample<double>({2, 3, 5}, 6)));
  ASSERT_EQ(norm.named_parameters().size(), 1u);
  EXPECT_EQ(norm.named_parameters()[0].first, "weight");
  EXPECT_TRUE(bare.parameters().empty());
}

TEST(RMSNorm, Errors) {
  RMSNorm<double> norm(8), two(options({4, 5}));
  EXPECT_THROWS(xgrad::ShapeError, norm(xgrad::zeros<double>({2, 5, 6})),
                "[RMSNorm] last axis must be 8 but input is (2, 5, 6)");
  EXPECT_THROWS(xgrad::ShapeError, two(xgrad::zeros<double>({2, 5})),
                "[RMSNorm] last axes must be (4, 5) but input is (2, 5)");
  EXPECT_THROWS(std::invalid_argument, RMSNorm<double>(0), "[RMSNorm] the shape of a row must have one axis or more");
  auto o = options({4});
  o.eps = 0;
  EXPECT_THROWS(std::invalid_argument, RMSNorm<double>(o), "[RMSNorm] eps must be finite and above 0 but is 0");
  const Variable<double> x(xgrad::ones<double>({2, 3}));
  EXPECT_THROWS(std::invalid_argument, xgrad::rms_norm(x, {}, -1),
                "[rms_norm] eps must be finite and above 0 but is -1");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::rms_norm(x, Variable<double>(xgrad::ones<double>({2}))),
                "[rms_norm] last axis must be 2 but input is (2, 3)");
}

}  // namespace
