// Special points and errors of the reductions.
#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/ops/reduction.hpp>

#include "checks.hpp"

using namespace opcheck;

TEST(Reduction, AG_07_TiesOfMaxShare) {
  const V x = leaf({2, 2, 1});
  expect_array(gradient(xgrad::amax(x), x), {0.5, 0.5, 0});
  expect_array(gradient(xgrad::amin(-x), x), {-0.5, -0.5, 0});
  const V m = leaf({3, 3, 3, 1, 1, 2}, {2, 3});
  expect_array(gradient(xgrad::amin(m, 1), m), array({1. / 3, 1. / 3, 1. / 3, 0.5, 0.5, 0}, {2, 3}));
  EXPECT_EQ(xgrad::item(xgrad::sum(gradient(xgrad::amax(m), m))), 1);
}

TEST(Reduction, ACT_03_MaxKeepsNaN) {
  for (const auto& row : {std::vector<double>{NaN, 1, -1}, std::vector<double>{1, NaN, 2}}) {
    const V x = leaf(row);
    EXPECT_TRUE(std::isnan(xgrad::amax(x).item()));
    EXPECT_TRUE(std::isnan(xgrad::amin(x).item()));
    EXPECT_EQ(xgrad::item(xgrad::sum(gradient(xgrad::amax(x), x))), 1);
  }
}

TEST(Reduction, AG_07_NormAtZero) {
  const V x = leaf({0, 0, 3, 4}, {2, 2});
  expect_array(xgrad::norm(x, 1).value(), {0, 5});
  expect_array(gradient(xgrad::norm(x, 1), x), {0, 0, 0.6, 0.8}, 1e-15);
  const V zero = leaf({0, 0});
  expect_array(gradient(xgrad::norm(zero), zero), {0, 0});
  const auto first = xgrad::grad({xgrad::norm(x, 1)}, {x}, {true}, {V(xgrad::ones<double>({2}))});
  expect_array(gradient(first[0], x), {0, 0, 0.032, -0.024}, 1e-12);
}

TEST(Reduction, NormNeitherOverflowsNorVanishes) {
  const V x = leaf({3e200, 4e200, 3e-200, 4e-200, inf, 1, NaN, 1, 0, 0}, {5, 2});
  expect_array(xgrad::norm(x, 1).value(), {5e200, 5e-200, inf, NaN, 0}, 1e-15);
  const Array<double> g = gradient(xgrad::norm(x, 1), x);
  EXPECT_NEAR(g(0, 1), 0.8, 1e-15);
  EXPECT_NEAR(g(1, 1), 0.8, 1e-15);
  EXPECT_EQ(g(4, 0), 0);
  const xgrad::Variable<float> f(xgrad::from<float>(array({3e30, 4e30})));
  EXPECT_FLOAT_EQ(xgrad::norm(f).item(), 5e30f);
}

TEST(Reduction, StddevOfEqualNumbers) {
  const V x = V(xgrad::full<double>({3, 10}, 0.1), true);  // the mean of ten 0.1 may round to another number
  for (const std::size_t ddof : {0, 1}) {
    const V y = xgrad::stddev(x, 1, false, ddof);
    expect_array(y.value(), {0, 0, 0});
    expect_array(gradient(y, x), xgrad::zeros<double>({3, 10}));
    const auto first = xgrad::grad({y}, {x}, {true}, {V(xgrad::ones<double>({3}))});
    expect_array(gradient(first[0], x), xgrad::zeros<double>({3, 10}));
  }
}

namespace {

template <class T>
class Spread : public ::testing::Test {
 protected:
  using W = xgrad::Variable<T>;
  static W leaf(const std::vector<T>& numbers, const Shape& shape) { return {xgrad::from(numbers, shape), true}; }
  static W gradient(const W& y, const W& x, bool recorded) {
    return xgrad::grad({y}, {x}, {recorded, true}, {W(xgrad::ones<T>(y.shape()))})[0];
  }
};
using BothTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Spread, BothTypes, );

}  // namespace

// Squares would overflow or vanish; the deviation and its gradient (x - mean) / (n y) do not.
TYPED_TEST(Spread, StddevKeepsItsRange) {
  using T = TypeParam;
  const std::vector<T> sizes = sizeof(T) == 4 ? std::vector<T>{T(1e20), T(1e-25), T(3e38), T(1e-40)}
                                              : std::vector<T>{T(1e200), T(1e-170), T(7e307), T(1e-310)};
  for (const T size : sizes) {
    const T near = size < 1e-30 ? T(1e-4) : T(1e-5);  // numbers below the normal ones have fewer digits
    for (const std::ptrdiff_t axis : {0, 1}) {
      const auto x = axis == 1 ? this->leaf({size, -size, size, size / 4, T(1), T(3)}, {3, 2})
                               : this->leaf({size, size, T(1), -size, size / 4, T(3)}, {2, 3});
      const auto y = xgrad::stddev(x, axis);
      EXPECT_NEAR(y.value()(0) / size, T(1), near) << size;
      EXPECT_NEAR(y.value()(1) / size, T(0.375), near) << size;
      EXPECT_EQ(y.value()(2), T(1));
      for (const bool recorded : {false, true}) {
        const auto g = this->gradient(y, x, recorded).value();
        for (std::size_t i = 0; i < 3; ++i)
          for (std::size_t k = 0; k < 2; ++k)
            EXPECT_NEAR(axis == 1 ? g(i, k) : g(k, i), (i == 2) == (k == 0) ? T(-0.5) : T(0.5), near) << size;
      }
      const auto sample = xgrad::stddev(x, axis, false, 1).value();
      EXPECT_NEAR(sample(1) / size, T(0.375) * std::sqrt(T(2)), near) << size;
    }
  }
}

// A common offset costs no digits of what is left: the mean, rounded to T, is not the centre.
TYPED_TEST(Spread, GradientsDoNotSeeTheRoundingOfTheMean) {
  using T = TypeParam;
  const T offset = sizeof(T) == 4 ? T(1e6) : T(1e12), step = sizeof(T) == 4 ? T(0.0625) : T(0.125);
  const std::size_t n = 64;
  std::vector<T> near(n), far(n);
  for (std::size_t i = 0; i < n; ++i) {
    near[i] = step * static_cast<T>((i * 37 + i * i) % 53);
    far[i] = offset + near[i];
  }
  const auto x = this->leaf(near, {n}), shifted = this->leaf(far, {n});
  for (const bool recorded : {false, true}) {
    const auto variance = this->gradient(xgrad::variance(x), x, recorded).value();
    const auto variance_far = this->gradient(xgrad::variance(shifted), shifted, recorded).value();
    const auto stddev = this->gradient(xgrad::stddev(x), x, recorded).value();
    const auto stddev_far = this->gradient(xgrad::stddev(shifted), shifted, recorded).value();
    const T tolerance = 16 * std::numeric_limits<T>::epsilon();
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(variance_far(i), variance(i), tolerance * 53 * step / static_cast<T>(n)) << i;
      EXPECT_NEAR(stddev_far(i), stddev(i), (sizeof(T) == 4 ? tolerance : T(1e-8)) / static_cast<T>(n)) << i;
    }
  }
}

TEST(Reduction, LogsumexpOfHugeAndOfNothing) {
  const V x = leaf({1000, 1000, -inf, -inf, -inf, 2}, {3, 2});
  const V y = xgrad::logsumexp(x, 1);
  expect_array(y.value(), {1000 + std::log(2.0), -inf, 2}, 1e-15);
  expect_array(gradient(y, x), {0.5, 0.5, 0, 0, 0, 1}, 1e-12);
  const auto first = xgrad::grad({y}, {x}, {true}, {V(xgrad::ones<double>({3}))});
  expect_array(gradient(first[0], x), {0, 0, 0, 0, 0, 0}, 0, 1e-12);
}

TEST(Reduction, ArgmaxHasNoDerivative) {
  const V x = leaf({1, 3, 3, 0, -1, -2}, {2, 3});
  expect_error<xgrad::GraphError>([&] { xgrad::argmax(x); },
                                  "[argmax] has no derivative but its input requires a gradient; pass detach() of it");
  expect_error<xgrad::GraphError>([&] { xgrad::argmin(x); },
                                  "[argmin] has no derivative but its input requires a gradient; pass detach() of it");
  const xgrad::Index best = xgrad::argmax(x.detach(), 1), worst = xgrad::argmin(x.detach(), 0, true);
  EXPECT_EQ(best.shape(), Shape({2}));
  EXPECT_EQ(best(0), 1);
  EXPECT_EQ(best(1), 0);
  EXPECT_EQ(worst.shape(), Shape({1, 3}));
  EXPECT_EQ(worst(0, 0), 1);
  const xgrad::NoGrad guard;
  EXPECT_EQ(xgrad::argmax(x)(0), 1);
}

TEST(Reduction, Errors) {
  const V x = leaf({}, {0, 3});
  EXPECT_THROW(xgrad::mean(x), xgrad::ShapeError);
  EXPECT_THROW(xgrad::amax(x, 0), xgrad::ShapeError);
  EXPECT_THROW(xgrad::sum(x, 2), xgrad::ShapeError);
  EXPECT_THROW(xgrad::sum(x, {0, 0}), xgrad::ShapeError);
  EXPECT_THROW(xgrad::variance(leaf({1}), {}, false, 1), xgrad::ShapeError);
  EXPECT_THROW(xgrad::stddev(leaf({1}), {}, false, 1), xgrad::ShapeError);
}
