// gradcheck of plain functions on arrays with a backward pass written by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>

#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/testing.hpp>

#include "../throws.hpp"
#include "planted.hpp"

namespace {

using namespace xgrad;
using A = Array<double>;
using AF = Array<float>;
using planted::V;

A numbers(const Shape& shape, std::uint64_t seed = 3) { return Rng(seed).normal<double>(shape); }
AF floats(const Shape& shape, std::uint64_t seed = 3) { return Rng(seed).normal<float>(shape); }

::testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << part << "\" is not in:\n" << text;
}

A cube(const A& x) { return x * x * x; }
A cube_backward(const A& x, const A& dy) { return 3.0 * x * x * dy; }

/// Code of somebody else.
void softplus(const double* x, double* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = std::log1p(std::exp(x[i]));
}
void softplus_backward(const double* x, const double* dy, double* dx, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) dx[i] = dy[i] / (1 + std::exp(-x[i]));
}

TEST(ArrayFunctions, InFloatByName) {
  const auto forward = [](const auto& x) -> std::decay_t<decltype(x)> { return x * x; };
  const auto backward = [](const auto& x, const auto& dy) -> std::decay_t<decltype(x)> { return 2.0f * x * dy; };
  const GradcheckReport report = gradcheck<float>(forward, backward, floats({2, 3}));
  EXPECT_TRUE(report);
  EXPECT_TRUE(says(report.text(), "note: float, by differences of float values"));
  const auto wrong = [](const auto& x, const auto& dy) -> std::decay_t<decltype(x)> { return 2.2f * x * dy; };
  EXPECT_FALSE(gradcheck<float>(forward, wrong, floats({2, 3})));
}

TEST(ArrayFunctions, RightOnesPass) {
  EXPECT_TRUE(xgrad::testing::gradients_match(cube, cube_backward, numbers({2, 3})));
  const auto forward = [](const A& x) {
    auto y = empty<double>(x.shape());
    softplus(x.data(), y.data(), x.size());
    return y;
  };
  const auto backward = [](const A& x, const A& dy) {
    auto dx = empty<double>(x.shape());
    softplus_backward(x.data(), dy.data(), dx.data(), x.size());
    return dx;
  };
  const auto report = gradcheck(forward, backward, std::vector<double>{0.5, -1.0, 2.0});
  EXPECT_EQ(report.text(), "gradcheck passed: 3 entries of 1 input checked\n");
}

/// y = a * b + c, c broadcast over rows, with its gradients in the form that `give` makes of them.
template <class Give>
GradcheckReport product_of(Give give) {
  return gradcheck([](const A& a, const A& b, const A& c) -> A { return a * b + c; },
                   [give](const A& a, const A& b, const A&, const A& dy) {
                     return give(A(dy * b), A(dy * a), xgrad::sum_to(dy, {3}));
                   },
                   {numbers({2, 3}), numbers({2, 3}, 4), numbers({3}, 5)});
}

TEST(ArrayFunctions, GradientsComeAsTupleArrayOrVector) {
  EXPECT_TRUE(product_of([](const A& a, const A& b, const A& c) { return std::make_tuple(a, b, c); }));
  EXPECT_TRUE(product_of([](const A& a, const A& b, const A& c) { return std::array<A, 3>{a, b, c}; }));
  EXPECT_TRUE(product_of([](const A& a, const A& b, const A& c) { return std::vector<A>{a, b, c}; }));
  const auto listed =
      gradcheck([](const std::vector<A>& x) -> A { return x[0] * x[1]; },
                [](const std::vector<A>& x, const A& dy) { return std::make_pair(A(dy * x[1]), A(dy * x[0])); },
                {numbers({4}), numbers({4}, 5)});
  EXPECT_TRUE(listed.ok()) << listed;
  const auto mixed = gradcheck([](const auto& a, const auto& b) { return A(a * b); },  // generic, gradients by list
                               [](const std::vector<A>& x, const A& dy) {
                                 return std::vector<A>{A(dy * x[1]), A(dy * x[0])};
                               },
                               {numbers({4}), 0.5 * numbers({4}, 5)});
  EXPECT_TRUE(mixed.ok()) << mixed;
}

TEST(ArrayFunctions, WorkspacesStayTheCallers) {
  A dx = numbers({3}), dw = numbers({3});
  const auto backward = [&](const A& x, const A& w, const A& dy) {
    dx = w * dy;
    dw = x * dy;
    return std::tie(dx, dw);
  };
  EXPECT_TRUE(
      gradcheck([](const A& x, const A& w) -> A { return x * w; }, backward, {numbers({3}, 1), numbers({3}, 2)}));
  EXPECT_EQ(dx.size(), 3u);
  EXPECT_EQ(dw.size(), 3u);
}

TEST(ArrayFunctions, NumbersAndVectorsAsResults) {
  const auto loss = [](const A& x) {
    double s = 0;
    for (double v : x) s += v * v;
    return s;
  };
  EXPECT_TRUE(gradcheck(
      loss, [](const A& x, const A& dy) -> A { return 2.0 * x * item(dy); }, numbers({5})));
  const auto squares = [](const A& x) {
    std::vector<double> y;
    for (double v : x) y.push_back(v * v);
    return y;
  };
  const auto backward = [](const A& x, const A& dy) {
    std::vector<double> dx;
    for (std::size_t i = 0; i < x.size(); ++i) dx.push_back(2 * x.data()[i] * dy.data()[i]);
    return dx;
  };
  EXPECT_TRUE(gradcheck(squares, backward, std::vector<double>{1, -2, 3}));
  EXPECT_TRUE(says(gradcheck(squares, backward, numbers({2, 2})).text(), "of shape (2, 2) by input 0 but returned"));
}

TEST(ArrayFunctions, PlantedErrorsAreNamed) {
  const auto hints = [](auto backward) { return gradcheck(cube, backward, numbers({3, 3})).text(); };
  EXPECT_TRUE(says(hints([](const A& x, const A& dy) -> A { return -3.0 * x * x * dy; }),
                   "hint: input 0: analytic = -numeric everywhere: the sign is wrong\n"));
  EXPECT_TRUE(says(hints([](const A& x, const A& dy) -> A { return 6.0 * x * x * dy; }),
                   "hint: input 0: analytic = 2 x numeric everywhere: a factor 2 too much\n"));
  EXPECT_TRUE(says(hints([](const A& x, const A& dy) -> A { return xt::transpose(A(3.0 * x * x * dy)); }),
                   "hint: input 0: analytic is the numeric gradient transposed\n"));
  EXPECT_TRUE(says(hints([](const A& x, const A&) -> A { return 3.0 * x * x; }),
                   "the derivative ignores the gradient of its output (b.grad(), or what backward is given last)\n"));
  EXPECT_TRUE(says(hints([](const A& x, const A&) { return zeros<double>(x.shape()); }),
                   "the gradient is zero everywhere: the derivative adds nothing for it\n"));
  EXPECT_TRUE(says(hints([](const A& x, const A& dy) -> A { return 3.0003 * x * x * dy; }), "9 of 9 disagree"));
  EXPECT_TRUE(says(product_of([](const A& a, const A& b, const A& c) { return std::make_tuple(b, a, c); }).text(),
                   "input 0: analytic is the gradient of input 1: inputs exchanged"));
  const auto missing_sum =
      gradcheck([](const A& x, const A& bias) -> A { return x + bias; },
                [](const A&, const A&, const A& dy) {
                  return std::make_pair(dy, A(xgrad::sum_to(xgrad::slice(dy, {Slice(2)}), {3})));  // row 2 alone
                },
                {numbers({5, 3}), numbers({3}, 4)});
  EXPECT_TRUE(
      says(missing_sum.text(), "input 1: only entry 2 along axis 0 of the output counts: a sum over that axis"));
}

TEST(ArrayFunctions, WrongNumbersAndShapesOfGradients) {
  const auto two = [](const A& a, const A& b) -> A { return a * b; };
  const Shape shape{2, 3};
  GradcheckOptions options;
  options.names = {"a", "b"};
  EXPECT_EQ(
      gradcheck(two, [](const A& a, const A&, const A& dy) -> A { return a * dy; }, {numbers(shape), numbers(shape)})
          .text(),
      "gradcheck failed: the backward pass failed: [gradcheck] backward must return one gradient per input but "
      "returned 1 for 2 inputs\n");
  const auto report = gradcheck(
      two, [](const A& a, const A& b, const A& dy) { return std::make_pair(A(b * dy), A(xt::transpose(a))); },
      {numbers(shape), numbers(shape)}, options);
  EXPECT_EQ(report.problem,
            "the backward pass failed: [gradcheck] backward must return a gradient of shape (2, 3) by b but returned "
            "one of shape (3, 2)");
  EXPECT_EQ(report.checked(), 0u);
}

TEST(ArrayFunctions, Refuses) {
  const auto x = numbers({3});
  EXPECT_THROWS(std::invalid_argument, gradcheck(cube, cube_backward, {x, x}), "the function takes 1 input but got 2");
  EXPECT_THROWS(std::invalid_argument, gradcheck(cube, cube_backward, std::vector<V>{}), "needs at least one input");
  EXPECT_THROWS(std::runtime_error,
                gradcheck([](const A&) -> A { throw std::runtime_error("tired"); }, cube_backward, x), "tired");
  int runs = 0;
  const auto drifting = [&](const A& a) -> A { return a + static_cast<double>(++runs); };
  EXPECT_TRUE(says(gradcheck(
                       drifting, [](const A&, const A& dy) { return dy; }, x)
                       .text(),
                   "not deterministic"));
}

TEST(ArrayFunctions, FloatOnes) {
  const auto forward = [](const AF& x) -> AF { return x * x * x; };
  const auto backward = [](float factor) {
    return [factor](const AF& x, const AF& dy) -> AF { return factor * x * x * dy; };
  };
  const auto right = gradcheck(forward, backward(3), floats({4, 5}));
  EXPECT_TRUE(right.ok()) << right;
  EXPECT_TRUE(says(right.text(),
                   "note: float, by differences of float values: tolerances are widened to rtol 0.02; "
                   "finds errors of 5% in entries above 5% of their input's largest\n"));
  EXPECT_GE(gradcheck(forward, backward(3.15f), floats({4, 5})).wrong(), 15u);
  EXPECT_TRUE(says(gradcheck(forward, backward(6), floats({4, 5})).text(), "analytic = 2"));
  // In double they would be right to ten digits; a float function behind double arrays is not.
  EXPECT_TRUE(gradcheck([](const std::vector<AF>& x) -> AF { return x[0] * x[0]; },
                        [](const std::vector<AF>& x, const AF& dy) -> AF { return 2.0f * x[0] * dy; },
                        std::vector<float>{1, 2, 3}));
}

TEST(ArrayFunctions, LeaveNoNodes) {
  const std::size_t before = live_nodes();
  gradcheck(cube, cube_backward, numbers({2, 2}));
  EXPECT_EQ(live_nodes(), before);
}

}  // namespace
