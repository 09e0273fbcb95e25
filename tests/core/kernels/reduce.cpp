#include <xgrad/core/kernels/reduce.hpp>

#include <algorithm>
#include <functional>

#include "core/kernels/reference.hpp"

namespace {

using namespace reference;
using xgrad::keep_dims;
using xgrad::ShapeError;

template <class T>
class Reduce : public Typed<T> {};
TYPED_TEST_SUITE(Reduce, Types, TypeNames);

using AxisList = std::vector<std::ptrdiff_t>;

// All numbers that a reduction sees for each result, in order, with the axes kept.
template <class T>
std::vector<std::vector<double>> groups(const Array<T>& x, const std::vector<bool>& reduced, Shape& kept) {
  kept = x.shape();
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (reduced[i]) kept[i] = 1;
  std::vector<std::vector<double>> result(xgrad::element_count(kept));
  each(x.shape(), [&](const Position& p) {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < p.size(); ++i) offset = offset * kept[i] + (reduced[i] ? 0 : p[i]);
    result[offset].push_back(at(x, p));
  });
  return result;
}

double sum_of(const std::vector<double>& v) {
  double total = 0;
  for (const double x : v) total += x;
  return total;
}
double mean_of(const std::vector<double>& v) { return sum_of(v) / static_cast<double>(v.size()); }
double variance_of(const std::vector<double>& v) {
  const double mean = mean_of(v);
  double total = 0;
  for (const double x : v) total += (x - mean) * (x - mean);
  return total / static_cast<double>(v.size());
}
double largest_of(const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }
double smallest_of(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }
double logsumexp_of(const std::vector<double>& v) {
  double total = 0;
  for (const double x : v) total += std::exp(x);
  return std::log(total);
}

template <class T>
struct Row {
  const char* name;
  std::function<Array<T>(const Array<T>&, const xgrad::Axes&, bool)> function;
  double (*want)(const std::vector<double>&);
};

template <class T>
std::vector<Row<T>> table() {
  return {
      {"sum", xgrad::sum<T>, sum_of},
      {"mean", xgrad::mean<T>, mean_of},
      {"variance", [](const auto& x, const auto& axes, bool keep) { return xgrad::variance(x, axes, keep); },
       variance_of},
      {"amax", xgrad::amax<T>, largest_of},
      {"amin", xgrad::amin<T>, smallest_of},
      {"logsumexp", xgrad::logsumexp<T>, logsumexp_of},
  };
}

TYPED_TEST(Reduce, AgreesWithTheReferenceOverEverySetOfAxes) {
  using T = TypeParam;
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{17}, Shape{5, 3}, Shape{3, 1100}, Shape{1100, 3}, Shape{70, 300},
                             Shape{2, 3, 5}, Shape{2, 1, 5}, Shape{3, 2, 5, 17}, Shape{2, 3, 1, 2, 3}}) {
    const Array<T> x = sample<T>(shape, 11);
    for (unsigned set = 0; set < (1u << shape.size()); ++set) {
      if (set == 0 && !shape.empty()) continue;  // an empty list means all axes
      std::vector<bool> reduced(shape.size());
      AxisList axes;
      Shape dropped;
      for (std::size_t i = 0; i < shape.size(); ++i) {
        reduced[i] = (set >> i) & 1;
        if (reduced[i])
          axes.push_back(static_cast<std::ptrdiff_t>(i) - (i % 2 ? static_cast<std::ptrdiff_t>(shape.size()) : 0));
        else dropped.push_back(shape[i]);
      }
      Shape kept;
      const auto parts = groups(x, reduced, kept);
      for (const auto& row : table<T>()) {
        SCOPED_TRACE(row.name + xgrad::to_string(shape) + ::testing::PrintToString(axes));
        std::vector<double> want;
        for (const auto& part : parts) want.push_back(row.want(part));
        const Array<T> with = row.function(x, axes, keep_dims), without = row.function(x, axes, false);
        EXPECT_EQ(with.shape(), kept);
        EXPECT_EQ(without.shape(), dropped);
        const double scale = static_cast<double>(parts[0].size());
        expect_numbers(with, want, 4 * unit<T>(), 4 * unit<double>() * scale + 2 * unit<T>());
        expect_numbers(without, want, 4 * unit<T>(), 4 * unit<double>() * scale + 2 * unit<T>());
      }
    }
  }
}

TYPED_TEST(Reduce, NothingAndEmptyExtents) {
  using T = TypeParam;
  const Array<T> none = xgrad::zeros<T>({0}), some = xgrad::zeros<T>({2, 0, 3});
  expect_numbers(xgrad::sum(none), {0}, 0);
  expect_numbers(xgrad::sum(some, 1), {0, 0, 0, 0, 0, 0}, 0);
  expect_numbers(xgrad::sum(some, {0, 1}), {0, 0, 0}, 0);
  expect_numbers(xgrad::logsumexp(some, 1, keep_dims), {-kInf, -kInf, -kInf, -kInf, -kInf, -kInf}, 0);
  for (const auto& row : table<T>()) {
    EXPECT_EQ(row.function(some, 0, false).shape(), (Shape{0, 3})) << row.name;
    EXPECT_EQ(row.function(some, -1, keep_dims).shape(), (Shape{2, 0, 1})) << row.name;
  }
}

TYPED_TEST(Reduce, CPP_05_ExtremesAndMeansOfNothingAreRefused) {
  using T = TypeParam;
  const Array<T> some = xgrad::zeros<T>({2, 0, 3});
  const std::string text = "needs at least one number but runs over an empty extent of (2, 0, 3)";
  EXPECT_EQ(message<ShapeError>([&] { xgrad::amax(some, 1); }), "[amax] " + text);
  EXPECT_EQ(message<ShapeError>([&] { xgrad::amin(some); }), "[amin] " + text);
  EXPECT_EQ(message<ShapeError>([&] { xgrad::mean(some, {0, 1}); }), "[mean] " + text);
  EXPECT_EQ(message<ShapeError>([&] { xgrad::variance(some, 1); }), "[variance] " + text);
  EXPECT_EQ(message<ShapeError>([&] { xgrad::argmax(some, 1); }), "[argmax] " + text);
  EXPECT_EQ(message<ShapeError>([&] { xgrad::argmin(some, 1); }), "[argmin] " + text);
  EXPECT_EQ(message<ShapeError>([&] { xgrad::sum(some, 3); }), "[sum] axis 3 is outside an array with 3 axes");
}

TEST(Reduce, CPP_05_TwentyMillionOnes) {
  const Array<float> ones = xgrad::ones<float>({20000000});
  EXPECT_EQ(xgrad::item(xgrad::sum(ones)), 20000000.0f);
  EXPECT_EQ(xgrad::item(xgrad::mean(ones)), 1.0f);
  Array<float> column = ones;
  column.reshape({10000000, 2});
  expect_numbers(xgrad::sum(column, 0), {1e7, 1e7}, 0);
}

TYPED_TEST(Reduce, CPP_05_RowVariance) {
  using T = TypeParam;
  const Array<T> x{{1, 2, 3}, {4, 5, 6}};
  expect_numbers(xgrad::variance(x, 1), {2.0 / 3, 2.0 / 3}, 2 * unit<T>());
  expect_numbers(xgrad::variance(x, 1, false, 1), {1, 1}, 0);
  expect_numbers(xgrad::variance(x, {}, false, 1), {3.5}, 0);
  EXPECT_EQ(message<ShapeError>([&] { xgrad::variance(x, 0, false, 2); }),
            "[variance] with ddof 2 needs more than 2 numbers but got 2");
  EXPECT_EQ(message<ShapeError>([&] { xgrad::stddev(x, 0, false, 2); }),
            "[stddev] with ddof 2 needs more than 2 numbers but got 2");
}

TYPED_TEST(Reduce, ALargeOffsetLeavesTheVariance) {
  using T = TypeParam;
  const double offset = sizeof(T) == 4 ? 80000 : 1e9;
  const Array<T> x{T(offset), T(offset + 1), T(offset + 2), T(offset + 3)};
  expect_numbers(xgrad::variance(x), {1.25}, 0);
  Array<T> column = x;
  column.reshape({4, 1});
  expect_numbers(xgrad::variance(xgrad::broadcast_to(column, {4, 3}), 0), {1.25, 1.25, 1.25}, 0);
}

TEST(Reduce, LongSumsKeepTheirDigits) {
  const std::size_t n = 3000001;
  const Array<double> x = xgrad::full<double>({n}, 0.1);
  expect_numbers(xgrad::sum(x), {0.1 * static_cast<double>(n)}, 4e-15);
  Array<double> column = x;
  column.reshape({n, 1});
  expect_numbers(xgrad::sum(xgrad::broadcast_to(column, {n, 2}), 0),
                 {0.1 * static_cast<double>(n), 0.1 * static_cast<double>(n)}, 4e-15);
}

TYPED_TEST(Reduce, NaNIsNotHidden) {
  using T = TypeParam;
  for (std::size_t n : {1, 2, 9, 40})
    for (std::size_t i = 0; i < n; ++i) {
      Array<T> x = sample<T>({n}, 3);
      x(i) = T(kNaN);
      Array<T> column = x;
      column.reshape({n, 1});
      const Array<T> pair = xgrad::broadcast_to(column, {n, 2});
      for (const auto& row : table<T>()) {
        expect_numbers(row.function(x, {}, false), {kNaN}, 0);
        expect_numbers(row.function(pair, 0, false), {kNaN, kNaN}, 0);
      }
      EXPECT_EQ(xgrad::item(xgrad::argmax(x)), static_cast<std::int64_t>(i));
      EXPECT_EQ(xgrad::item(xgrad::argmin(x)), static_cast<std::int64_t>(i));
    }
}

TYPED_TEST(Reduce, ACT_03_MaximumOfAList) {
  using T = TypeParam;
  expect_numbers(xgrad::amax(Array<T>{T(kNaN), T(1), T(-1)}), {kNaN}, 0);
  expect_numbers(xgrad::amax(Array<T>{T(1), T(kNaN), T(2)}), {kNaN}, 0);
}

TYPED_TEST(Reduce, LogSumExpOfExtremes) {
  using T = TypeParam;
  const T inf = T(kInf);
  const Array<T> x{{T(1000), T(1000)}, {T(-1000), T(-1001)}, {-inf, -inf}, {-inf, T(3)}, {inf, T(3)}, {inf, -inf}};
  const std::vector<double> want{1000 + std::log(2.0), -1000 + std::log1p(std::exp(-1.0)), -kInf, 3, kInf, kInf};
  expect_numbers(xgrad::logsumexp(x, 1), want, 2 * unit<T>());
  Array<T> columns = xgrad::empty<T>({2, 6});
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 2; ++j) columns(j, i) = x(i, j);
  expect_numbers(xgrad::logsumexp(columns, 0), want, 2 * unit<T>());
}

TYPED_TEST(Reduce, ArgmaxTakesTheFirstOfEquals) {
  using T = TypeParam;
  const Array<T> x{{1, 3, 3}, {2, 0, 0}, {2, 3, -1}};
  EXPECT_EQ(xgrad::argmax(x), (xgrad::Index{1, 0, 1}));
  EXPECT_EQ(xgrad::argmin(x), (xgrad::Index{0, 1, 2}));
  EXPECT_EQ(xgrad::argmax(x, 0), (xgrad::Index{1, 0, 0}));
  EXPECT_EQ(xgrad::argmin(x, 0, keep_dims), (xgrad::Index{{0, 1, 2}}));
  EXPECT_EQ(xgrad::argmax(x * T(-1), 1), xgrad::argmin(x, 1));
  const Array<T> deep = sample<T>({3, 5, 2}, 8);
  const xgrad::Index best = xgrad::argmax(deep, 1, keep_dims);
  ASSERT_EQ(best.shape(), (Shape{3, 1, 2}));
  each(deep.shape(), [&](const Position& p) {
    const auto held = static_cast<std::size_t>(best(p[0], 0, p[2]));
    EXPECT_LE(deep(p[0], p[1], p[2]), deep(p[0], held, p[2]));
  });
}

TYPED_TEST(Reduce, SumToUndoesBroadcasting) {
  using T = TypeParam;
  const struct {
    Shape from, to;
  } cases[] = {{{2, 3}, {2, 3}},
               {{2, 3}, {3}},
               {{2, 3}, {1, 3}},
               {{2, 3}, {2, 1}},
               {{2, 3}, {1}},
               {{2, 3}, {}},
               {{2, 3, 5}, {2, 1, 5}},
               {{2, 3, 5}, {1, 3, 1}},
               {{2, 3, 5, 2}, {3, 1, 2}},
               {{4, 1, 3}, {1, 3}},
               {{0, 3}, {3}},
               {{0, 3}, {1, 3}},
               {{}, {}}};
  for (const auto& c : cases) {
    SCOPED_TRACE(xgrad::to_string(c.from) + xgrad::to_string(c.to));
    const Array<T> x = sample<T>(c.from, 2);
    std::vector<double> want(xgrad::element_count(c.to), 0.0);
    each(c.from, [&](const Position& p) {
      std::size_t offset = 0;
      for (std::size_t i = 0; i < c.to.size(); ++i)
        offset = offset * c.to[i] + (c.to[i] == 1 ? 0 : p[p.size() - c.to.size() + i]);
      want[offset] += at(x, p);
    });
    const Array<T> got = xgrad::sum_to(x, c.to);
    EXPECT_EQ(got.shape(), c.to);
    expect_numbers(got, want, 4 * unit<T>(), 4 * unit<T>());
  }
  for (const Shape& to : {Shape{2}, Shape{3, 3}, Shape{1, 2, 3}, Shape{0}})
    EXPECT_EQ(message<ShapeError>([&] {
                xgrad::sum_to(xgrad::zeros<T>({2, 3}), to);
              }),
              "[sum_to] shape (2, 3) cannot be summed to " + xgrad::to_string(to) + ", which does not broadcast to it");
}

TYPED_TEST(Reduce, BroadcastTo) {
  using T = TypeParam;
  for (const Shape& from : {Shape{}, Shape{5}, Shape{3, 1}, Shape{3, 5}, Shape{2, 1, 5}, Shape{1, 1, 1}}) {
    const Array<T> x = sample<T>(from, 4);
    expect_all(
        xgrad::broadcast_to(x, {2, 3, 5}), {2, 3, 5}, [&](const Position& p) { return at(x, p); }, 0);
  }
  EXPECT_EQ(xgrad::broadcast_to(xgrad::ones<T>({1, 3}), {0, 3}).shape(), (Shape{0, 3}));
  const Array<T> x = xgrad::ones<T>({2, 3});
  EXPECT_EQ(message<ShapeError>([&] { xgrad::broadcast_to(x, {3}); }),
            "[broadcast_to] shape (2, 3) does not broadcast to (3,)");
  EXPECT_EQ(message<ShapeError>([&] {
              xgrad::broadcast_to(x, {2, 1});
            }),
            "[broadcast_to] shape (2, 3) does not broadcast to (2, 1)");
}

TYPED_TEST(Reduce, LazyExpressionsAreEvaluated) {
  using T = TypeParam;
  const Array<T> x{{1, 2}, {3, 4}};
  const Array<T> total = xgrad::sum(x * x, -1, keep_dims);
  EXPECT_EQ(total.shape(), (Shape{2, 1}));
  expect_numbers(total, {5, 25}, 0);
}

}  // namespace
