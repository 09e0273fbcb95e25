#include <xgrad/core/arithmetic.hpp>

#include <gtest/gtest.h>

#include <xgrad/core/backward.hpp>
#include <xgrad/core/graph.hpp>
#include <xgrad/core/kernels/binary.hpp>
#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/ops/reduction.hpp>

namespace {

using xgrad::Array;
using xgrad::Variable;

template <class T>
class Arithmetic : public ::testing::Test {
 protected:
  using V = Variable<T>;

  static V leaf(const std::vector<T>& numbers) { return {xgrad::from<T>(numbers), true}; }

  /// The gradient of the sum of y, in an ordinary pass or in a recorded one.
  static V gradient(const V& y, const V& x, bool recorded) {
    xgrad::GradOptions options;
    options.create_graph = recorded;
    options.retain_graph = true;
    return xgrad::grad(xgrad::sum(y), x, options);
  }
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Arithmetic, Types, );

TYPED_TEST(Arithmetic, DivisionByOrOfANumberIsDivision) {
  using T = TypeParam;
  std::vector<T> numbers;
  for (int i = 1; i < 200; ++i) numbers.push_back(static_cast<T>(i));
  const auto x = this->leaf(numbers);
  for (const T c : {T(1), T(3), T(49), T(0.1), T(1e-30)}) {
    EXPECT_TRUE(xgrad::array_equal((c / x).value(), xgrad::div(c, x.value()))) << c;
    EXPECT_TRUE(xgrad::array_equal((x / c).value(), xgrad::div(x.value(), c))) << c;
    const auto by_x = this->gradient(c / x, x, false).value(), by_c = this->gradient(x / c, x, false).value();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double v = static_cast<double>(numbers[i]), want = -static_cast<double>(c) / (v * v);
      EXPECT_NEAR(static_cast<double>(by_x(i)), want, 4 * std::numeric_limits<T>::epsilon() * std::abs(want));
      EXPECT_EQ(by_c(i), 1 / c);
    }
  }
}

TEST(ArithmeticRange, TheReciprocalOfTheDivisorNeedNotBeANumber) {
  const Variable<float> x(xgrad::from<float>({1e-39f, 1e-39f}), true);
  EXPECT_EQ((1e-10f / x).value()(0), 1e-10f / 1e-39f);
  EXPECT_EQ((0.f / x).value()(0), 0.f);
  const Variable<double> y(xgrad::from<double>({1e-310}), true);
  EXPECT_EQ((1e-10 / y).value()(0), 1e-10 / 1e-310);
}

TEST(ArithmeticRange, TheNumberDividedIsNoArray) {
  const Variable<double> x(xgrad::ones<double>({1000}), true);
  const std::string text = xgrad::graph_to_text(2.0 / x, {{"x", x}});
  EXPECT_NE(text.find("div(constant (), x) -> (1000,)"), std::string::npos) << text;
}

// Where y / b is a number so is the gradient by the divisor, though b * b may be none.
TYPED_TEST(Arithmetic, DivisorsGradientNeitherOverflowsNorVanishes) {
  using T = TypeParam;
  const std::vector<T> sizes = sizeof(T) == 4 ? std::vector<T>{T(1e20), T(1e-25)} : std::vector<T>{T(1e200), T(1e-200)};
  for (const T size : sizes)
    for (const bool recorded : {false, true}) {
      const auto a = this->leaf({size, -size}), b = this->leaf({size, 2 * size});
      const auto g = this->gradient(a / b, b, recorded).value();
      EXPECT_EQ(g(0), -1 / size) << size;
      EXPECT_NEAR(g(1) * size, T(0.25), 4 * std::numeric_limits<T>::epsilon()) << size;
    }
}

// 1 / y is infinite at one end and has lost its digits at the other, the gradient x / y has not.
TYPED_TEST(Arithmetic, NormsGradientKeepsItsRange) {
  using T = TypeParam;
  const T least = std::numeric_limits<T>::min() / 64, largest = std::numeric_limits<T>::max();
  for (const T size : {least, largest})
    for (const bool recorded : {false, true}) {
      const auto x = this->leaf({size, 0}), slope = this->gradient(xgrad::norm(x), x, recorded);
      EXPECT_EQ(slope.value()(0), T(1)) << size;
      EXPECT_EQ(slope.value()(1), T(0)) << size;
    }
}

}  // namespace
