#include <xgrad/core/kernels/index.hpp>

#include <numeric>
#include <thread>

#include "core/kernels/reference.hpp"

namespace {

using namespace reference;
using xgrad::all;
using xgrad::Index;
using xgrad::range;
using xgrad::ShapeError;
using xgrad::Slices;

template <class T>
class Indexing : public Typed<T> {};
TYPED_TEST_SUITE(Indexing, Types, TypeNames);

Index index_of(const std::vector<std::int64_t>& numbers) { return xgrad::from(numbers); }

// Python's definition of start:stop:step, one number at a time.
std::vector<std::size_t> python(std::optional<std::ptrdiff_t> start, std::optional<std::ptrdiff_t> stop,
                                std::ptrdiff_t step, std::ptrdiff_t n) {
  const auto within = [&](std::ptrdiff_t v) {
    if (v < 0) v += n;
    if (v < 0) return step < 0 ? std::ptrdiff_t(-1) : std::ptrdiff_t(0);
    if (v >= n) return step < 0 ? n - 1 : n;
    return v;
  };
  std::ptrdiff_t i = start ? within(*start) : step < 0 ? n - 1 : 0;
  const std::ptrdiff_t end = stop ? within(*stop) : step < 0 ? -1 : n;
  std::vector<std::size_t> result;
  for (; step < 0 ? i > end : i < end; i += step) result.push_back(static_cast<std::size_t>(i));
  return result;
}

TYPED_TEST(Indexing, RangesAreThoseOfPython) {
  using T = TypeParam;
  std::vector<std::optional<std::ptrdiff_t>> ends{std::nullopt};
  for (std::ptrdiff_t i = -7; i <= 7; ++i) ends.emplace_back(i);
  for (const std::size_t n : {0, 1, 5})
    for (const auto& start : ends)
      for (const auto& stop : ends)
        for (const std::ptrdiff_t step : {-7, -2, -1, 1, 2, 3, 7}) {
          const Array<T> x = sample<T>({n, 2}, 1);
          const auto taken = python(start, stop, step, static_cast<std::ptrdiff_t>(n));
          const Slices slices{range(start, stop, step)};
          ASSERT_EQ(xgrad::slice_shape({n, 2}, slices), (Shape{taken.size(), 2}));
          expect_all(
              xgrad::slice(x, slices), {taken.size(), 2},
              [&](const Position& p) {
                return at(x, {taken[p[0]], p[1]});
              },
              0);
        }
  constexpr auto lowest = std::numeric_limits<std::ptrdiff_t>::min(),
                 highest = std::numeric_limits<std::ptrdiff_t>::max();
  const Array<T> x = xgrad::arange<T>(5);
  EXPECT_EQ(xgrad::slice(x, {range({}, {}, lowest)}), (Array<T>{4}));
  EXPECT_EQ(xgrad::slice(x, {range(lowest, highest, highest)}), (Array<T>{0}));
}

TYPED_TEST(Indexing, SlicesOfSeveralAxes) {
  using T = TypeParam;
  const Array<T> x = sample<T>({2, 3, 5}, 2);
  expect_all(
      xgrad::slice(x, {1}), {3, 5},
      [&](const Position& p) {
        return at(x, {1, p[0], p[1]});
      },
      0);
  expect_all(
      xgrad::slice(x, {all(), -1}), {2, 5},
      [&](const Position& p) {
        return at(x, {p[0], 2, p[1]});
      },
      0);
  expect_all(
      xgrad::slice(x, {all(), all(), std::size_t(3)}), {2, 3},
      [&](const Position& p) {
        return at(x, {p[0], p[1], 3});
      },
      0);
  expect_all(
      xgrad::slice(x, {0, range(1, {}), range({}, {}, -2)}), {2, 3},
      [&](const Position& p) {
        return at(x, {0, 1 + p[0], 4 - 2 * p[1]});
      },
      0);
  expect_all(
      xgrad::slice(x, {1, 2, 3}), {},
      [&](const Position&) {
        return at(x, {1, 2, 3});
      },
      0);
  expect_all(
      xgrad::slice(x, {}), {2, 3, 5}, [&](const Position& p) { return at(x, p); }, 0);
  EXPECT_EQ(xgrad::slice(x, {range(2, 1), 0}).shape(), (Shape{0, 5}));
  EXPECT_EQ(xgrad::slice(xgrad::ones<T>({}), {}).shape(), Shape{});
  const Array<T> lazy = xgrad::slice(x + x, Slices{1, 2, 3});
  EXPECT_EQ(xgrad::item(lazy), x(1, 2, 3) * 2);
}

TYPED_TEST(Indexing, CPP_05_ShiftWithinOneself) {
  using T = TypeParam;
  Array<T> x{1, 2, 3, 4};
  x = xgrad::concatenate<T>({xgrad::slice(x, {range(0, 1)}), xgrad::slice(x, {range(0, -1)})});
  EXPECT_EQ(x, (Array<T>{1, 1, 2, 3}));
}

TYPED_TEST(Indexing, SlicesOutsideAreRefused) {
  using T = TypeParam;
  const Array<T> x = xgrad::ones<T>({2, 3});
  const auto text = [&](const Slices& slices) { return message<ShapeError>([&] { xgrad::slice(x, slices); }); };
  EXPECT_EQ(text({2}), "[slice] index 2 is outside axis 0 of extent 2");
  EXPECT_EQ(text({all(), -4}), "[slice] index -4 is outside axis 1 of extent 3");
  EXPECT_EQ(text({0, 0, 0}), "[slice] got 3 slices for shape (2, 3)");
  EXPECT_EQ(message<std::invalid_argument>([] { range(0, 1, 0); }), "[range] step must not be 0");
}

TYPED_TEST(Indexing, AddToSliceIsTheTransposeOfSlice) {
  using T = TypeParam;
  const Slices row{1};
  for (const Slices& slices : {Slices{}, row, Slices{all(), range(0, 2)}, Slices{range({}, {}, -1), 2, range(1, {}, 2)},
                               Slices{0, range(2, 2)}}) {
    const Array<T> before = sample<T>({2, 3, 5}, 3);
    Array<T> after = before;
    const Array<T> values = sample<T>(xgrad::slice_shape({2, 3, 5}, slices), 4);
    xgrad::add_to_slice(after, slices, values);
    // The values arrive where `slice` reads; the sum shows that nothing else has changed.
    expect_all(
        xgrad::slice(after, slices), values.shape(),
        [&](const Position& p) { return at(xgrad::slice(before, slices), p) + at(values, p); }, 2 * unit<T>(),
        unit<T>());
    double change = 0, added = 0;
    each({2, 3, 5}, [&](const Position& p) { change += std::abs(at(after, p) - at(before, p)); });
    each(values.shape(), [&](const Position& p) { added += std::abs(at(values, p)); });
    EXPECT_NEAR(change, added, 200 * unit<T>());
  }
  Array<T> target = xgrad::zeros<T>({2, 3});
  EXPECT_EQ(message<ShapeError>([&] {
              xgrad::add_to_slice(target, {0}, xgrad::ones<T>({1, 3}));
            }),
            "[add_to_slice] values must have shape (3,) but has shape (1, 3)");
  EXPECT_EQ(target, xgrad::zeros<T>({2, 3}));
}

TYPED_TEST(Indexing, TakeRowsOfAnyIndexShape) {
  using T = TypeParam;
  const Array<T> x = sample<T>({5, 2, 3}, 5);
  Index rows = index_of({4, 0, 0, 2, 1, 4});
  for (const Shape& shape : {Shape{6}, Shape{2, 3}, Shape{1, 6, 1}}) {
    rows.reshape(shape);
    Shape want = shape;
    want.push_back(2);
    want.push_back(3);
    expect_all(
        xgrad::take(x, rows), want,
        [&](const Position& p) {
          const Position which(p.begin(), p.end() - 2);
          return at(x, {static_cast<std::size_t>(at(rows, which)), p[p.size() - 2], p[p.size() - 1]});
        },
        0);
  }
  EXPECT_EQ(xgrad::take(x, xgrad::full<std::int64_t>({}, 3)).shape(), (Shape{2, 3}));
  EXPECT_EQ(xgrad::take(Array<T>{7, 8}, index_of({1, 1, 0})), (Array<T>{8, 8, 7}));
}

TYPED_TEST(Indexing, AG_05_RepeatedRowsAddUp) {
  using T = TypeParam;
  Array<T> a = xgrad::zeros<T>({1});
  xgrad::add_rows(a, index_of({0, 0}), Array<T>{T(0.2), T(0.3)});
  expect_numbers(a, {0.5}, 2 * unit<T>());

  Array<T> b = xgrad::zeros<T>({5, 2});
  const Array<T> dy{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}};
  xgrad::add_rows(b, index_of({0, 4, 2, 2, 4}), dy);
  EXPECT_EQ(b, (Array<T>{{1, 1}, {0, 0}, {7, 7}, {0, 0}, {7, 7}}));

  const Index none = Index::from_shape({0});
  EXPECT_EQ(xgrad::take(b, none).shape(), (Shape{0, 2}));
  const Array<T> before = b;
  xgrad::add_rows(b, none, xgrad::zeros<T>({0, 2}));
  EXPECT_EQ(b, before);
}

TYPED_TEST(Indexing, AG_05_RowsOutsideAreRefusedBeforeAnyAccess) {
  using T = TypeParam;
  Array<T> table = xgrad::ones<T>({5, 2});
  for (const std::int64_t bad : {std::int64_t(-1), std::int64_t(5), std::numeric_limits<std::int64_t>::min()}) {
    const Index rows = index_of({0, 4, 2, bad});
    const std::string text = "rows must lie in [0, 5) but position 3 holds " + std::to_string(bad);
    EXPECT_EQ(message<ShapeError>([&] { xgrad::take(table, rows); }), "[take] " + text);
    EXPECT_EQ(message<ShapeError>([&] { xgrad::add_rows(table, rows, xgrad::ones<T>({4, 2})); }), "[add_rows] " + text);
  }
  EXPECT_EQ(message<ShapeError>([&] {
              xgrad::add_rows(table, index_of({0, 1}), xgrad::ones<T>({2}));
            }),
            "[add_rows] values must have shape (2, 2) but has shape (2,)");
  EXPECT_EQ(message<ShapeError>([&] { xgrad::take(xgrad::ones<T>({}), index_of({0})); }),
            "[take] needs an array with rows but got shape ()");
  EXPECT_EQ(message<ShapeError>([&] {
              xgrad::take(xgrad::ones<T>({0, 2}), index_of({0}));
            }),
            "[take] rows must lie in [0, 0) but position 0 holds 0");
  EXPECT_EQ(table, xgrad::ones<T>({5, 2}));
}

TYPED_TEST(Indexing, THR_02_EightyThousandAdditions) {
  using T = TypeParam;
  const std::size_t n = 80000;
  Index same = xgrad::full<std::int64_t>({n}, 1), spread = same;
  for (std::size_t i = 0; i < n; ++i) spread(i) = static_cast<std::int64_t>(i % 4);
  const Array<T> ones = xgrad::ones<T>({n, 2}), values = sample<T>({n, 2}, 6);
  Array<T> first = xgrad::zeros<T>({4, 2});
  xgrad::add_rows(first, spread, values);
  for (const std::size_t threads : {1, 2, 8}) {  // each with its own table; non-integers are equal to the bit
    std::vector<std::thread> team;
    std::vector<Array<T>> a(threads, xgrad::zeros<T>({4, 2})), b = a, c = a;
    for (std::size_t t = 0; t < threads; ++t)
      team.emplace_back([&, t] {
        xgrad::add_rows(a[t], same, ones);
        xgrad::add_rows(b[t], spread, ones);
        xgrad::add_rows(c[t], spread, values);
      });
    for (std::thread& thread : team) thread.join();
    for (std::size_t t = 0; t < threads; ++t) {
      EXPECT_EQ(a[t], (Array<T>{{0, 0}, {80000, 80000}, {0, 0}, {0, 0}}));
      EXPECT_EQ(b[t], xgrad::full<T>({4, 2}, 20000));
      EXPECT_EQ(c[t], first);
    }
  }
}

TYPED_TEST(Indexing, ConcatenateAndSplitAreInverse) {
  using T = TypeParam;
  for (const std::ptrdiff_t axis : {0, 1, 2, -1, -2, -3}) {
    const std::size_t k = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    std::vector<Array<T>> parts;
    const std::vector<std::size_t> sizes{2, 0, 5, 1};
    Shape shape{2, 3, 5};
    for (const std::size_t size : sizes) {
      shape[k] = size;
      parts.push_back(sample<T>(shape, 10 + static_cast<unsigned>(size)));
    }
    shape[k] = 8;
    const Array<T> whole = xgrad::concatenate(parts, axis);
    expect_all(
        whole, shape,
        [&](Position p) {
          std::size_t part = 0;
          while (p[k] >= sizes[part]) p[k] -= sizes[part++];
          return at(parts[part], p);
        },
        0);
    const auto back = xgrad::split(whole, sizes, axis);
    ASSERT_EQ(back.size(), parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) EXPECT_TRUE(xgrad::array_equal(back[i], parts[i]));
    EXPECT_TRUE(xgrad::array_equal(xgrad::concatenate(xgrad::split(whole, 4, axis), axis), whole));
  }
  EXPECT_EQ(xgrad::split(xgrad::ones<T>({0, 4}), 2, 1)[1].shape(), (Shape{0, 2}));
  EXPECT_EQ(xgrad::split(xgrad::ones<T>({0, 4}), 3, 0)[2].shape(), (Shape{0, 4}));
  const auto lazy = xgrad::split(xgrad::ones<T>({4}) * T(2), 2);
  EXPECT_EQ(lazy[1], (Array<T>{2, 2}));
}

TYPED_TEST(Indexing, JoiningAndSplittingRefuseWhatDoesNotFit) {
  using T = TypeParam;
  const Array<T> a = xgrad::ones<T>({2, 3}), b = xgrad::ones<T>({2, 4}), c = xgrad::ones<T>({3});
  EXPECT_EQ(message<ShapeError>([&] {
              xgrad::concatenate<T>({a, b});
            }),
            "[concatenate] shapes must agree except along axis 0 but part 0 has (2, 3) and part 1 has (2, 4)");
  EXPECT_EQ(message<ShapeError>([&] {
              xgrad::concatenate<T>({a, c}, 1);
            }),
            "[concatenate] shapes must agree except along axis 1 but part 0 has (2, 3) and part 1 has (3,)");
  EXPECT_EQ(message<ShapeError>([&] { xgrad::concatenate(std::vector<Array<T>>()); }),
            "[concatenate] needs at least one array");
  EXPECT_EQ(message<ShapeError>([&] { xgrad::concatenate<T>({a}, 2); }),
            "[concatenate] axis 2 is outside an array with 2 axes");
  EXPECT_EQ(message<ShapeError>([&] {
              xgrad::stack<T>({a, b});
            }),
            "[stack] shapes must agree but part 0 has (2, 3) and part 1 has (2, 4)");
  EXPECT_EQ(message<ShapeError>([&] { xgrad::stack(std::vector<Array<T>>()); }), "[stack] needs at least one array");
  EXPECT_EQ(message<ShapeError>([&] { xgrad::split(a, 2, 1); }),
            "[split] axis 1 of (2, 3) does not split into 2 equal parts; pass their sizes");
  EXPECT_EQ(message<ShapeError>([&] { xgrad::split(a, 0, 1); }),
            "[split] axis 1 of (2, 3) does not split into 0 equal parts; pass their sizes");
  EXPECT_EQ(message<ShapeError>([&] {
              xgrad::split(a, {1, 1}, 1);
            }),
            "[split] sizes must add up to 3, the extent of axis 1 of (2, 3), but add up to 2");
  const std::size_t half = std::size_t(1) << 63;
  EXPECT_EQ(message<xgrad::ShapeError>([&] {
              xgrad::split(a, {half, half, 3}, 1);
            }),
            "[split] sizes must add up to 3, the extent of axis 1 of (2, 3), but add up to 18446744073709551615");
}

TYPED_TEST(Indexing, StackAddsAnAxis) {
  using T = TypeParam;
  const std::vector<Array<T>> parts{sample<T>({3, 5}, 1), sample<T>({3, 5}, 2)};
  const Array<T> front = xgrad::stack(parts), middle = xgrad::stack(parts, 1), back = xgrad::stack(parts, -1);
  expect_all(
      front, {2, 3, 5},
      [&](const Position& p) {
        return at(parts[p[0]], {p[1], p[2]});
      },
      0);
  expect_all(
      middle, {3, 2, 5},
      [&](const Position& p) {
        return at(parts[p[1]], {p[0], p[2]});
      },
      0);
  expect_all(
      back, {3, 5, 2},
      [&](const Position& p) {
        return at(parts[p[2]], {p[0], p[1]});
      },
      0);
  EXPECT_EQ(xgrad::stack<T>({xgrad::full<T>({}, 1), xgrad::full<T>({}, 2)}), (Array<T>{1, 2}));
  EXPECT_EQ(xgrad::stack<T>({xgrad::ones<T>({0, 3}), xgrad::ones<T>({0, 3})}, 1).shape(), (Shape{0, 2, 3}));
}

}  // namespace
