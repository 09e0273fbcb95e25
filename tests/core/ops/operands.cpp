// Variables beside arrays, lazy expressions and numbers: every operator and function, both orders, every kind of value.
#include <xgrad/core/ops/operands.hpp>
#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/ops/product.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/ops/select.hpp>
#include <xgrad/core/ops/softmax.hpp>

#include "checks.hpp"

using namespace opcheck;

namespace {

const std::vector<double> left = {1, 2, 3}, right = {2, 2, 2};

void expect_variable(const V& y, const std::vector<double>& want) { expect_array(y.value(), want, 1e-15); }
template <class X>
void expect_variable(const X&, const std::vector<double>&) = delete;  // a lazy expression of graphs

/// op on lvalues, constants and rvalues in both orders; `other` stands for the numbers `right`.
template <class Op, class Other>
void every_form(Op op, double (*f)(double, double), const Other& other) {
  std::vector<double> forward, back;
  for (std::size_t i = 0; i < left.size(); ++i) {
    forward.push_back(f(left[i], right[i]));
    back.push_back(f(right[i], left[i]));
  }
  V v = leaf(left);
  const V cv = v;
  Other o = other;
  expect_variable(op(v, o), forward);
  expect_variable(op(v, other), forward);
  expect_variable(op(v, Other(other)), forward);
  expect_variable(op(cv, o), forward);
  expect_variable(op(cv, other), forward);
  expect_variable(op(cv, Other(other)), forward);
  expect_variable(op(V(v), o), forward);
  expect_variable(op(V(v), other), forward);
  expect_variable(op(V(v), Other(other)), forward);
  expect_variable(op(o, v), back);
  expect_variable(op(other, v), back);
  expect_variable(op(Other(other), v), back);
  expect_variable(op(o, cv), back);
  expect_variable(op(other, cv), back);
  expect_variable(op(Other(other), cv), back);
  expect_variable(op(o, V(v)), back);
  expect_variable(op(other, V(v)), back);
  expect_variable(op(Other(other), V(v)), back);
}

template <class Op>
void every_operand(Op op, double (*f)(double, double)) {
  const Array<double> a = array(right);
  every_form(op, f, V(a));
  every_form(op, f, a);
  every_form(op, f, a * 1.0);
  every_form(op, f, xgrad::from<float>(a));
  every_form(op, f, 2);
  every_form(op, f, 2.0);
  every_form(op, f, 2.0f);
}

}  // namespace

#define FORWARDED(expression) [](auto&& a, auto&& b) { return expression; }
#define A std::forward<decltype(a)>(a)
#define B std::forward<decltype(b)>(b)

TEST(Operands, Plus) {
  every_operand(FORWARDED(A + B), [](double a, double b) { return a + b; });
}
TEST(Operands, Minus) {
  every_operand(FORWARDED(A - B), [](double a, double b) { return a - b; });
}
TEST(Operands, Times) {
  every_operand(FORWARDED(A * B), [](double a, double b) { return a * b; });
}
TEST(Operands, Divided) {
  every_operand(FORWARDED(A / B), [](double a, double b) { return a / b; });
}
TEST(Operands, Less) {
  every_operand(FORWARDED(A < B), [](double a, double b) { return double(a < b); });
}
TEST(Operands, LessEqual) {
  every_operand(FORWARDED(A <= B), [](double a, double b) { return double(a <= b); });
}
TEST(Operands, Greater) {
  every_operand(FORWARDED(A > B), [](double a, double b) { return double(a > b); });
}
TEST(Operands, GreaterEqual) {
  every_operand(FORWARDED(A >= B), [](double a, double b) { return double(a >= b); });
}

TEST(Operands, FunctionsOfTwo) {
  every_operand(FORWARDED(xgrad::add(A, B)), [](double a, double b) { return a + b; });
  every_operand(FORWARDED(xgrad::sub(A, B)), [](double a, double b) { return a - b; });
  every_operand(FORWARDED(xgrad::mul(A, B)), [](double a, double b) { return a * b; });
  every_operand(FORWARDED(xgrad::div(A, B)), [](double a, double b) { return a / b; });
  every_operand(FORWARDED(xgrad::pow(A, B)), [](double a, double b) { return std::pow(a, b); });
  every_operand(FORWARDED(xgrad::maximum(A, B)), [](double a, double b) { return std::max(a, b); });
  every_operand(FORWARDED(xgrad::minimum(A, B)), [](double a, double b) { return std::min(a, b); });
  every_operand(FORWARDED(xgrad::equal(A, B)), [](double a, double b) { return double(a == b); });
  every_operand(FORWARDED(xgrad::not_equal(A, B)), [](double a, double b) { return double(a != b); });
  every_operand(FORWARDED(xgrad::greater(A, B)), [](double a, double b) { return double(a > b); });
  every_operand(FORWARDED(xgrad::greater_equal(A, B)), [](double a, double b) { return double(a >= b); });
  every_operand(FORWARDED(xgrad::less(A, B)), [](double a, double b) { return double(a < b); });
  every_operand(FORWARDED(xgrad::less_equal(A, B)), [](double a, double b) { return double(a <= b); });
  // Found by the arguments alone, where xtensor's own functions compete.
  every_form(
      FORWARDED(maximum(A, B)), [](double a, double b) { return std::max(a, b); }, array(right));
  every_form(
      FORWARDED(pow(A, B)), [](double a, double b) { return std::pow(a, b); }, array(right));
}

TEST(Operands, Where) {
  const Array<double> condition = array({1, 0, 1}), a = array(right);
  const V v = leaf(left);
  expect_variable(xgrad::where(condition, v, a), {1, 2, 3});
  expect_variable(xgrad::where(condition, a * 1.0, v), {2, 2, 2});
  expect_variable(xgrad::where(condition > 0.5, v, 9), {1, 9, 3});
  expect_variable(xgrad::where(v > 2, a, 0), {0, 0, 2});
  expect_variable(xgrad::where(V(condition), 7, 9), {7, 9, 7});
}

TEST(Operands, Products) {
  const Array<double> m = array({1, 2, 3, 4, 5, 6}, {3, 2});
  const V v = leaf(left);
  expect_variable(xgrad::matmul(v, m), {22, 28});
  expect_variable(xgrad::matmul(v, m * 1.0), {22, 28});
  expect_variable(xgrad::matmul(m, v, true), {22, 28});
  const V w = leaf({1, 0, 0, 0, 1, 1}, {2, 3});
  expect_variable(xgrad::linear(array(left), w), {1, 5});
  expect_variable(xgrad::linear(array(left) * 1.0, w, leaf({1, 1})), {2, 6});
  expect_variable(xgrad::linear(v, w, array({1, 1})), {2, 6});
  expect_array(gradient(xgrad::linear(array(left), w), w), {1, 2, 3, 1, 2, 3});
}

TEST(Operands, GradientsFlowToTheVariable) {
  const V v = leaf(left);
  const Array<double> a = array(right);
  expect_array(gradient(a * v - v / a + 1.0 / v, v), {2 - 0.5 - 1, 2 - 0.5 - 0.25, 2 - 0.5 - 1. / 9}, 1e-15);
}

// Results own their numbers: nothing refers to the temporaries that went in.
TEST(Operands, CPP_02_ResultsOfTemporaries) {
  const auto make = [] { return array({1, 2, 3, 1, 2, 3}, {2, 3}); };
  const std::vector<double> row = {0.09003057317038046, 0.24472847105479764, 0.6652409557748219};
  const std::vector<double> want = {row[0], row[1], row[2], row[0], row[1], row[2]};
  const auto helper = [](const auto& x) {
    auto e = xgrad::exp(x);
    return e / xgrad::sum(e, -1, xgrad::keep_dims);
  };
  auto y = helper(V(make()));
  auto z = xgrad::softmax(V(make(), true));
  auto arrays = xgrad::softmax(make() * 1.0);
  auto lazy = xgrad::maximum(V(make() * 1.0), make() + 1.0);
  auto total = xgrad::sum(make() * 2.0, 1);
  static_assert(std::is_same_v<decltype(y), V> && std::is_same_v<decltype(z), V> && std::is_same_v<decltype(lazy), V>);
  static_assert(std::is_same_v<decltype(arrays), Array<double>> && std::is_same_v<decltype(total), Array<double>>);
  expect_array(y.value(), want, 1e-15);
  expect_array(z.value(), want, 1e-15);
  expect_array(arrays, want, 1e-15);
  expect_array(lazy.value(), {2, 3, 4, 2, 3, 4});
  expect_array(total, {12, 12});
}
