// "What backward does, exactly": each sentence of that contract is a test.
#include <gtest/gtest.h>

#include <thread>
#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/arithmetic.hpp>
#include <xgrad/core/backward.hpp>
#include <xgrad/core/record.hpp>

#include "throws.hpp"

namespace {

using xgrad::Array;
using xgrad::GraphError;
using xgrad::NoGrad;
using xgrad::Shape;
using xgrad::ShapeError;
using xgrad::Variable;
using V = Variable<double>;

V leaf(const std::vector<double>& numbers) { return {xgrad::from(numbers), true}; }

V total(const V& x) { return xgrad::sum_to(x, {}); }

void expect_numbers(const Array<double>& got, std::vector<double> want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_DOUBLE_EQ(got.data()[i], want[i]) << "entry " << i;
}

/// Every engine test ends with as many nodes alive as it began with.
class Backward : public ::testing::Test {
 protected:
  void SetUp() override { before_ = xgrad::live_nodes(); }
  void TearDown() override { EXPECT_EQ(xgrad::live_nodes(), before_) << "nodes leaked"; }

 private:
  std::size_t before_ = 0;
};

template <class T>
Variable<T> square(const Variable<T>& x) {
  return xgrad::record<T>("square", {x}, xgrad::saves::inputs, x.value() * x.value(),
                          [](auto& b) { b.add(0, b.grad() * T(2) * b.input(0)); });
}

/// x * x with a hand-written array derivative and a twin.
V fused_square(const V& x) {
  return xgrad::record<double>(
      "fused_square", {x}, xgrad::saves::inputs, x.value() * x.value(),
      [](auto& b) { b.add(0, b.grad() * 2.0 * b.input(0)); }, [](const std::vector<V>& in) { return in[0] * in[0]; });
}

/// x * x with a derivative on arrays alone.
V first_order_square(const V& x) {
  return xgrad::record<double>("first_order_square", {x}, xgrad::saves::inputs, x.value() * x.value(),
                               [](xgrad::ArrayBackward<double>& b) { b.add(0, b.grad() * 2.0 * b.input(0)); });
}

// --- gradients ---

TEST_F(Backward, AG_01_SharedValuesOnPathsOfDifferentLength) {
  {
    V x = leaf({1}), a = leaf({1});
    const V s = x * x, xa = x * a;
    (x * xa + s * a + x * xa).backward();
    expect_numbers(x.grad(), {6});
    expect_numbers(a.grad(), {3});
  }
  {
    V x = leaf({2});
    const V y = 3.0 * x;
    (2.0 * y + 5.0 * y).backward();
    expect_numbers(x.grad(), {21});
  }
  {
    V x = leaf({3});
    (x + x).backward();
    expect_numbers(x.grad(), {2});
    x.zero_grad();
    (x * x).backward();
    expect_numbers(x.grad(), {6});
  }
}

TEST_F(Backward, SharedTermsCostEachNodeOnce) {
  // 60 doublings: 2^60 paths, 60 nodes.
  V x = leaf({1});
  V y = x;
  for (int i = 0; i < 60; ++i) y = y + y;
  y.backward();
  expect_numbers(x.grad(), {std::ldexp(1.0, 60)});
}

TEST_F(Backward, AG_04_BroadcastOperandsKeepTheirShapes) {
  const auto ones = [](const Shape& s) { return xgrad::ones<double>(s); };
  V a(ones({3, 4}), true), b(ones({1, 4}), true);
  (a + b).backward(ones({3, 4}));
  EXPECT_TRUE(xgrad::array_equal(a.grad(), ones({3, 4})));
  EXPECT_TRUE(xgrad::array_equal(b.grad(), xgrad::full<double>({1, 4}, 3)));

  V column(xgrad::from<double>(std::vector<double>{1, 2, 3, 4}, {4, 1}), true);
  V row(xgrad::from<double>(std::vector<double>{5, 6, 7, 8}, {1, 4}), true);
  total(column * row).backward();
  EXPECT_TRUE(xgrad::array_equal(column.grad(), xgrad::full<double>({4, 1}, 26)));
  EXPECT_TRUE(xgrad::array_equal(row.grad(), xgrad::full<double>({1, 4}, 10)));

  V scalar(xgrad::full<double>({}, 2), true);
  (scalar * ones({2, 3})).backward(ones({2, 3}));
  EXPECT_TRUE(xgrad::array_equal(scalar.grad(), xgrad::full<double>({}, 6)));

  V one(ones({1}), true);
  (one * ones({5, 4})).backward(ones({5, 4}));
  EXPECT_TRUE(xgrad::array_equal(one.grad(), xgrad::full<double>({1}, 20)));

  V vector(ones({4}), true);
  (vector + ones({3, 4})).backward(ones({3, 4}));
  EXPECT_TRUE(xgrad::array_equal(vector.grad(), xgrad::full<double>({4}, 3)));
}

TEST_F(Backward, SlicesAndRowsAddUp) {
  V x = leaf({1, 2, 3, 4});
  const V head = xgrad::slice(x, {xgrad::range(0, 2)}), tail = xgrad::slice(x, {xgrad::range(1, 4)});
  (total(head * head) + total(3.0 * tail)).backward();
  expect_numbers(x.grad(), {2, 7, 3, 3});
  x.zero_grad();
  xgrad::take(x, xgrad::Index{0, 2, 0}).backward(Array<double>{0.2, 1, 0.3});
  expect_numbers(x.grad(), {0.5, 0, 1, 0});
}

// --- what is checked before anything runs ---

TEST_F(Backward, NeedsAScalarOrASeedOfTheSameShape) {
  V x(xgrad::ones<double>({4, 3}), true);
  const V y = x * x;
  EXPECT_THROWS(GraphError, y.backward(),
                "[backward] needs a scalar but got shape (4, 3); reduce it (sum, mean) or pass a seed gradient");
  EXPECT_THROWS(ShapeError, y.backward(xgrad::ones<double>({3})),
                "[backward] the seed gradient must have shape (4, 3) but has shape (3,)");
  EXPECT_FALSE(x.has_grad());
  y.backward(xgrad::full<double>({4, 3}, 0.5));
  EXPECT_TRUE(xgrad::array_equal(x.grad(), xgrad::ones<double>({4, 3})));
}

TEST_F(Backward, NeedsATrackedOutput) {
  EXPECT_THROWS(GraphError, (V(1.0) * V(2.0)).backward(), "depends on nothing that requires a gradient");
  EXPECT_THROWS(GraphError, V().backward(), "undefined");
}

TEST_F(Backward, ASecondPassThroughAUsedNodeThrowsAndNeverGivesAPartialGradient) {
  V x = leaf({3}), w = leaf({2});
  const V shared = x * x;
  const V first = shared * w, second = shared + w;
  first.backward();
  expect_numbers(w.grad(), {9});
  EXPECT_THROWS(GraphError, first.backward(), "[backward] the graph through mul was freed by an earlier pass");
  EXPECT_THROWS(GraphError, second.backward(), "freed by an earlier pass; pass retain_graph");
  expect_numbers(w.grad(), {9});
  expect_numbers(x.grad(), {12});
}

TEST_F(Backward, RetainGraphAllowsAnotherPassAndGradientsAddUp) {
  V x = leaf({3});
  const V y = x * x;
  y.backward(true);
  y.backward(true);
  expect_numbers(x.grad(), {12});
  y.backward();
  expect_numbers(x.grad(), {18});
  EXPECT_THROWS(GraphError, y.backward(), "freed");
}

TEST_F(Backward, AChangedSavedInputIsAnErrorNotAWrongNumber) {
  V w(xgrad::ones<double>({8, 16}), true);
  const V y = total(w * w);
  w.mutate([](Array<double>& a) { a.fill(5); });
  EXPECT_THROWS(GraphError, y.backward(),
                "[backward] input 0 of mul, a leaf of shape (8, 16), changed after use; call backward() before step()");
  EXPECT_FALSE(w.has_grad());
  // What nobody saved may change.
  V x = leaf({1});
  const V z = x + 1.0;
  x.mutate([](Array<double>& a) { a.fill(5); });
  z.backward();
  expect_numbers(x.grad(), {1});
}

TEST_F(Backward, AChangedConstantOrOutputIsNoticedToo) {
  V x = leaf({2}), c(xgrad::ones<double>({1}));
  const V y = x * c;
  c.mutate([](Array<double>& a) { a.fill(5); });
  EXPECT_THROWS(GraphError, y.backward(), "input 1 of mul, a constant of shape (1,), changed after use");
  const V r = xgrad::reciprocal(x);
  r.detach().mutate([](Array<double>& a) { a.fill(5); });
  EXPECT_THROWS(GraphError, r.backward(), "the output of reciprocal, of shape (1,), changed after use");
}

// --- while it runs ---

TEST_F(Backward, IfADerivativeThrowsNoLeafChanges) {
  V x = leaf({1}), w = leaf({2});
  w.set_grad(Array<double>{7});
  const V bad = xgrad::record<double>("bad", {x}, xgrad::saves::nothing, Array<double>(x.value()),
                                      [](auto&) { throw std::runtime_error("planted"); });
  EXPECT_THROWS(std::runtime_error, (w * w + bad).backward(), "planted");
  EXPECT_FALSE(x.has_grad());
  expect_numbers(w.grad(), {7});
}

TEST_F(Backward, AGradientMustHaveExactlyItsInputsShape) {
  V x(xgrad::ones<double>({3}), true);
  const auto wide = xgrad::record<double>("wide", {x}, xgrad::saves::nothing, xgrad::ones<double>({4, 3}),
                                          [](auto& b) { b.add(0, b.grad()); });
  EXPECT_THROWS(ShapeError, total(wide).backward(),
                "[backward] the derivative of wide gives input 0 of shape (3,) a gradient of shape (4, 3)");
  EXPECT_FALSE(x.has_grad());
  const auto again = xgrad::record<double>("wide", {x}, xgrad::saves::nothing, xgrad::ones<double>({4, 3}),
                                           [](auto& b) { b.add(0, b.grad()); });
  EXPECT_THROWS(ShapeError, xgrad::grad(total(again), x, {true}), "gives input 0 of shape (3,)");
}

TEST_F(Backward, ADerivativeThatForgetsAnInputIsNamed) {
  V a = leaf({1}), b = leaf({2});
  const V y = xgrad::record<double>("half", {a, b}, xgrad::saves::nothing, Array<double>(a.value()),
                                    [](auto& d) { d.add(0, d.grad()); });
  EXPECT_THROWS(GraphError, y.backward(), "the derivative of half gave nothing for input 1, which needs a gradient");
}

TEST_F(Backward, ReadingWhatWasNotSavedThrows) {
  V x = leaf({1});
  const auto reads = [&](xgrad::Saves keep, auto derivative) {
    return xgrad::record<double>("reads", {x}, keep, Array<double>(x.value()), derivative);
  };
  EXPECT_THROWS(GraphError, reads(xgrad::saves::output, [](auto& b) { b.add(0, b.input(0)); }).backward(),
                "reads input 0, which was not saved; pass saves::inputs to record()");
  EXPECT_THROWS(GraphError, reads(xgrad::saves::inputs, [](auto& b) { b.add(0, b.output()); }).backward(),
                "reads its output, which was not saved; pass saves::output to record()");
  EXPECT_THROWS(GraphError, reads(xgrad::saves::all, [](auto& b) { b.add(1, b.grad()); }).backward(),
                "names input 1 but the op has 1");
  EXPECT_THROWS(GraphError,
                reads(xgrad::saves::all, [](auto& b) { b.add(0, xgrad::zeros<double>(b.shape(1))); }).backward(),
                "[backward] the derivative of reads names input 1 but the op has 1");
}

TEST_F(Backward, WorkForAnInputWithoutGradientIsSkipped) {
  V x = leaf({2});
  bool needs_constant = true;
  const V y = xgrad::record<double>("two", {x, V(3.0)}, xgrad::saves::nothing, Array<double>(x.value()), [&](auto& b) {
    needs_constant = b.needs(1);
    b.add(0, b.grad());
    b.add(1, xgrad::zeros<double>({}));
  });
  y.backward();
  EXPECT_FALSE(needs_constant);
}

TEST_F(Backward, ValuesAUserHoldsStayReadable) {
  V x = leaf({3});
  const V middle = x * x;
  (middle * middle).backward();
  EXPECT_EQ(middle.item(), 9.0);
}

TEST_F(Backward, SavedValuesAreDroppedAsThePassMovesOn) {
  // When the oldest derivative runs, the newer nodes have let their parents and values go.
  V x = leaf({1});
  std::size_t alive_in_first = 0;
  V y = xgrad::record<double>("first", {x}, xgrad::saves::nothing, Array<double>(x.value()), [&](auto& b) {
    alive_in_first = xgrad::live_nodes();
    b.add(0, b.grad());
  });
  const std::size_t before = xgrad::live_nodes();
  for (int i = 0; i < 100; ++i) y = square(y);
  y.backward();
  EXPECT_LE(alive_in_first, before + 1);  // this node, and the output that we hold
}

// --- grad() ---

TEST_F(Backward, GradReturnsGradientsAndTouchesNoLeaf) {
  V x = leaf({3}), w = leaf({2});
  const V y = x * x * w;
  const auto g = xgrad::grad({y}, {w, x});
  expect_numbers(g[0].value(), {9});
  expect_numbers(g[1].value(), {12});
  EXPECT_FALSE(x.has_grad());
  EXPECT_FALSE(g[0].requires_grad());
}

TEST_F(Backward, GradByAValueInBetweenAndByTheOutputItself) {
  V x = leaf({3});
  const V middle = x * x, y = middle * middle;
  const auto g = xgrad::grad({y}, {middle, x, y}, {false, true});
  expect_numbers(g[0].value(), {18});
  expect_numbers(g[1].value(), {108});
  expect_numbers(g[2].value(), {1});
}

TEST_F(Backward, GradByAValueInBetweenDoesNotUseWhatLiesBefore) {
  V x = leaf({3});
  const V middle = x * x;
  (middle * 2.0).backward();  // frees the node of `middle`
  expect_numbers(xgrad::grad(middle * middle, middle).value(), {18});
}

TEST_F(Backward, GradOfSeveralOutputsWithSeeds) {
  V x = leaf({1, 2});
  const auto g = xgrad::grad({x * x, 3.0 * x}, {x}, {}, {V(Array<double>{1, 10}), V(Array<double>{100, 1000})});
  expect_numbers(g[0].value(), {302, 3040});
  EXPECT_THROWS(GraphError, xgrad::grad({x * x}, {x}),
                "[grad] needs a scalar but got shape (2,); reduce it (sum, mean) or pass a seed for each output");
  EXPECT_THROWS(GraphError, xgrad::grad(V(1.0) * V(2.0), x),
                "[grad] the output of shape () depends on nothing that requires a gradient");
  EXPECT_THROWS(ShapeError, xgrad::grad({x * x}, {x}, {}, {V(1.0)}),
                "[grad] a seed must have shape (2,) but has shape ()");
  EXPECT_THROWS(GraphError, xgrad::grad({x * x, x}, {x}, {}, {V(Array<double>{1, 1})}),
                "[grad] needs one seed for each of 2 outputs but got 1");
  EXPECT_THROWS(GraphError, xgrad::grad(std::vector<V>{}, std::vector<V>{x}), "at least one output");
}

// The pass works on the caller's array, and on the way an add hands it on as it is.
TEST_F(Backward, ASeedIsReadAndNeverChanged) {
  const Array<double> seed{1, 10};
  V x = leaf({1, 2}), w = leaf({3, 4});
  const V y = x + w;
  (y + y * x).backward(seed);
  expect_numbers(seed, {1, 10});
  expect_numbers(x.grad(), {1 + 1 + 4, 10 + 20 + 60});
  expect_numbers(w.grad(), {2, 30});

  V itself = leaf({5, 6});
  itself.backward(seed);
  itself.backward(seed);
  expect_numbers(itself.grad(), {2, 20});
  itself.backward(itself.grad());
  expect_numbers(itself.grad(), {4, 40});
  expect_numbers(seed, {1, 10});

  const V twice = x * x, seeds(seed);
  expect_numbers(xgrad::grad({twice, twice, x}, {x, twice}, {true}, {seeds, seeds, seeds})[0].value(), {5, 90});
  const auto recorded = xgrad::grad({twice, twice}, {twice, x}, {false, true}, {seeds, seeds});
  expect_numbers(recorded[0].value(), {2, 20});
  expect_numbers(recorded[1].value(), {4, 80});
  expect_numbers(seeds.value(), {1, 10});
}

TEST_F(Backward, ASeedMayBeTheGradientOfALeaf) {
  for (const bool older_first : {true, false}) {
    V b = leaf({3, 4}), a = leaf({1, 2});
    b.set_grad({10, 20});
    a.set_grad({1, 1});
    (older_first ? b + a : a + b).backward(a.grad());
    expect_numbers(a.grad(), {2, 2});
    expect_numbers(b.grad(), {11, 21});
  }
}

TEST_F(Backward, ASeedMayLieInAValueThatOnlyTheGraphHolds) {
  V b = leaf({0, 0}), a = leaf({1, 2});
  V half = fused_square(a), saved = square(half), y = saved + b;
  const Array<double>& seed = half.value();
  half = V();
  y.backward(seed);
  expect_numbers(b.grad(), {1, 4});
  expect_numbers(a.grad(), {2 * 1 * 2 * 1 * 1, 2 * 4 * 2 * 2 * 4});
}

TEST_F(Backward, GradThrowsForAnUnusedInputUnlessAllowed) {
  V x = leaf({1}), unused = leaf({1, 2});
  EXPECT_THROWS(GraphError, xgrad::grad(x * x, unused),
                "[grad] no output depends on input 0 of shape (2,); pass allow_unused for zeros");
  const auto g = xgrad::grad({x * x}, {unused, x}, {false, false, true});
  expect_numbers(g[0].value(), {0, 0});
  expect_numbers(g[1].value(), {2});
  EXPECT_THROWS(GraphError, xgrad::grad(x * x, V(1.0)), "input 0 of shape () is constant and requires no gradient");
}

TEST_F(Backward, GradFreesTheGraphUnlessRetained) {
  V x = leaf({3});
  const V y = x * x;
  xgrad::grad(y, x, {false, true});
  xgrad::grad(y, x);
  EXPECT_THROWS(GraphError, xgrad::grad(y, x), "freed by an earlier pass");
}

TEST_F(Backward, ThreadsThatShareParametersCallGrad) {
  const V w = leaf({1, 2, 3});
  std::vector<Array<double>> results(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < results.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) results[t] = xgrad::grad(total(w * w * static_cast<double>(t)), w).value();
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t t = 0; t < results.size(); ++t) {
    const double k = static_cast<double>(t);
    expect_numbers(results[t], {2 * k, 4 * k, 6 * k});
  }
}

// --- every order from one formula ---

TEST_F(Backward, OneFormulaGivesEveryOrder) {
  V x = leaf({2});
  const V y = square(x) * x;  // x^3
  const V first = xgrad::grad(y, x, {true});
  const V second = xgrad::grad(first, x, {true});
  const V third = xgrad::grad(second, x, {true});
  expect_numbers(first.value(), {12});
  expect_numbers(second.value(), {12});
  expect_numbers(third.value(), {6});
  EXPECT_TRUE(second.requires_grad());
}

TEST_F(Backward, ARecordedGradientCanBePartOfALoss) {
  V x = leaf({3});
  const V slope = xgrad::grad(x * x * x, x, {true});  // 3 x^2
  (slope * slope).backward();                         // d 9 x^4 = 36 x^3
  expect_numbers(x.grad(), {972});
}

TEST_F(Backward, CreateGraphRetainsTheGraph) {
  V x = leaf({3});
  const V y = x * x;
  xgrad::grad(y, x, {true});
  y.backward();
  expect_numbers(x.grad(), {6});
}

TEST_F(Backward, CreateGraphRecordsAlsoUnderNoGrad) {
  V x = leaf({3});
  const V y = x * x * x;
  const NoGrad scope;
  const V slope = xgrad::grad(y, x, {true});
  EXPECT_TRUE(slope.requires_grad());
  expect_numbers(xgrad::grad(slope, x).value(), {18});
}

TEST_F(Backward, AFusedOpIsDifferentiatedThroughItsTwin) {
  V x = leaf({2});
  const V y = fused_square(x) * x;
  const V first = xgrad::grad(y, x, {true});
  expect_numbers(first.value(), {12});
  expect_numbers(xgrad::grad(xgrad::grad(first, x, {true}), x).value(), {6});
  V z = leaf({5});
  fused_square(z).backward();
  expect_numbers(z.grad(), {10});
}

TEST_F(Backward, ATwinCountsAnInputThatDependsOnAnotherOnce) {
  // The second input of the fused product is made from the first: its path must not count twice.
  V x = leaf({2});
  const V h = x * x;
  const V y = xgrad::record<double>(
      "fused_product", {x, h}, xgrad::saves::inputs, x.value() * h.value(),
      [](auto& b) {
        b.add(0, b.grad() * b.input(1));
        b.add(1, b.grad() * b.input(0));
      },
      [](const std::vector<V>& in) { return in[0] * in[1]; });
  const V first = xgrad::grad(y, x, {true});
  expect_numbers(first.value(), {12});                    // 3 x^2
  expect_numbers(xgrad::grad(first, x).value(), {12.0});  // 6 x
}

TEST_F(Backward, AnArrayDerivativeWithoutTwinServesFirstOrderAndSaysSo) {
  V x = leaf({3});
  first_order_square(x).backward();
  expect_numbers(x.grad(), {6});
  EXPECT_THROWS(GraphError, xgrad::grad(first_order_square(x), x, {true}),
                "[first_order_square] has a derivative on arrays only");
}

TEST_F(Backward, SecondOrderOfTheEnginesOwnOps) {
  // sum_to, broadcast_to, slice, place, take, place_rows inside a function whose second derivative is known:
  // f = sum(u^3) with u linear in x, so the Hessian times ones is 6 A^T (u * A 1).
  V x = leaf({1, 2, 3});
  const auto f = [](const V& v) {
    const V wide = xgrad::broadcast_to(xgrad::slice(v, {xgrad::range(0, 2)}), {2, 2});
    const V rows = xgrad::take(v, xgrad::Index{2, 2});
    const V u = xgrad::sum_to(wide, {2}) + rows +
                xgrad::place_rows(xgrad::slice(v, {xgrad::range(1, 2)}), xgrad::Index{1}, {2}) +
                xgrad::place(xgrad::slice(v, {xgrad::range(2, 3)}), {xgrad::range(0, 1)}, {2});
    return total(u * u * u);  // u = (2 x0 + 2 x2, 3 x1 + x2)
  };
  const V first = xgrad::grad(f(x), x, {true});
  const double u0 = 8, u1 = 9;
  expect_numbers(first.value(), {3 * u0 * u0 * 2, 3 * u1 * u1 * 3, 3 * u0 * u0 * 2 + 3 * u1 * u1});
  const V second = xgrad::grad(total(first), x);
  expect_numbers(second.value(), {6 * u0 * 4 * 2, 6 * u1 * 4 * 3, 6 * u0 * 4 * 2 + 6 * u1 * 4 * 1});
}

}  // namespace
