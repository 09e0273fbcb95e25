#include <xgrad/core/kernels/binary.hpp>

#include "core/kernels/reference.hpp"

namespace {

using namespace reference;

template <class T>
class Binary : public Typed<T> {};
TYPED_TEST_SUITE(Binary, Types, TypeNames);

template <class T>
struct Row {
  const char* name;
  Array<T> (*function)(const Array<T>&, const Array<T>&);
  double (*want)(double, double);
};

template <class T>
const std::vector<Row<T>>& table() {
  static const std::vector<Row<T>> rows{
      {"add", xgrad::add<T>, [](double a, double b) { return a + b; }},
      {"sub", xgrad::sub<T>, [](double a, double b) { return a - b; }},
      {"mul", xgrad::mul<T>, [](double a, double b) { return a * b; }},
      {"div", xgrad::div<T>, [](double a, double b) { return a / b; }},
      {"pow", xgrad::pow<T>, [](double a, double b) { return std::pow(a, b); }},
      {"maximum", xgrad::maximum<T>, [](double a, double b) { return a > b ? a : b; }},
      {"minimum", xgrad::minimum<T>, [](double a, double b) { return a < b ? a : b; }},
      {"greater", xgrad::greater<T>, [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {"greater_equal", xgrad::greater_equal<T>, [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
      {"less", xgrad::less<T>, [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {"less_equal", xgrad::less_equal<T>, [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {"equal", xgrad::equal<T>, [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {"not_equal", xgrad::not_equal<T>, [](double a, double b) { return a != b ? 1.0 : 0.0; }},
  };
  return rows;
}

struct Shapes {
  Shape a, b, result;
};

const std::vector<Shapes>& shapes() {
  static const std::vector<Shapes> all{
      {{}, {}, {}},
      {{3}, {}, {3}},
      {{}, {2, 3}, {2, 3}},
      {{2, 3}, {2, 3}, {2, 3}},
      {{1, 1}, {5}, {1, 5}},
      {{2, 3, 5}, {5}, {2, 3, 5}},
      {{5}, {2, 3, 5}, {2, 3, 5}},
      {{2, 3, 5}, {3, 5}, {2, 3, 5}},
      {{17, 1}, {17, 5}, {17, 5}},
      {{17, 5}, {17, 1}, {17, 5}},
      {{3, 1}, {1, 2}, {3, 2}},
      {{3, 1}, {2}, {3, 2}},
      {{2, 1, 5}, {3, 1}, {2, 3, 5}},
      {{2, 1, 5, 1}, {3, 1, 2}, {2, 3, 5, 2}},
      {{1, 3, 1, 2, 1, 2}, {2, 1, 5, 1, 3, 2}, {2, 3, 5, 2, 3, 2}},
      {{2, 1, 2, 1, 2, 1, 2, 1, 2, 1}, {1, 2, 1, 2, 1, 2, 1, 2, 1, 2}, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
      {{0}, {1}, {0}},
      {{0}, {}, {0}},
      {{2, 0, 3}, {1, 3}, {2, 0, 3}},
      {{2, 1, 3}, {0, 1}, {2, 0, 3}},
  };
  return all;
}

TYPED_TEST(Binary, AgreesWithTheReferenceOnEveryBroadcast) {
  using T = TypeParam;
  for (const Row<T>& row : table<T>())
    for (const Shapes& s : shapes()) {
      SCOPED_TRACE(std::string(row.name) + xgrad::to_string(s.a) + xgrad::to_string(s.b));
      Array<T> a = sample<T>(s.a, 3, 0.5, 3), b = sample<T>(s.b, 4, 0.5, 3);
      if (row.want(1, 1) + row.want(1, 2) + row.want(2, 1) <= 2)  // comparisons: few values, so that some are equal
        for (Array<T>* x : {&a, &b})
          for (std::size_t i = 0; i < x->size(); ++i) x->data()[i] = std::floor(x->data()[i]);
      expect_all(
          row.function(a, b), s.result, [&](const Position& p) { return row.want(at(a, p), at(b, p)); },
          20 * unit<T>());
    }
}

TYPED_TEST(Binary, ShapesThatDoNotBroadcastAreNamed) {
  using T = TypeParam;
  for (const Row<T>& row : table<T>()) {
    const auto call = [&] { row.function(xgrad::zeros<T>({2, 3}), xgrad::zeros<T>({2})); };
    EXPECT_EQ(message<xgrad::ShapeError>(call),
              std::string("[") + row.name + "] shapes (2, 3) and (2,) do not broadcast: axis -1 is 3 vs 2");
  }
}

TYPED_TEST(Binary, EitherSideMayBeLazyOrANumber) {
  using T = TypeParam;
  const Array<T> a{T(1), T(4)}, b{T(2), T(3)};
  const Array<T> both = xgrad::maximum(a + b, T(2) * b), left = xgrad::sub(a * b, b), right = xgrad::sub(b, a * b);
  expect_numbers(both, {4, 7}, 0);
  expect_numbers(left, {0, 9}, 0);
  expect_numbers(right, {0, -9}, 0);
  const Array<T> number = xgrad::greater(a, 2), swapped = xgrad::div(12, a), lazy = xgrad::maximum(a - b, 0);
  expect_numbers(number, {0, 1}, 0);
  expect_numbers(swapped, {12, 3}, 0);
  expect_numbers(lazy, {0, 1}, 0);
  const Array<T> mixed = xgrad::add(a, 2.0 * b);  // a double expression beside an array takes the array's type
  expect_numbers(mixed, {5, 10}, 0);
}

TYPED_TEST(Binary, ACT_03_MaximumAndMinimumDoNotHideNaN) {
  using T = TypeParam;
  const T nan = T(kNaN);
  const Array<T> a{nan, T(1), nan, T(-1)}, b{T(0), nan, nan, T(2)};
  expect_numbers(xgrad::maximum(a, b), {kNaN, kNaN, kNaN, 2}, 0);
  expect_numbers(xgrad::minimum(a, b), {kNaN, kNaN, kNaN, -1}, 0);
  const Array<T> left = xgrad::maximum(a, 0), right = xgrad::maximum(0, a);
  expect_numbers(left, {kNaN, 1, kNaN, 0}, 0);
  expect_numbers(right, {kNaN, 1, kNaN, 0}, 0);
  expect_numbers(xgrad::maximum(xgrad::full<T>({}, nan), b), {kNaN, kNaN, kNaN, kNaN}, 0);
}

TYPED_TEST(Binary, ComparisonsWithNaN) {
  using T = TypeParam;
  const Array<T> nan{T(kNaN)}, one{T(1)};
  for (const auto f :
       {xgrad::greater<T>, xgrad::greater_equal<T>, xgrad::less<T>, xgrad::less_equal<T>, xgrad::equal<T>}) {
    EXPECT_EQ(f(nan, one)(0), T(0));
    EXPECT_EQ(f(nan, nan)(0), T(0));
  }
  EXPECT_EQ(xgrad::not_equal(nan, nan)(0), T(1));
}

TYPED_TEST(Binary, PowerByANumber) {
  using T = TypeParam;
  const Array<T> x{T(-2), T(0), T(3)};
  expect_numbers(xgrad::pow(x, 2), {4, 0, 9}, 0);
  expect_numbers(xgrad::pow(x, 3), {-8, 0, 27}, 2 * unit<T>());
  expect_numbers(xgrad::pow(x, 0), {1, 1, 1}, 0);
  expect_numbers(xgrad::pow(x, -1), {-0.5, kInf, 1.0 / 3}, 2 * unit<T>());
  expect_numbers(xgrad::pow(x, 0.5), {kNaN, 0, std::sqrt(3.0)}, 2 * unit<T>());
  const Array<T> lazy = xgrad::pow(x + T(1), 2), base = xgrad::pow(2, x);
  expect_numbers(lazy, {1, 1, 16}, 0);
  expect_numbers(base, {0.25, 1, 8}, 2 * unit<T>());
}

TYPED_TEST(Binary, WhereBroadcastsAllThree) {
  using T = TypeParam;
  for (const Shapes& s : shapes()) {
    const Array<T> a = sample<T>(s.a, 5), b = sample<T>(s.b, 6);
    for (const Shape& shape : {s.a, s.b, s.result, Shape{}}) {
      Array<T> condition = sample<T>(shape, 9);
      for (std::size_t i = 0; i < condition.size(); ++i)
        if (condition.data()[i] < 0) condition.data()[i] = 0;
      expect_all(
          xgrad::where(condition, a, b), s.result,
          [&](const Position& p) { return at(condition, p) != 0 ? at(a, p) : at(b, p); }, 0);
    }
  }
}

TYPED_TEST(Binary, WhereLetsNothingThroughFromTheOtherBranch) {
  using T = TypeParam;
  const Array<T> c{T(1), T(0), T(-2), T(kNaN)}, nan = xgrad::full<T>({4}, T(kNaN)), one = xgrad::ones<T>({4});
  expect_numbers(xgrad::where(c, one, nan), {1, kNaN, 1, 1}, 0);  // any number but 0 is true
  expect_numbers(xgrad::where(c, nan, one), {kNaN, 1, kNaN, kNaN}, 0);
  const Array<T> number = xgrad::where(c > T(0), c, 0), lazy = xgrad::where(xgrad::less(c, 0), one * T(2), nan);
  expect_numbers(number, {1, 0, 0, 0}, 0);
  expect_numbers(lazy, {kNaN, kNaN, 2, kNaN}, 0);
  EXPECT_EQ(message<xgrad::ShapeError>([&] { xgrad::where(xgrad::ones<T>({3}), one, nan); }),
            "[where] shapes (3,) and (4,) do not broadcast: axis -1 is 3 vs 4");
}

TYPED_TEST(Binary, Clip) {
  using T = TypeParam;
  const Array<T> x{T(-kInf), T(-2), T(0.5), T(2), T(kInf), T(kNaN)};
  expect_numbers(xgrad::clip(x, -1, 1), {-1, -1, 0.5, 1, 1, kNaN}, 0);
  expect_numbers(xgrad::clip(x * T(2), 1, 1), {1, 1, 1, 1, 1, kNaN}, 0);
  EXPECT_EQ(message<std::invalid_argument>([&] { xgrad::clip(x, 2, 1); }),
            "[clip] lo must not be above hi but got lo 2 and hi 1");
  EXPECT_NE(message<std::invalid_argument>([&] { xgrad::clip(x, T(kNaN), 1); }), "no such error");
}

}  // namespace
