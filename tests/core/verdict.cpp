// Kinks, jumps and extrapolation: what differences of several steps say about one entry.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/testing.hpp>

#include "planted.hpp"

namespace {

using namespace xgrad;
using planted::V;

Array<double> numbers(const Shape& shape, std::uint64_t seed = 3) { return Rng(seed).normal<double>(shape); }

::testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << part << "\" is not in:\n" << text;
}

using Number = std::function<double(double)>;

/// y = f(x) with the derivative df, entry by entry.
std::function<V(const V&)> pointwise(const Number& f, const Number& df) {
  return [=](const V& x) { return planted::elementwise(x, f, df); };
}

double relu(double v) { return v > 0 ? v : 0; }
std::function<V(const V&)> relu_with(double at_zero) {
  return pointwise(relu, [=](double v) { return v > 0 ? 1.0 : v < 0 ? 0.0 : at_zero; });
}
std::function<V(const V&)> abs_with(double at_zero) {
  return pointwise([](double v) { return std::abs(v); },
                   [=](double v) { return v > 0   ? 1.0
                                          : v < 0 ? -1.0
                                                  : at_zero; });
}

TEST(Kinks, AnythingBetweenTheSlopesPassesWithANote) {
  for (const double at_zero : {0.0, 0.5, 1.0}) {
    const auto report = gradcheck(relu_with(at_zero), from<double>({1.0, 0.0, -2.0, 0.0}));
    EXPECT_TRUE(report.ok()) << report;
    ASSERT_EQ(report.kinks.size(), 2u) << report;
    EXPECT_EQ(report.kinks[1].index, Shape({3}));
    EXPECT_FALSE(report.kinks[1].beside);
    const double c = report.cotangents[0].data()[3];
    EXPECT_NEAR(report.kinks[1].low, std::min(c, 0.0), 1e-9);
    EXPECT_NEAR(report.kinks[1].high, std::max(c, 0.0), 1e-9);
    EXPECT_EQ(report.text(),
              "gradcheck passed: 4 entries of 1 input checked\n"
              "note: at a kink: the gradient lies between the slopes on both sides, in 2 entries (input 0 at (1,), "
              "input 0 at (3,))\n");
  }
  for (const double at_zero : {-1.0, 0.0, 0.3, 1.0})  // at 0 the central difference of |x| is 0, right or wrong
    EXPECT_EQ(gradcheck(abs_with(at_zero), from<double>({0.0, 2.0})).kinks.size(), 1u) << at_zero;
}

TEST(Kinks, AWrongValueOutsideTheSlopesFails) {
  for (const double at_zero : {-0.01, 1.01, 2.0}) {
    const auto report = gradcheck(relu_with(at_zero), from<double>({1.0, 0.0}));
    EXPECT_EQ(report.wrong(), 1u) << at_zero;
    EXPECT_TRUE(report.kinks.empty());
    EXPECT_TRUE(
        says(report.text(), "hint: input 0 at (1,): a kink, and the gradient lies outside the slopes on both sides, "))
        << at_zero;
  }
  EXPECT_EQ(gradcheck(abs_with(1.01), from<double>({0.0, 2.0})).wrong(), 1u);
  // Away from the kink nothing is forgiven, and a fault everywhere is still named where some entries lie at a kink.
  const auto twice = pointwise(relu, [](double v) { return v > 0 ? 2.0 : 0.0; });
  const auto report = gradcheck(twice, from<double>({1.0, 0.0, 3.0, -1.0}));
  EXPECT_EQ(report.wrong(), 2u);
  EXPECT_TRUE(says(report.text(), "analytic = 2 x numeric everywhere: a factor 2 too much"));
}

TEST(Kinks, NearerThanTheStep) {
  for (const double x : {1e-7, -1e-7, 3e-6, -5e-6, 5.99e-6}) {
    const auto report = gradcheck(relu_with(0), from<double>({1.0, x}));
    EXPECT_TRUE(report.ok()) << x << report;
    EXPECT_EQ(report.kinks.size(), 1u) << x << report;
    EXPECT_TRUE(says(report.text(), "a kink or sharp bend within the step, closer differences agree, in 1 entry"));
    EXPECT_TRUE(report.kinks[0].beside);
    const auto wrong = pointwise(relu, [](double v) { return v > 0 ? 1.0001 : 1e-4; });
    EXPECT_EQ(gradcheck(wrong, from<double>({1.0, x})).wrong(), 2u) << x;
  }
  // As near as 1e-12 no step tells it from 0, so that the right slope is one end of the interval.
  EXPECT_TRUE(gradcheck(relu_with(0), 1e-12));
  // A dead zone: kinks on both sides, whose slopes agree.
  const auto shrunk = [](double at) {
    return pointwise([](double v) { return v > 1e-6    ? v - 1e-6
                                           : v < -1e-6 ? v + 1e-6
                                                       : 0; },
                     [=](double) { return at; });
  };
  EXPECT_TRUE(xgrad::testing::gradients_match(shrunk(0), 0.0));
  EXPECT_FALSE(gradcheck(shrunk(1), 0.0).ok());
}

TEST(Kinks, TiesAndBounds) {
  for (const double share : {0.0, 0.5, 1.0}) {  // of max(a, b) where a = b
    const auto max = [share](const V& a, const V& b0) {
      Array<double> y = a.value();
      for (std::size_t i = 0; i < y.size(); ++i) y.data()[i] = std::max(y.data()[i], b0.value().data()[i]);
      return record<double>("max", {a, b0}, y, [share](ArrayBackward<double>& b) {
        Array<double> l = b.grad(), r = b.grad();
        for (std::size_t i = 0; i < l.size(); ++i) {
          const double d = b.input(0).data()[i] - b.input(1).data()[i];
          l.data()[i] *= d > 0 ? 1 : d < 0 ? 0 : share;
          r.data()[i] *= d < 0 ? 1 : d > 0 ? 0 : 1 - share;
        }
        b.add(0, std::move(l));
        b.add(1, std::move(r));
      });
    };
    const auto report = gradcheck(max, {from<double>({1.0, 2.0, 3.0}), from<double>({3.0, 2.0, 1.0})});
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_EQ(report.kinks.size(), 2u) << report;
  }
  const auto clip = pointwise([](double v) { return std::min(std::max(v, -1.0), 1.0); },
                              [](double v) { return v >= -1 && v <= 1 ? 1.0 : 0.0; });
  EXPECT_EQ(gradcheck(clip, from<double>({-1.0, 0.5, 1.0, 2.0})).kinks.size(), 2u);
}

TEST(Kinks, SlopesAreAddedOutputByOutput) {
  // relu(x) and relu(-x): their difference is x, smooth, but each has the gradient 0 at 0.
  const auto both = [](const V& x) {
    return planted::op(x, from<double>({relu(x.item()), relu(-x.item())}), [](ArrayBackward<double>& b) {
      const double v = b.input(0).data()[0];
      b.add(0, full<double>({}, v > 0 ? b.grad()(0) : v < 0 ? -b.grad()(1) : 0.0));
    });
  };
  EXPECT_TRUE(xgrad::testing::gradients_match(both, full<double>({}, 0.0)));
}

// Where the second derivative jumps, the error of a difference falls with the step, not with its square.
TEST(Kinks, OfTheSlope) {
  const double inf = std::numeric_limits<double>::infinity();
  struct Case {
    Number f, df;
    double at;
  };
  for (const double scale : {1e-3, 1.0, 3.0, 1e4})
    for (const Case& c :
         {Case{[](double v) { return v > 0 ? v * v : 0; }, [](double v) { return v > 0 ? 2 * v : 0; }, 0},
          Case{[](double v) { return v * std::abs(v); }, [](double v) { return 2 * std::abs(v); }, 0},
          Case{[](double v) { return std::abs(v) < 1 ? v * v / 2 : std::abs(v) - 0.5; },
               [](double v) { return std::clamp(v, -1.0, 1.0); }, 1}})
      for (const double beside : {0.0, 1e-7, 1e-6, 1e-3}) {
        const auto check = [&](double error) {
          return gradcheck(
              pointwise([&](double v) { return scale * c.f(v); }, [&](double v) { return scale * (c.df(v) + error); }),
              from<double>({c.at + beside, 2.5, std::nextafter(c.at, inf)}));
        };
        EXPECT_TRUE(check(0)) << scale << " at " << c.at << " + " << beside << "\n" << check(0);
        for (const double error : {1e-4, -1e-2, 1.0}) {
          if (scale < 1) continue;  // below atol
          EXPECT_EQ(check(error).wrong(), 3u) << error << " of " << scale << " at " << c.at << " + " << beside;
        }
      }
}

TEST(Kinks, SmoothFunctionsGiveNone) {
  const auto square = [](const V& a) { return a * a; };
  const auto report = gradcheck(square, from<double>({0.0, 1e-9, 1.0, -3.0}));
  EXPECT_TRUE(report.ok() && report.kinks.empty() && report.notes.empty()) << report;
  const auto wrong = pointwise([](double v) { return v * v; }, [](double v) { return 2.0002 * v + 1e-5; });
  EXPECT_EQ(gradcheck(wrong, from<double>({0.0, 1e-3, 1.0, -3.0})).wrong(), 4u);
}

TEST(Kinks, ManyAreCountedAndThreeNamed) {
  const auto report = gradcheck(relu_with(0), zeros<double>({5}));
  EXPECT_TRUE(says(report.text(), "in 5 entries (input 0 at (0,), input 0 at (1,), input 0 at (2,), ...)\n"));
  EXPECT_EQ(report.kinks.size(), 5u);
}

TEST(Jumps, AreNamedAndFail) {
  const auto step = [](double size, double slope) {
    return pointwise([=](double v) { return slope * v + (v >= 0 ? size : 0); }, [=](double) { return slope; });
  };
  for (const double size : {1.0, -3.0, 1e-6, 1e-9}) {
    const auto report = gradcheck(step(size, 1), from<double>({1.0, 0.0}));
    EXPECT_EQ(report.wrong(), 1u) << size;
    EXPECT_TRUE(says(report.text(),
                     "hint: input 0 at (1,): a jump: the value is not continuous here, so there is no gradient; check "
                     "at another point\n"))
        << size;
  }
  // Beside the point it does no harm.
  const auto beside = gradcheck(step(1, 1), from<double>({1.0, 3e-6}));
  EXPECT_TRUE(beside.ok()) << beside;
  EXPECT_EQ(beside.kinks.size(), 1u);
  // A single number that stands apart: the central difference alone would agree.
  const auto spike = pointwise([](double v) { return v == 0 ? 1.0 : v * v; }, [](double v) { return 2 * v; });
  EXPECT_TRUE(says(gradcheck(spike, 0.0).text(), "a jump"));
  const auto root =
      pointwise([](double v) { return std::cbrt(v); }, [](double v) { return v == 0 ? 0 : std::cbrt(v) / (3 * v); });
  EXPECT_TRUE(gradcheck(root, 1.5));
  EXPECT_FALSE(gradcheck(root, 0.0).ok()) << "the slope is infinite";
  const auto cusp = pointwise([](double v) { return std::sqrt(std::abs(v)) + v; }, [](double) { return 2.0; });
  EXPECT_TRUE(says(gradcheck(cusp, 0.0).text(), "a vertical tangent: the slope grows without bound here"));
}

GradcheckOptions extrapolated() {
  GradcheckOptions options;
  options.richardson = true;
  return options;
}

TEST(Richardson, ReachesOnePartInABillion) {
  const auto x = numbers({2, 3});
  GradcheckOptions tight = extrapolated();
  tight.rtol = 1e-9;
  tight.atol = 1e-12;
  const auto exp = [](const V& a) { return planted::exp(a); };
  const auto quotient = [](const V& a, const V& b) { return a * b / (b * b + 1.0); };
  const auto sine = pointwise([](double v) { return std::sin(3 * v); }, [](double v) { return 3 * std::cos(3 * v); });
  EXPECT_TRUE(xgrad::testing::gradients_match(exp, x, tight));
  EXPECT_TRUE(xgrad::testing::gradients_match(quotient, {x, numbers({3}, 4)}, tight));
  EXPECT_TRUE(xgrad::testing::gradients_match(sine, x, tight));
  EXPECT_TRUE(xgrad::testing::second_gradients_match(quotient, {x, numbers({3}, 4)}, extrapolated()));
  const auto offset = [](double wrong) { return [=](const V& a) { return planted::cube(a, 3 * wrong) + 100.0; }; };
  EXPECT_TRUE(xgrad::testing::gradients_match(offset(1), x, tight));
  EXPECT_GE(gradcheck(offset(1 + 1e-7), x, tight).wrong(), 4u);

  const auto error = [&](const GradcheckOptions& options) {
    const auto report = gradcheck(exp, x, options);
    double largest = 0;
    for (std::size_t i = 0; i < 6; ++i) {
      const double want = report.cotangents[0].data()[i] * std::exp(x.data()[i]);
      largest = std::max(largest, std::abs(report.inputs[0].numeric.data()[i] / want - 1));
    }
    return largest;
  };
  EXPECT_LT(error(extrapolated()), 2e-12);
  EXPECT_GT(error({}), 1e-11);

  const auto report = gradcheck(exp, x, extrapolated());
  EXPECT_EQ(report.rtol, 1e-9);
  EXPECT_EQ(report.step, 1e-3);
}

TEST(Richardson, FindsOnePartInTenMillion) {
  const auto x = numbers({2, 3});
  for (const double wrong : {1 + 1e-7, 1 - 1e-7}) {
    const auto exp = pointwise([](double v) { return std::exp(v); }, [=](double v) { return wrong * std::exp(v); });
    EXPECT_TRUE(gradcheck(exp, x).ok()) << "without it this is missed";
    EXPECT_EQ(gradcheck(exp, x, extrapolated()).wrong(), 6u);
    const auto cube = [=](const V& a) { return planted::cube(a, 3 * wrong); };
    EXPECT_EQ(gradcheck(cube, x, extrapolated()).wrong(), 6u);
  }
}

TEST(Richardson, KnowsKinksBordersAndLargeOutputs) {
  EXPECT_EQ(gradcheck(relu_with(0), from<double>({1.0, 0.0}), extrapolated()).kinks.size(), 1u);
  EXPECT_FALSE(gradcheck(relu_with(2), from<double>({1.0, 0.0}), extrapolated()).ok());
  for (const double x : {2e-3, 1.5e-2, -1e-2})  // within the wider steps
    EXPECT_TRUE(xgrad::testing::gradients_match(relu_with(0), x, extrapolated())) << x;
  const auto log = [](double factor) {
    return pointwise([](double v) { return std::log(v); }, [=](double v) { return factor / v; });
  };
  const auto near_zero = from<double>({1e-2, 5e-3, 2.0});
  EXPECT_TRUE(xgrad::testing::gradients_match(log(1), near_zero, extrapolated()));
  EXPECT_EQ(gradcheck(log(1 + 1e-6), near_zero, extrapolated()).wrong(), 3u);
  EXPECT_TRUE(xgrad::testing::gradients_match([](const V& a) { return a * a + 1e6; }, numbers({3}), extrapolated()));
  EXPECT_TRUE(says(gradcheck([](const V& a) { return a * a + 1e9; }, 1.5, extrapolated()).text(),
                   "note: rounding of the large output hides relative errors of 1e-7 in 1 entry"));
}

}  // namespace
