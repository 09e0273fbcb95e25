#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <xgrad/core/array.hpp>
#include <xtensor/xview.hpp>

#include "foreign_locale.hpp"

namespace {

using xgrad::Array;
using xgrad::Axes;
using xgrad::Index;
using xgrad::Shape;

// The type is spelled out in full, whatever -march or xtensor's macros say.
static_assert(std::is_same_v<Array<float>, xt::xarray_container<xt::uvector<float, xgrad::memory::Allocator<float>>,
                                                                xt::layout_type::row_major, Shape>>);
static_assert(Array<double>::static_layout == xt::layout_type::row_major);
static_assert(xgrad::is_expression<Array<float>&> && !xgrad::is_expression<float>);

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "no error";
}

TEST(Array, BracesHoldNumbersAndZerosTakesAShape) {
  const Array<float> two{2, 3};
  EXPECT_EQ(two.shape(), Shape{2});
  EXPECT_EQ(two(1), 3.0f);
  EXPECT_EQ(xgrad::zeros<float>({2, 3}).shape(), (Shape{2, 3}));
}

TEST(Array, ConstructionFunctions) {
  EXPECT_EQ(xgrad::empty<float>({2, 0, 5}).shape(), (Shape{2, 0, 5}));
  EXPECT_EQ(xgrad::ones<double>({2, 2}), (Array<double>{{1, 1}, {1, 1}}));
  EXPECT_EQ(xgrad::full<double>({2}, 7), (Array<double>{7, 7}));
  EXPECT_EQ(xgrad::full<double>({}, 7).dimension(), 0u);
  EXPECT_EQ(xgrad::zeros<std::int64_t>({3}), (Index{0, 0, 0}));
  const float numbers[] = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(xgrad::from(numbers, {3, 2}), (Array<float>{{1, 2}, {3, 4}, {5, 6}}));
  EXPECT_EQ(xgrad::from(std::vector<double>{1, 2, 3}), (Array<double>{1, 2, 3}));
  EXPECT_EQ(xgrad::from(std::vector<double>{4, 4}, {2, 1}), xgrad::full<double>({2, 1}, 4));
  EXPECT_EQ(xgrad::from(std::vector<double>{}).shape(), Shape{0});
  EXPECT_EQ(error_of([] {
              xgrad::from(std::vector<double>{1, 2, 3}, {2, 2});
            }),
            "[from] shape (2, 2) holds 4 numbers but got 3");
}

TEST(Array, Ranges) {
  EXPECT_EQ(xgrad::arange<std::int64_t>(4), (Index{0, 1, 2, 3}));
  EXPECT_EQ(xgrad::arange<std::int64_t>(5, -1, -2), (Index{5, 3, 1}));
  EXPECT_EQ(xgrad::arange<double>(0, 1, 0.25), (Array<double>{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(xgrad::arange<float>(3, 3).size(), 0u);
  EXPECT_EQ(xgrad::arange<float>(3, 1).size(), 0u);
  EXPECT_EQ(xgrad::linspace<double>(-1, 1, 5), (Array<double>{-1, -0.5, 0, 0.5, 1}));
  EXPECT_EQ(xgrad::linspace<float>(2, 9, 1), (Array<float>{2}));
  EXPECT_EQ(xgrad::linspace<float>(2, 9, 0).size(), 0u);
  EXPECT_EQ(error_of([] { xgrad::arange<double>(0, 1, 0); }),
            "[arange] needs finite bounds, a step other than 0 and fewer than 2^53 numbers but got start 0, stop 1, "
            "step 0");
  for (const double bad : {std::nan(""), -std::numeric_limits<double>::infinity(), 1e300})
    EXPECT_NE(error_of([&] { xgrad::arange<double>(bad); }), "no error") << bad;
  EXPECT_NE(error_of([] { xgrad::arange<std::int64_t>(0, 3, 0); }), "no error");
}

TEST(Array, WholeRangesAreCountedInWholeNumbers) {
  const std::int64_t big = std::int64_t{1} << 60, least = std::numeric_limits<std::int64_t>::min(),
                     largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(xgrad::arange<std::int64_t>(big, big + 3), (Index{big, big + 1, big + 2}));
  EXPECT_EQ(xgrad::arange<std::int64_t>(big, big + 200).size(), 200u);
  EXPECT_EQ(xgrad::arange<std::int64_t>(big + 5, big, -2), (Index{big + 5, big + 3, big + 1}));
  EXPECT_EQ(xgrad::arange<std::int64_t>(least, largest, big * 4 - 1).size(), 5u);  // the span is no int64 itself
  EXPECT_EQ(xgrad::arange<std::int64_t>(least, largest, big * 4 - 1)(4), largest - 3);
  EXPECT_EQ(xgrad::arange<std::int64_t>(largest, least, least), (Index{largest, -1}));
  EXPECT_EQ(xgrad::arange<std::int64_t>(3, 1).size(), 0u);
  EXPECT_EQ(xgrad::arange<std::int64_t>(1, 3, -1).size(), 0u);
  EXPECT_EQ(error_of([&] { xgrad::arange<std::int64_t>(largest); }),
            "[arange] needs finite bounds, a step other than 0 and fewer than 2^53 numbers but got start 0, stop "
            "9223372036854775807, step 1");
}

TEST(Array, LinspaceIsExactWhereItCanBe) {
  const auto whole = xgrad::linspace<std::int64_t>(0, 49, 50), down = xgrad::linspace<std::int64_t>(49, 0, 50);
  const auto real = xgrad::linspace<double>(0, 49, 50);
  const auto single = xgrad::linspace<float>(0, 49, 50);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(whole(i), i);
    EXPECT_EQ(down(i), 49 - i);
    EXPECT_EQ(real(i), i);
    EXPECT_EQ(single(i), static_cast<float>(i));
  }
  // What is not whole is rounded down, below 0 too.
  EXPECT_EQ(xgrad::linspace<std::int64_t>(0, 5, 4), (Index{0, 1, 3, 5}));
  EXPECT_EQ(xgrad::linspace<std::int64_t>(0, -5, 4), (Index{0, -2, -4, -5}));
  EXPECT_EQ(xgrad::linspace<std::int64_t>(-5, 0, 4), (Index{-5, -4, -2, 0}));
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                     largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(xgrad::linspace<std::int64_t>(least, largest, 3), (Index{least, -1, largest}));
  EXPECT_EQ(xgrad::linspace<std::int64_t>(largest, largest - 2, 3), (Index{largest, largest - 1, largest - 2}));
  EXPECT_EQ(xgrad::linspace<std::int64_t>(7, 9, 1), (Index{7}));
  EXPECT_EQ(xgrad::linspace<std::int64_t>(7, 9, 0).size(), 0u);
  // Ends are exact, a constant is one, and huge bounds do not overflow on the way.
  const auto tenths = xgrad::linspace<double>(0.1, 0.7, 8), constant = xgrad::linspace<double>(0.1, 0.1, 7);
  EXPECT_EQ(tenths(0), 0.1);
  EXPECT_EQ(tenths(7), 0.7);
  EXPECT_EQ(constant, xgrad::full<double>({7}, 0.1));
  EXPECT_EQ(xgrad::linspace<double>(-0x1p1023, 0x1p1023, 5),
            (Array<double>{-0x1p1023, -0x1p1022, 0, 0x1p1022, 0x1p1023}));
  EXPECT_EQ(xgrad::linspace<float>(-3e38f, 3e38f, 3), (Array<float>{-3e38f, 0, 3e38f}));
}

TEST(Array, ShapesTooLargeToCountAreRefused) {
  const Shape huge{std::size_t{1} << 33, std::size_t{1} << 33};  // the product wraps round to 4
  const std::string want = "[element_count] shape (8589934592, 8589934592) has more elements than can be counted";
  EXPECT_EQ(error_of([&] { xgrad::element_count(huge); }), want);
  EXPECT_EQ(error_of([&] { xgrad::empty<float>(huge); }), want);
  EXPECT_EQ(error_of([&] { xgrad::zeros<float>(huge); }), want);
  EXPECT_EQ(xgrad::element_count({}), 1u);
  EXPECT_EQ(xgrad::element_count({2, 3, 5}), 30u);
  EXPECT_EQ(xgrad::element_count({2, 0, 5}), 0u);
  for (const Shape& hollow : {Shape{0, huge[0], huge[1]}, Shape{huge[0], huge[1], 0}, Shape{std::size_t{1} << 63, 0}})
    EXPECT_NE(error_of([&] { xgrad::zeros<float>(hollow); }), "no error");  // its strides would wrap round
}

TEST(Array, FromAnyExpression) {
  const Array<double> a{{1, 2, 3}, {4, 5, 6}};
  const auto sum = xgrad::from(a + 2.0 * a);
  static_assert(std::is_same_v<decltype(sum), const Array<double>>);
  EXPECT_EQ(sum, (Array<double>{{3, 6, 9}, {12, 15, 18}}));
  const auto as_float = xgrad::from<float>(a + 1.0);
  static_assert(std::is_same_v<decltype(as_float), const Array<float>>);
  EXPECT_EQ(as_float, (Array<float>{{2, 3, 4}, {5, 6, 7}}));
  EXPECT_EQ(xgrad::from(xt::view(a, xt::all(), 1)), (Array<double>{2, 5}));
  EXPECT_EQ(xgrad::from(xt::view(a, 1, 2)), xgrad::full<double>({}, 6));
  const xt::xarray<double, xt::layout_type::column_major> columns = a;
  const auto rows = xgrad::from(columns);
  static_assert(std::is_same_v<decltype(rows), const Array<double>>);
  EXPECT_EQ(std::vector<double>(rows.data(), rows.data() + 6), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(xgrad::from(a), a);
  EXPECT_NE(xgrad::from(a).data(), a.data());
}

TEST(Array, EvaluatedKeepsArraysAndEvaluatesTheRest) {
  const Array<double> a{1, 2};
  EXPECT_EQ(&xgrad::evaluated(a), &a);
  EXPECT_EQ(xgrad::evaluated(a + a), (Array<double>{2, 4}));
}

TEST(Array, Item) {
  EXPECT_EQ(xgrad::item(xgrad::full<double>({1, 1}, 3)), 3);
  EXPECT_EQ(xgrad::item(xgrad::full<float>({}, 3)), 3);
  EXPECT_EQ(error_of([] {
              xgrad::item(xgrad::ones<float>({2, 1}));
            }),
            "[item] needs exactly one number but the shape is (2, 1)");
  EXPECT_NE(error_of([] { xgrad::item(xgrad::empty<float>({0})); }), "no error");
}

TEST(Array, ArrayEqualComparesShapesAndNumbers) {
  const Array<double> a{{1, 2}};
  EXPECT_TRUE(xgrad::array_equal(a, xgrad::from(a)));
  EXPECT_FALSE(xgrad::array_equal(a, Array<double>{1, 2}));
  EXPECT_FALSE(xgrad::array_equal(a, Array<double>{{1, 3}}));
  EXPECT_FALSE(xgrad::array_equal(xgrad::empty<double>({0, 2}), xgrad::empty<double>({0, 3})));
  EXPECT_TRUE(xgrad::array_equal(xgrad::empty<double>({0, 2}), xgrad::empty<double>({0, 2})));
  const auto nan = xgrad::full<double>({1}, std::nan(""));
  EXPECT_FALSE(xgrad::array_equal(nan, nan));
}

TEST(Array, TextsAreTheSameInEveryLocale) {
  const ForeignLocale locale;
  EXPECT_EQ(xgrad::to_string(Shape{1024, 2}), "(1024, 2)");
  EXPECT_EQ(xgrad::to_string(Array<double>{1234.5}), "[1234.5]");
  EXPECT_EQ(error_of([] { xgrad::fail<xgrad::ShapeError>("f", 1234.5, ' ', 2000); }), "[f] 1234.5 2000");
}

TEST(Array, Printing) {
  EXPECT_EQ(xgrad::to_string(Shape{}), "()");
  EXPECT_EQ(xgrad::to_string(Shape{3}), "(3,)");
  EXPECT_EQ(xgrad::to_string(Shape{2, 3}), "(2, 3)");
  EXPECT_EQ(xgrad::to_string(xgrad::full<double>({}, 2.5)), "2.5");
  EXPECT_EQ(xgrad::to_string(Array<double>{{1, 2}, {3, 0.25}}), "[[1, 2],\n [3, 0.25]]");
  EXPECT_EQ(xgrad::to_string(xgrad::zeros<float>({2, 1, 2})), "[[[0, 0]],\n [[0, 0]]]");
  EXPECT_EQ(xgrad::to_string(xgrad::empty<float>({0})), "[]");
  EXPECT_EQ(xgrad::to_string(xgrad::empty<float>({2, 0})), "[[],\n []]");
  EXPECT_EQ(xgrad::to_string(xgrad::arange<std::int64_t>(6)), "[0, 1, 2, 3, 4, 5]");
  EXPECT_EQ(xgrad::to_string(xgrad::arange<std::int64_t>(7)), "[0, 1, 2, ..., 4, 5, 6]");
  EXPECT_EQ(xgrad::to_string(xgrad::full<double>({1}, 1 / 3.)), "[0.333333]");
  EXPECT_EQ(xgrad::to_string(xgrad::full<double>({1}, 1 / 3.), 3), "[0.333]");
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(xgrad::to_string(Array<double>{std::nan(""), -std::nan(""), inf, -inf}), "[nan, nan, inf, -inf]");
  std::ostringstream out;
  out.precision(9);
  xgrad::print(out, Array<float>{0.1f}, 3);
  EXPECT_EQ(out.str(), "[0.1]");
  EXPECT_EQ(out.precision(), 9);
}

TEST(Array, AxesCountFromBothEnds) {
  EXPECT_EQ(xgrad::normalize_axis("sum", 1, 3), 1u);
  EXPECT_EQ(xgrad::normalize_axis("sum", -1, 3), 2u);
  EXPECT_EQ(xgrad::normalize_axis("sum", -3, 3), 0u);
  EXPECT_EQ(error_of([] { xgrad::normalize_axis("sum", 3, 3); }), "[sum] axis 3 is outside an array with 3 axes");
  EXPECT_EQ(error_of([] { xgrad::normalize_axis("sum", -2, 1); }), "[sum] axis -2 is outside an array with 1 axis");
  EXPECT_EQ(error_of([] { xgrad::normalize_axis("sum", 0, 0); }), "[sum] axis 0 is outside an array with 0 axes");
}

TEST(Array, AxesResolve) {
  using Resolved = xt::svector<std::size_t, 4>;
  EXPECT_EQ(Axes().resolve("sum", 3), (Resolved{0, 1, 2}));
  EXPECT_EQ(Axes({}).resolve("sum", 2), (Resolved{0, 1}));
  EXPECT_EQ(Axes({-1, 0}).resolve("sum", 3), (Resolved{0, 2}));
  EXPECT_EQ(Axes(std::vector<std::ptrdiff_t>{1}).resolve("sum", 2), Resolved{1});
  EXPECT_EQ(Axes(-2).resolve("sum", 3), Resolved{1});
  EXPECT_EQ(Axes(std::size_t{2}).resolve("sum", 3), Resolved{2});
  EXPECT_TRUE(Axes().resolve("sum", 0).empty());
  EXPECT_EQ(error_of([] { Axes({0, -2}).resolve("sum", 2); }), "[sum] axis 0 is given twice");
  EXPECT_EQ(error_of([] { Axes({0, 2}).resolve("sum", 2); }), "[sum] axis 2 is outside an array with 2 axes");
}

TEST(Array, BroadcastShape) {
  const auto of = [](const Shape& a, const Shape& b) { return xgrad::broadcast_shape("add", a, b); };
  EXPECT_EQ(of({2, 3}, {3}), (Shape{2, 3}));
  EXPECT_EQ(of({3}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(of({2, 1, 5}, {3, 1}), (Shape{2, 3, 5}));
  EXPECT_EQ(of({}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(of({}, {}), Shape{});
  EXPECT_EQ(of({2, 1}, {1, 0}), (Shape{2, 0}));
  EXPECT_EQ(of({0}, {1}), Shape{0});
  EXPECT_EQ(error_of([&] {
              of({2, 3}, {5, 2, 4});
            }),
            "[add] shapes (2, 3) and (5, 2, 4) do not broadcast: axis -1 is 3 vs 4");
  EXPECT_EQ(error_of([&] {
              of({5, 2, 3}, {4, 3});
            }),
            "[add] shapes (5, 2, 3) and (4, 3) do not broadcast: axis -2 is 2 vs 4");
  EXPECT_EQ(error_of([&] { of({0}, {2}); }), "[add] shapes (0,) and (2,) do not broadcast: axis -1 is 0 vs 2");
}

TEST(Array, CheckShape) {
  xgrad::check_shape("Linear", "weight", {2, 3}, {2, 3});
  EXPECT_EQ(error_of([] {
              xgrad::check_shape("Linear", "weight", {2, 3}, {3, 2});
            }),
            "[Linear] weight must have shape (2, 3) but has shape (3, 2)");
}

}  // namespace
