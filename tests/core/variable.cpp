#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <thread>
#include <type_traits>
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
using V = xgrad::Variable<double>;

V leaf(const std::vector<double>& numbers) { return {xgrad::from(numbers), true}; }

TEST(Variable, KindsOfHandle) {
  const V constant(xgrad::zeros<double>({2, 3}));
  EXPECT_FALSE(constant.requires_grad());
  EXPECT_TRUE(constant.is_leaf());
  EXPECT_STREQ(constant.op(), "constant");
  const V parameter(xgrad::zeros<double>({2, 3}), true);
  EXPECT_TRUE(parameter.requires_grad());
  EXPECT_TRUE(parameter.is_leaf());
  const V result = parameter + constant;
  EXPECT_TRUE(result.requires_grad());
  EXPECT_FALSE(result.is_leaf());
  EXPECT_STREQ(result.op(), "add");
  EXPECT_FALSE((constant + constant).requires_grad());
  EXPECT_EQ(result.shape(), (Shape{2, 3}));
  EXPECT_EQ(result.size(), 6u);
  EXPECT_EQ(result.dimension(), 2u);
  EXPECT_EQ(V(7).item(), 7.0);
  EXPECT_EQ(V(7).shape(), Shape{});
}

TEST(Variable, UndefinedHandleSaysSo) {
  const V nothing;
  EXPECT_FALSE(nothing.defined());
  EXPECT_THROWS(GraphError, nothing.value(), "[Variable] this handle is undefined");
  EXPECT_THROWS(GraphError, nothing + V(1.0), "[Variable] this handle is undefined");
  EXPECT_THROWS(GraphError, xgrad::record<double>("op", {nothing}, Array<double>(), [](auto&) {}),
                "[op] got an undefined Variable");
}

TEST(Variable, CopiesShareValueAndGradient) {
  V a = leaf({1, 2});
  V b = a;
  (a * a).backward(xgrad::ones<double>({2}));
  EXPECT_EQ(b.grad()(1), 4.0);
  b.mutate([](Array<double>& numbers) { numbers(0) = 9; });
  EXPECT_EQ(a.value()(0), 9.0);
  b.zero_grad();
  EXPECT_FALSE(a.has_grad());
  b.set_requires_grad(false);
  EXPECT_FALSE(a.requires_grad());
}

TEST(Variable, FreezingALeafStopsItsGradient) {
  V w = leaf({3}), x = leaf({2});
  w.set_requires_grad(false);
  (w * x).backward();
  EXPECT_FALSE(w.has_grad());
  EXPECT_EQ(x.grad()(0), 3.0);
  w.set_requires_grad(true);
  (w * x).backward();
  EXPECT_EQ(w.grad()(0), 2.0);
}

TEST(Variable, AConstantBecomesALeafOnRequest) {
  V x(xgrad::from<double>(std::vector<double>{2}));
  x.set_requires_grad(true);
  const V copy = x;
  (x * x).backward();
  EXPECT_EQ(copy.grad()(0), 4.0);
}

TEST(Variable, ErrorsOfLeafAccess) {
  V x = leaf({1, 2});
  EXPECT_THROWS(GraphError, x.grad(), "[grad] this leaf of shape (2,) has no gradient; call backward() first");
  EXPECT_THROWS(GraphError, (x * x).grad(), "this is the result of mul; use xgrad::grad(output, input)");
  EXPECT_THROWS(GraphError, V(1.0).grad(), "this is a constant; make it with Variable(array, true)");
  EXPECT_THROWS(GraphError, (x * x).set_requires_grad(false), "the result of mul; use detach()");
  EXPECT_THROWS(GraphError, (x * x).mutate([](auto&) {}), "[mutate] values in a graph do not change");
  EXPECT_THROWS(ShapeError, x.set_grad(xgrad::ones<double>({3})),
                "[set_grad] the gradient must have shape (2,) but has shape (3,)");
  EXPECT_THROWS(ShapeError, x.mutate([](Array<double>& a) { a = xgrad::ones<double>({3}); }),
                "[mutate] the changed array must have shape (2,) but has shape (3,)");
  EXPECT_THROWS(GraphError, x.mutate_grad([](auto&) {}), "has no gradient");
}

TEST(Variable, SetAndMutateGrad) {
  V x = leaf({1, 2});
  x.set_grad(xgrad::ones<double>({2}));
  x.mutate_grad([](Array<double>& g) { g(1) = 5; });
  EXPECT_EQ(x.grad()(0), 1.0);
  EXPECT_EQ(x.grad()(1), 5.0);
}

/// Changes of an array's shape; then one that an exception hides, and numbers that are moved away.
const std::vector<void (*)(Array<double>&)> new_shapes{
    [](Array<double>& a) { a = xgrad::ones<double>({40}); },
    [](Array<double>& a) { a = xgrad::ones<double>({1}); },
    [](Array<double>& a) { a.resize({1}); },
    [](Array<double>& a) {
      a = xgrad::ones<double>({40});
      throw std::invalid_argument("of the caller");
    },
    [](Array<double>& a) { const Array<double> taken = std::move(a); },
    [](Array<double>& a) {
      Array<double> taken;
      taken = std::move(a);
    },
};

TEST(Variable, AFailedChangeKeepsTheShape) {
  const auto expect_nan = [](const Array<double>& a, const xgrad::Shape& shape) {
    ASSERT_EQ(a.shape(), shape);
    ASSERT_EQ(a.size(), xgrad::element_count(shape));
    for (const double x : a) EXPECT_TRUE(std::isnan(x));
  };
  for (const xgrad::Shape& shape : {xgrad::Shape{3}, xgrad::Shape{}})
    for (std::size_t i = 0; i < new_shapes.size(); ++i) {
      SCOPED_TRACE(i);
      V x(xgrad::ones<double>(shape), true);
      x.set_grad(xgrad::ones<double>(shape));
      EXPECT_THROW(x.mutate(new_shapes[i]), std::invalid_argument);
      expect_nan(x.value(), shape);
      EXPECT_THROW(x.mutate_grad(new_shapes[i]), std::invalid_argument);
      expect_nan(x.grad(), shape);
    }
  V x = leaf({1, 2});
  x.set_grad(xgrad::ones<double>({2}));
  EXPECT_THROWS(ShapeError, x.mutate_grad(new_shapes[0]),
                "[mutate_grad] the changed array must have shape (2,) but has shape (40,); its numbers are NaN now");
  EXPECT_THROWS(std::invalid_argument, x.mutate(new_shapes[3]), "of the caller");
  EXPECT_THROWS(ShapeError, V(1.0).mutate(new_shapes[4]), "[mutate] the changed array must keep its numbers");
  x.mutate_grad([&](Array<double>&) { x.zero_grad(); });
  EXPECT_FALSE(x.has_grad());
}

TEST(Variable, Prints) {
  std::ostringstream out;
  out << leaf({1, 2.5});
  EXPECT_EQ(out.str(), "[1, 2.5]");
  EXPECT_EQ(xgrad::to_string(V(3)), "3");
}

TEST(Variable, CompoundAssignmentRebinds) {
  V x = leaf({3});
  V y = x;
  y += 1.0;
  y *= x;
  y -= 2.0;
  y /= 2.0;  // ((x + 1) x - 2) / 2
  EXPECT_EQ(x.item(), 3.0);
  EXPECT_EQ(y.item(), 5.0);
  y.backward();
  EXPECT_EQ(x.grad()(0), 3.5);
}

TEST(Variable, AG_09_DetachCutsTheGraph) {
  V x = leaf({3});
  (x.detach() * x).backward();
  EXPECT_EQ(x.grad()(0), 3.0);
  EXPECT_FALSE(x.detach().requires_grad());
  EXPECT_EQ(x.detach().value().data(), x.value().data());
}

TEST(Variable, AG_09_NoGradScopes) {
  const V x = leaf({3});
  EXPECT_TRUE(xgrad::is_recording());
  {
    const NoGrad outer;
    EXPECT_FALSE((x * x).requires_grad());
    { const NoGrad inner; }
    EXPECT_FALSE((x * x).requires_grad());
    bool other_thread_records = false;
    std::thread([&] { other_thread_records = (x * x).requires_grad(); }).join();
    EXPECT_TRUE(other_thread_records);
  }
  EXPECT_TRUE((x * x).requires_grad());
  try {
    const NoGrad scope;
    throw std::runtime_error("inside");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE((x * x).requires_grad());
}

TEST(Variable, AG_09_AnOpWithoutDerivativeRefusesATrackedInput) {
  const V x = leaf({1.4});
  const auto round = [](const V& v) {
    return xgrad::record<double>("round", {v}, xgrad::from<double>(xt::round(v.value())));
  };
  EXPECT_THROWS(GraphError, round(x), "[round] has no derivative but input 0 requires a gradient; pass detach() of it");
  EXPECT_EQ(round(x.detach()).item(), 1.0);
  const NoGrad scope;
  EXPECT_EQ(round(x).item(), 1.0);
}

TEST(Variable, ComparisonsAreConstants) {
  const V x = leaf({1, 2, 3});
  const V above = x > 2.0;
  EXPECT_FALSE(above.requires_grad());
  EXPECT_TRUE(xgrad::array_equal(above.value(), Array<double>{0, 0, 1}));
  EXPECT_TRUE(xgrad::array_equal((x >= 2.0).value(), Array<double>{0, 1, 1}));
  EXPECT_TRUE(xgrad::array_equal((x < 2.0).value(), Array<double>{1, 0, 0}));
  EXPECT_TRUE(xgrad::array_equal((x <= 2.0).value(), Array<double>{1, 1, 0}));
  EXPECT_TRUE(xgrad::array_equal((2.0 < x).value(), Array<double>{0, 0, 1}));
  EXPECT_THROWS(std::invalid_argument, xgrad::compare(x, x, "=>"), "[compare] the relation must be");
}

// Every operator x {lvalue, const, rvalue} x both orders x {array, lazy expression, number, Variable}: gives a Variable
// with the right numbers, never an xtensor expression of graphs.
template <class Operator>
void operator_matrix(Operator op, double (*plain)(double, double)) {
  V variable = leaf({2, 3});
  const V const_variable = variable;
  Array<double> array{5, 7};
  const Array<double> const_array = array;
  const auto lazy = const_array * 1.0;

  const auto expect = [&](const auto& got, bool swapped, std::vector<double> other) {
    static_assert(std::is_same_v<std::decay_t<decltype(got)>, V>, "the result must be a Variable");
    for (std::size_t i = 0; i < 2; ++i) {
      const double v = variable.value()(i), o = other[i];
      EXPECT_EQ(got.value()(i), swapped ? plain(o, v) : plain(v, o));
    }
    EXPECT_TRUE(got.requires_grad());
  };
  const auto both = [&](auto&& other, std::vector<double> numbers) {
    expect(op(variable, other), false, numbers);
    expect(op(const_variable, other), false, numbers);
    expect(op(V(variable), other), false, numbers);
    expect(op(other, variable), true, numbers);
    expect(op(other, const_variable), true, numbers);
    expect(op(other, V(variable)), true, numbers);
  };
  both(array, {5, 7});
  both(const_array, {5, 7});
  both(lazy, {5, 7});
  both(4, {4, 4});
  both(4.0, {4, 4});
  both(4.0f, {4, 4});
  both(V(array), {5, 7});
  expect(op(variable, Array<double>(array)), false, {5, 7});
  expect(op(V(variable), Array<double>(array)), false, {5, 7});
  expect(op(V(variable), array * 1.0), false, {5, 7});
  expect(op(Array<double>(array), V(variable)), true, {5, 7});
  expect(op(array * 1.0, V(variable)), true, {5, 7});
  expect(op(array * 1.0, variable), true, {5, 7});
}

TEST(Variable, OperatorPlus) {
  operator_matrix([](auto&& a, auto&& b) { return std::forward<decltype(a)>(a) + std::forward<decltype(b)>(b); },
                  [](double a, double b) { return a + b; });
}
TEST(Variable, OperatorMinus) {
  operator_matrix([](auto&& a, auto&& b) { return std::forward<decltype(a)>(a) - std::forward<decltype(b)>(b); },
                  [](double a, double b) { return a - b; });
}
TEST(Variable, OperatorTimes) {
  operator_matrix([](auto&& a, auto&& b) { return std::forward<decltype(a)>(a) * std::forward<decltype(b)>(b); },
                  [](double a, double b) { return a * b; });
}
TEST(Variable, OperatorDivide) {
  operator_matrix([](auto&& a, auto&& b) { return std::forward<decltype(a)>(a) / std::forward<decltype(b)>(b); },
                  [](double a, double b) { return a / b; });
}

TEST(Variable, LeavesInOrderOfCreation) {
  const V a = leaf({1}), b = leaf({2}), frozen = leaf({3}), unused = leaf({4});
  V f = frozen;
  f.set_requires_grad(false);
  const V y = b * a + f * b + a;
  const auto found = xgrad::leaves(y);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].shared_value(), a.shared_value());
  EXPECT_EQ(found[1].shared_value(), b.shared_value());
  EXPECT_TRUE(xgrad::leaves(V(1.0)).empty());
}

TEST(Variable, AnAdditionSavesNothing) {
  // So a chain of additions holds one activation, whatever its length.
  V y = leaf({1, 2});
  for (int i = 0; i < 50; ++i) {
    y = y + V(1.0);
    EXPECT_FALSE(static_cast<bool>(y.node()->edges[0].saved));
    EXPECT_FALSE(static_cast<bool>(y.node()->edges[1].saved));
    EXPECT_FALSE(static_cast<bool>(y.node()->saved_output));
  }
}

TEST(Variable, AProductSavesOnlyWhatItsDerivativeReads) {
  const V x = leaf({1, 2}), c(xgrad::ones<double>({2}));
  const V y = x * c;
  EXPECT_FALSE(static_cast<bool>(y.node()->edges[0].saved));
  EXPECT_TRUE(static_cast<bool>(y.node()->edges[1].saved));
}

}  // namespace
