// Planted errors: each is caught, and the report names it.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/gradcheck.hpp>

#include "planted.hpp"

namespace {

using namespace xgrad;
using planted::V;

Array<double> numbers(const Shape& shape, std::uint64_t seed = 3) { return Rng(seed).normal<double>(shape); }

/// Runs gradcheck and expects `wrong` entries to disagree and the report to hold `part`.
template <class F>
GradcheckReport expect(F f, const GradcheckInputs& inputs, std::size_t wrong, const std::string& part) {
  auto report = gradcheck(f, inputs);
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.wrong(), wrong) << report;
  EXPECT_NE(report.text().find(part), std::string::npos) << '"' << part << "\" is not in:\n" << report;
  return report;
}

/// x^3 whose right gradient (an array) goes through `spoil` before it is given.
template <class F>
auto spoiled(F spoil) {
  return [spoil](const V& x) {
    return planted::op(x, planted::map(x, [](double v) { return v * v * v; }), [spoil](ArrayBackward<double>& b) {
      Array<double> g = b.grad() * 3.0 * b.input(0) * b.input(0);
      b.add(0, Array<double>(spoil(g)));
    });
  };
}

TEST(Diagnosis, Factors) {
  const auto x = numbers({2, 3});
  const auto cube = [](double factor) { return [factor](const V& a) { return planted::cube(a, factor); }; };
  expect(cube(-3), x, 6, "hint: input 0: analytic = -numeric everywhere: the sign is wrong\n");
  expect(cube(12), x, 6, "hint: input 0: analytic = 4 x numeric everywhere: a factor 4 too much\n");
  expect(cube(-12), x, 6, "analytic = -4 x numeric everywhere: a factor 4 too much, and the sign is wrong\n");
  expect(cube(9), x, 6,
         "analytic = 3 x numeric everywhere: a factor 3 too much; axis 1 of the output has 3 entries: a sum where a "
         "mean belongs, or the reverse?\n");
  expect(cube(0.5), x, 6,
         "analytic = numeric / 6 everywhere: a factor 6 is missing; the output has 6 entries: a sum where a mean");
  expect(cube(3.0003), x, 6, "analytic = 1.0001 x numeric everywhere: a constant factor is wrong\n");
  expect(cube(2.9997), x, 6, "analytic = 0.9999 x numeric everywhere");
  expect(cube(6), 1.5, 1, "analytic = 2 x numeric: a factor 2 too much\n");
  EXPECT_TRUE(gradcheck(cube(4), 1.5).hints.empty()) << "any two numbers have a ratio";
}

TEST(Diagnosis, MeanWithoutItsDivisor) {
  const auto mean = [](const V& x) {  // of the rows; the derivative forgets to divide by their number
    Array<double> y = sum_to(x, {1, 3}).value();
    for (double& v : y) v /= 5;
    return planted::op(x, y, [](auto& b) { b.add(0, xgrad::broadcast_to(b.grad(), b.shape(0))); });
  };
  expect(mean, numbers({5, 3}), 15, "a factor 5 too much; axis 0 of input 0 has 5 entries: a sum where a mean belongs");
}

TEST(Diagnosis, OrderOfEntries) {
  const auto transpose = [](const Array<double>& g) { return Array<double>(xt::transpose(g)); };
  expect(spoiled(transpose), numbers({3, 3}), 6, "hint: input 0: analytic is the numeric gradient transposed\n");
  const auto transposed_numbers = [](const Array<double>& g) {  // right shape, wrong order
    const Array<double> t = xt::transpose(g);
    return from(t.data(), g.shape());
  };
  expect(spoiled(transposed_numbers), numbers({2, 3}), 4, "analytic is the numeric gradient transposed\n");
  const auto batch = [](const Array<double>& g) { return Array<double>(xt::transpose(g, {0, 2, 1})); };
  expect(spoiled(batch), numbers({2, 3, 3}), 12, "with axes 1 and 2 exchanged (transposed)\n");
  const auto shifted = [](const Array<double>& g) {
    Array<double> r = g;
    std::rotate(r.begin(), r.begin() + 1, r.end());
    return r;
  };
  expect(spoiled(shifted), numbers({5}), 5, "analytic holds the right numbers in another order");
}

TEST(Diagnosis, MissingSumOverABroadcastAxis) {
  const auto bias = [](const V& x, const V& b0) {
    return record<double>("bias", {x, b0}, from<double>(x.value() + b0.value()), [](auto& b) {
      b.add(0, b.grad());
      b.add(1, xgrad::sum_to(xgrad::slice(b.grad(), {Slice(2)}), b.shape(1)));  // row 2 alone
    });
  };
  expect(bias, {numbers({5, 3}), numbers({3}, 4)}, 3,
         "hint: input 1: only entry 2 along axis 0 of the output counts: a sum over that axis is missing\n");
}

TEST(Diagnosis, MissingSumInsideTheDerivative) {
  const auto centre = [](const V& x) {  // x - mean of its row; the derivative forgets the mean
    Array<double> y = x.value();
    for (std::size_t r = 0; r < 2; ++r) {
      const double m = (y(r, 0) + y(r, 1) + y(r, 2)) / 3;
      for (std::size_t c = 0; c < 3; ++c) y(r, c) -= m;
    }
    return planted::op(x, y, [](auto& b) { b.add(0, b.grad()); });
  };
  expect(centre, numbers({2, 3}), 6,
         "analytic - numeric is constant along axis 1: a sum or mean over that axis is missing or too much\n");

  const auto softmax = [](const V& x) {  // dx = y * (g - sum(g * y)); the derivative forgets the sum
    Array<double> y = x.value();
    for (std::size_t r = 0; r < 2; ++r) {
      double sum = 0;
      for (std::size_t c = 0; c < 3; ++c) sum += y(r, c) = std::exp(y(r, c));
      for (std::size_t c = 0; c < 3; ++c) y(r, c) /= sum;
    }
    return planted::op(x, y, [](auto& b) { b.add(0, b.grad() * b.output()); });
  };
  expect(softmax, numbers({2, 3}), 6,
         "analytic - numeric is a multiple of the output along axis 1: a sum or mean over");
}

TEST(Diagnosis, UpstreamGradientIgnored) {
  const auto square = [](const V& x) {
    return planted::op(x, planted::map(x, [](double v) { return v * v; }), [](auto& b) { b.add(0, 2.0 * b.input(0)); });
  };
  expect(square, numbers({2, 3}), 6,
         "analytic is the gradient for a cotangent of ones: the derivative ignores the gradient of its output");
}

TEST(Diagnosis, ZeroAndCutOff) {
  expect(spoiled([](const Array<double>& g) { return zeros<double>(g.shape()); }), numbers({4}), 4,
         "hint: input 0: the gradient is zero everywhere: the derivative adds nothing for it\n");
  expect([](const V& a, const V& b) { return a * b.detach(); }, {numbers({2, 3}), numbers({3}, 4)}, 3,
         "hint: input 1: no gradient reaches it: it is cut off from the graph (detach(), value() or NoGrad on the "
         "way?)\n");
  const auto constant = [](const V& x) {
    return planted::op(x, ones<double>(x.shape()), [](auto& b) { b.add(0, b.grad()); });
  };
  expect(constant, numbers({4}), 4, "the output does not depend on it, yet it gets a gradient\n");
}

TEST(Diagnosis, InputsExchanged) {
  const auto product = [](const V& a, const V& b0) {
    return record<double>("product", {a, b0}, from<double>(a.value() * b0.value()), [](auto& b) {
      b.add(0, b.grad() * b.input(0));
      b.add(1, b.grad() * b.input(1));
    });
  };
  const auto report =
      expect(product, {numbers({3}), numbers({3}, 4)}, 6, "input 0: analytic is the gradient of input 1");
  EXPECT_EQ(report.hints.size(), 2u) << report;
}

TEST(Diagnosis, SingleEntriesAndRows) {
  const auto one = [](const Array<double>& g) {
    Array<double> r = g;
    r(1, 2) *= 1.0001;
    return r;
  };
  const auto report = expect(spoiled(one), numbers({2, 3}), 1, "worst: input 0 at (1, 2): analytic");
  EXPECT_NEAR(report.worst->analytic / report.worst->numeric, 1.0001, 1e-8);
  const auto row = [](const Array<double>& g) {
    Array<double> r = g;
    for (std::size_t c = 0; c < 3; ++c) r(4, c) += static_cast<double>(c + 1);
    return r;
  };
  expect(spoiled(row), numbers({5, 3}), 3, "all disagreements lie at index 4 of axis 0\n");
}

TEST(Diagnosis, NotFinite) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const auto spoil = [bad](const Array<double>& g) {
      Array<double> r = g;
      r(1) = bad;
      return r;
    };
    const auto report = expect(spoiled(spoil), numbers({3}), 1, "though the value is finite\n");
    EXPECT_EQ(report.worst->index, Shape({1}));
  }
}

TEST(Diagnosis, WrongShapeIsReported) {
  const auto f = spoiled([](const Array<double>&) { return zeros<double>({3}); });
  EXPECT_EQ(gradcheck(f, numbers({2, 3})).text(),
            "gradcheck failed: the backward pass failed: [backward] the derivative of planted gives input 0 of shape "
            "(2, 3) a gradient of shape (3,); sum over what was broadcast with b.add_summed\n");
}

TEST(Diagnosis, SeveralInputsShareALine) {
  const auto f = [](const V& a, const V& b) { return planted::cube(a, 6) + planted::cube(b, 6); };
  expect(f, {numbers({4}), numbers({4}, 5)}, 8, "hint: input 0, input 1: analytic = 2 x numeric everywhere");
}

TEST(Diagnosis, ReportReadsWell) {
  GradcheckOptions options;
  options.names = {"x", "shift"};
  const auto f = [](const V& x, const V& shift) { return planted::cube(x, -3) + shift; };
  const auto report = gradcheck(f, {from<double>({1.0, 2.0, 0.5, 1.5}, {2, 2}), 0.25}, options);
  EXPECT_EQ(report.text(), R"(gradcheck failed: 4 of 5 entries disagree
  x, shape (2, 2): 4 of 4 disagree
  1 other input agrees
worst: x at (1, 1): analytic 9.62422991, numeric -9.62422991 (apart by 19, allowed 9.6e-06)
hint: x: analytic = -numeric everywhere: the sign is wrong
cotangent from seed 0: [[1.261, 0.711], [-0.7758, -1.426]]
)");
  std::ostringstream out;
  out << report;
  EXPECT_EQ(out.str(), report.text());
}

}  // namespace
