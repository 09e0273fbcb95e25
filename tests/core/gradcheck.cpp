// The checker: right gradients pass, cases GC-01 and GC-02, what it throws, modules, second order.
#include <gtest/gtest.h>

#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/backward.hpp>
#include <xgrad/core/kernels/elementwise.hpp>
#include <xgrad/core/testing.hpp>

#include "planted.hpp"

namespace {

using namespace xgrad;
using planted::V;

constexpr double x0 = 1.0;

Array<double> numbers(const Shape& shape, std::uint64_t seed = 3) { return Rng(seed).normal<double>(shape); }

::testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << part << "\" is not in:\n" << text;
}

template <class E, class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Gradcheck, RightGradientsPass) {
  const auto x = numbers({2, 3}), row = numbers({3}, 4);
  EXPECT_TRUE(xgrad::testing::gradients_match([](const V& a) { return planted::cube(a); }, x));
  EXPECT_TRUE(xgrad::testing::gradients_match([](const V& a, const V& b) { return a * b / (b * b + 1.0); }, {x, row}));
  EXPECT_TRUE(
      xgrad::testing::gradients_match([](const std::vector<V>& v) { return sum_to(v[0] - v[1], {}); }, {x, row}));
  EXPECT_TRUE(xgrad::testing::gradients_match([](const auto& a) { return take(a, Index{1, 0, 1}); }, x));
  EXPECT_TRUE(
      xgrad::testing::second_gradients_match([](const V& a, const V& b) { return a * b / (b * b + 1.0); }, {x, row}));
  const auto report = gradcheck([](const V& a, const V& b) { return a * b; }, {x, row});
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.checked(), 9u);
  EXPECT_EQ(report.text(), "gradcheck passed: 9 entries of 2 inputs checked\n");
}

TEST(Gradcheck, TakesArraysExpressionsNumbersAndLeavesThemAlone) {
  const Array<double> x = numbers({3});
  V leaf(x, true);
  leaf.set_grad(ones<double>({3}));
  EXPECT_TRUE(gradcheck([](const auto& a) { return a * a; }, x + 1.0));
  EXPECT_TRUE(gradcheck([](const auto& a) { return a * a; }, 2.5));
  EXPECT_TRUE(gradcheck([](const auto& a, const auto& b) { return a * b; }, {leaf, x}));
  EXPECT_TRUE(array_equal(leaf.value(), x));
  EXPECT_TRUE(array_equal(leaf.grad(), ones<double>({3})));
}

TEST(Gradcheck, EmptyAndScalarInputs) {
  const auto empty = gradcheck([](const V& a) { return a * a; }, zeros<double>({0, 3}));
  EXPECT_EQ(empty.text(),
            "gradcheck passed: 0 entries of 1 input checked\n"
            "note: nothing was compared, since the inputs hold no numbers\n");
  EXPECT_TRUE(empty);
  EXPECT_TRUE(gradcheck([](const V& a) { return a * a; }, full<double>({}, 3.0)));
}

TEST(Gradcheck, LeavesNoNodes) {
  const std::size_t before = live_nodes();
  gradcheck([](const V& a) { return planted::cube(a, 2); }, numbers({2, 2}));
  gradgradcheck([](const V& a) { return planted::cube(a); }, numbers({2, 2}));
  EXPECT_EQ(live_nodes(), before);
}

TEST(Gradcheck, GC_01_StepAndPrecision) {
  const auto float_difference = [](float x, float h) {
    const volatile float high = x + h, low = x - h;
    const volatile float up = high * high * high, down = low * low * low;
    return static_cast<double>((up - down) / (2 * h));
  };
  EXPECT_NEAR(float_difference(2, 1e-6f), 11.4440918, 1e-6);
  EXPECT_NEAR(float_difference(2, 5e-3f), 12.0001316, 1e-5);

  // The checker's own numeric side. h = step * max(1, |x|), and here x = 2.
  const auto error = [](double h) {
    GradcheckOptions options;
    options.step = h / 2;
    const auto report = gradcheck([](const V& a) { return planted::cube(a); }, 2.0, options);
    return std::abs(*report.inputs[0].numeric.data() / *report.cotangents[0].data() - 12);
  };
  EXPECT_NEAR(error(1e-4), 1.0e-8, 1e-9);
  EXPECT_LT(error(1e-5), 6e-10);
  EXPECT_LT(error(6e-6), 1e-9);
  // Divided by 2 h, a step too small is as bad as one too large; divided by the spacing taken it is not, here.
  const double high = 2 + 1e-10, low = 2 - 1e-10;
  EXPECT_NEAR((high * high * high - low * low * low) / 2e-10 - 12, 1e-6, 1e-7);
  EXPECT_LT(error(1e-10), 1e-9);
}

TEST(Gradcheck, GC_01_ErrorFallsWithTheSquareOfTheStep) {
  const auto error = [](double h) {
    GradcheckOptions options;
    options.step = h;
    options.rtol = 1;  // or closer differences would be taken
    const auto report = gradcheck([](const V& a) { return planted::exp(a); }, 1.0, options);
    return std::abs(*report.inputs[0].numeric.data() / *report.cotangents[0].data() - std::exp(1.0));
  };
  EXPECT_NEAR(error(1e-3), 4.53e-7, 1e-9);
  EXPECT_NEAR(error(1e-2) / error(1e-3), 100, 1);
}

TEST(Gradcheck, GC_01_DividesByTheSpacingTaken) {
  // At 2e6 + 1/3 with h = 1e-9 the spacing taken is one or two ulps of x, far from 2 h.
  GradcheckOptions options;
  options.step = 5e-16;
  EXPECT_TRUE(xgrad::testing::gradients_match([](const V& a) { return a * 1.0; }, 2e6 + 1.0 / 3, options));
}

struct Dropout final : Module<double> {
  V operator()(const V& x) {
    if (!is_training()) return x;
    return x * V(from<double>(generator.bernoulli<double>(x.shape(), 0.5) * 2.0));
  }
  void visit(Visitor<double>& v) override {
    if (visited) v("generator", generator);
  }
  Rng generator{7};
  bool visited = true;
};

TEST(Gradcheck, GC_02_LiveDropoutIsNamed) {
  Dropout dropout;
  const auto x = ones<double>({4});
  const auto report = gradcheck([&](const V& a) { return dropout(a); }, x);
  EXPECT_FALSE(report.ok());
  EXPECT_TRUE(says(report.text(), "not deterministic: two runs on the same numbers gave"));
  EXPECT_TRUE(says(report.text(), "a live dropout?"));
  EXPECT_EQ(report.checked(), 0u);
  EXPECT_FALSE(report.worst);

  // With its mask fixed it passes: by hand, by visit() through the module, or in evaluation mode.
  const auto state = dropout.generator.state();
  EXPECT_TRUE(xgrad::testing::gradients_match(
      [&](const V& a) {
        dropout.generator.set_state(state);
        return dropout(a);
      },
      x));
  dropout.generator.set_state(state);
  EXPECT_TRUE(xgrad::testing::gradients_match(dropout, x));
  EXPECT_EQ(dropout.generator.state(), state);
  GradcheckOptions live;
  live.fix_generators = false;
  EXPECT_TRUE(says(gradcheck(dropout, x, live).text(), "not deterministic"));
  EXPECT_EQ(dropout.generator.state(), state);
  dropout.visited = false;
  EXPECT_TRUE(says(gradcheck(dropout, x).text(), "not deterministic"));
  dropout.eval();
  EXPECT_TRUE(xgrad::testing::gradients_match(dropout, x));
}

TEST(Gradcheck, LargeOutputsGiveNoFalseAlarm) {
  for (const double offset : {1e3, 1e6, 1e9, 1e12, 1e15}) {
    const auto x = numbers({2, 3});
    EXPECT_TRUE(xgrad::testing::gradients_match([&](const V& a) { return a * a + offset; }, x)) << offset;
    EXPECT_TRUE(xgrad::testing::gradients_match([&](const V& a) { return a * offset; }, x)) << offset;
    EXPECT_TRUE(xgrad::testing::gradients_match([&](const V& a) { return sum_to(a * a * offset, {}); }, x)) << offset;
  }
  for (const double offset : {1e3, 1e6}) {  // and still sees one part in ten thousand
    const auto wrong = gradcheck([&](const V& a) { return planted::cube(a, 3.0003) + offset; }, numbers({2, 3}));
    EXPECT_GE(wrong.wrong(), 4u) << offset << '\n' << wrong;
    EXPECT_TRUE(wrong.notes.empty()) << wrong;
  }
  EXPECT_TRUE(says(gradcheck([](const V& a) { return a * a + 1e12; }, 1.5).text(),
                   "note: rounding of the large output hides relative errors of 1e-4 in 1 entry"));
}

TEST(Gradcheck, Refuses) {
  const auto square = [](const V& a) { return a * a; };
  const auto x = numbers({3});
  using Bad = std::invalid_argument;
  EXPECT_EQ(message<Bad>([&] { gradcheck(square, std::vector<V>{}); }), "[gradcheck] needs at least one input");
  EXPECT_EQ(message<Bad>([&] { gradcheck(square, V()); }), "[gradcheck] input 0 is undefined");
  EXPECT_EQ(message<Bad>([&] { gradcheck(square, {x, x}); }), "[gradcheck] the function takes 1 input but got 2");
  EXPECT_EQ(message<Bad>([&] {
              gradcheck(square, from<double>({1.0, std::nan("")}));
            }),
            "[gradcheck] input 0 must be finite but holds nan");
  GradcheckOptions options;
  options.step = 0;
  EXPECT_TRUE(says(message<Bad>([&] { gradcheck(square, x, options); }), "step must be positive"));
  options = {};
  options.names = {"x", "y"};
  EXPECT_TRUE(says(message<Bad>([&] { gradcheck(square, x, options); }), "got 2 names for 1 input"));
  EXPECT_EQ(message<GraphError>([&] { gradcheck([](const V&) { return V(); }, x); }),
            "[gradcheck] the function returned an undefined Variable");
  EXPECT_TRUE(says(message<GraphError>([&] { gradcheck([](const V& a) { return a.detach() * a.detach(); }, x); }),
                   "the result of shape (3,) depends on no input: its graph was cut"));
  const auto jumpy = [](const V& a) { return a.value().data()[0] > x0 ? a : sum_to(a, {}); };
  EXPECT_TRUE(says(message<ShapeError>([&] { gradcheck(jumpy, full<double>({3}, x0)); }),
                   "the shape of the result must not depend on the numbers of input 0"));
}

TEST(Gradcheck, OddValuesAreNamed) {
  const auto log = [](const V& a) {
    return planted::elementwise(
        a, [](double v) { return std::log(v); }, [](double v) { return 1 / v; });
  };
  EXPECT_EQ(gradcheck(log, from<double>({1.0, 0.0})).text(),
            "gradcheck failed: the output is -inf at (1,), so there is nothing to take differences of\n");
  EXPECT_TRUE(says(gradcheck(log, from<double>({1.0, 1e-7})).text(), "at the border of the domain"));
}

// The leaf of a check lives on, so what refers to its numbers finds them; in a model they are gone.
TEST(Gradcheck, DerivativesThatReferToNumbersTheyDoNotOwn) {
  const auto lazy = [](const V& x) {
    const auto e = xt::exp(x.value());
    return record<double>("lazy", {x}, saves::nothing, e, [e](auto& b) { b.add(0, b.grad() * e); });
  };
  const auto reference = [](const V& x) {
    const Array<double>& numbers_of_x = x.value();
    return record<double>("reference", {x}, saves::nothing, xgrad::square(numbers_of_x),
                          [&numbers_of_x](auto& b) { b.add(0, b.grad() * 2.0 * numbers_of_x); });
  };
  for (const auto& report : {gradcheck(lazy, numbers({3})), gradcheck(reference, numbers({3})),
                             gradcheck([&](const V&a, const V&b) { return a * lazy(b); }, {numbers({3}), 0.5})}) {
    EXPECT_TRUE(says(report.text(), "gradcheck failed: the gradient by input "));
    EXPECT_TRUE(says(report.text(),
                     ", but NaN when the input is a temporary that is gone before the backward pass: a "
                     "derivative refers to numbers that were not saved; capture no reference and no "
                     "`auto` of an xtensor expression but an Array, or read b.input(i)\n"));
  }
  const auto owned = [](const V& x) {
    const Array<double> e = xgrad::exp(x.value());
    return record<double>("owned", {x}, saves::nothing, e, [e](auto& b) { b.add(0, b.grad() * e); });
  };
  EXPECT_TRUE(xgrad::testing::gradients_match(owned, numbers({3})));
  EXPECT_TRUE(xgrad::testing::gradients_match([](const V& x) { return x; }, numbers({3})));
}

/// y = x * weight + bias, with a weight of shape (3).
struct Affine : Module<double> {
  V operator()(const V& x) {
    ++calls;
    if (calls == fails_at) throw std::runtime_error("tired");
    seen.data()[0] += 1;
    return planted::cube(x * weight) + bias;
  }
  void visit(Visitor<double>& v) override {
    v("weight", weight);
    v("bias", bias);
    v("seen", seen);
  }
  V weight{numbers({3}, 5), true}, bias{numbers({3}, 6), true};
  Array<double> seen = zeros<double>({1});
  int calls = 0, fails_at = -1;
};

TEST(Gradcheck, ModulesByNameAndUntouched) {
  Affine affine;
  affine.weight.set_grad(full<double>({3}, 9.0));
  const Array<double> weight = affine.weight.value(), bias = affine.bias.value();
  const auto report = gradcheck(affine, numbers({2, 3}));
  EXPECT_TRUE(report.ok()) << report;
  ASSERT_EQ(report.inputs.size(), 3u);
  EXPECT_EQ(report.inputs[1].name, "weight");
  EXPECT_EQ(report.inputs[2].name, "bias");
  EXPECT_EQ(report.checked(), 12u);
  EXPECT_TRUE(xgrad::testing::second_gradients_match(affine, numbers({2, 3})));

  affine.bias.set_requires_grad(false);
  EXPECT_EQ(gradcheck(affine, numbers({2, 3})).inputs.size(), 2u);
  EXPECT_FALSE(affine.bias.requires_grad());
  EXPECT_EQ(affine.seen.data()[0], 0) << "buffers are put back";

  for (affine.fails_at = 1; affine.fails_at <= 20; ++affine.fails_at) {
    affine.calls = 0;
    EXPECT_THROW(gradcheck(affine, numbers({2, 3})), std::runtime_error) << affine.fails_at;
    EXPECT_TRUE(array_equal(affine.weight.value(), weight));
    EXPECT_TRUE(array_equal(affine.bias.value(), bias));
  }
  EXPECT_TRUE(array_equal(affine.weight.grad(), full<double>({3}, 9.0)));
  EXPECT_FALSE(affine.bias.has_grad());
}

TEST(Gradcheck, ModulesCalledInAnotherWay) {
  Affine affine;
  const auto twice = [&](const V& x, const V& y) { return affine(x) * affine(y); };
  EXPECT_TRUE(xgrad::testing::gradients_match(affine, twice, {numbers({2, 3}), numbers({3}, 8)}));
  EXPECT_EQ(gradcheck(affine, twice, {numbers({2, 3}), numbers({3}, 8)}).inputs.size(), 4u);
}

TEST(Gradgradcheck, FindsSecondOrderFaults) {
  const auto x = numbers({2, 2});
  // First order right; the recorded derivative cuts its input off.
  const auto cut = [](const V& a) {
    return planted::op(a, planted::map(a, [](double v) { return v * v; }), [](auto& b) {
      if constexpr (std::is_same_v<std::decay_t<decltype(b.grad())>, V>) b.add(0, b.grad() * 2.0 * b.input(0).detach());
      else b.add(0, b.grad() * 2.0 * b.input(0));
    });
  };
  EXPECT_TRUE(gradcheck(cut, x).ok());
  const auto second = gradgradcheck(cut, x);
  EXPECT_TRUE(says(second.text(), "gradgradcheck (second order) failed: 4 of 8 entries disagree"));
  EXPECT_TRUE(says(second.text(), "input 0: no gradient reaches it: it is cut off from the graph"));

  const auto two_forms = [](const V& a) {
    return planted::op(a, planted::map(a, [](double v) { return v * v; }), [](auto& b) {
      if constexpr (std::is_same_v<std::decay_t<decltype(b.grad())>, V>) b.add(0, b.grad() * 3.0 * b.input(0));
      else b.add(0, b.grad() * 2.0 * b.input(0));
    });
  };
  EXPECT_TRUE(says(gradgradcheck(two_forms, x).text(), "with create_graph: a kernel and its twin, or the two forms"));
  EXPECT_TRUE(says(gradgradcheck([](const V& a) { return planted::relu(a); }, x).text(),
                   "the backward pass failed: [planted] has a derivative on arrays only"));
}

}  // namespace
