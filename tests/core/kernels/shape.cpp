#include <xgrad/core/kernels/shape.hpp>

#include <algorithm>

#include "core/kernels/reference.hpp"

namespace {

using namespace reference;
using xgrad::ShapeError;

template <class T>
class Shapes : public Typed<T> {};
TYPED_TEST_SUITE(Shapes, Types, TypeNames);

TYPED_TEST(Shapes, ReshapeKeepsTheOrderOfNumbers) {
  using T = TypeParam;
  const Array<T> x = sample<T>({2, 3, 5}, 1);
  const std::size_t two = 2;
  for (const Array<T>& y : {xgrad::reshape(x, {5, 6}), xgrad::reshape(x, {5, -1}), xgrad::reshape(x, Shape{5, 6}),
                            xgrad::reshape(x, {two + 3, -1})}) {
    EXPECT_EQ(y.shape(), (Shape{5, 6}));
    EXPECT_TRUE(std::equal(x.data(), x.data() + x.size(), y.data()));
  }
  EXPECT_EQ(xgrad::reshape(xgrad::ones<T>({1, 1}), {}).shape(), Shape{});
  EXPECT_EQ(xgrad::reshape(xgrad::ones<T>({}), {-1}).shape(), Shape{1});
  EXPECT_EQ(xgrad::reshape(xgrad::ones<T>({3, 0}), {0, 5}).shape(), (Shape{0, 5}));
  EXPECT_EQ(xgrad::reshape(xgrad::ones<T>({3, 0}), {3, -1}).shape(), (Shape{3, 0}));
  const Array<T> lazy = xgrad::reshape(x + T(1), Shape{30});
  EXPECT_EQ(lazy(7), x(0, 1, 2) + T(1));
}

TYPED_TEST(Shapes, ReshapeRefusesWhatDoesNotFit) {
  using T = TypeParam;
  const Array<T> x = xgrad::ones<T>({2, 3});
  const auto text = [](const Array<T>& a, const xgrad::Extents& to) {
    return message<ShapeError>([&] { xgrad::reshape(a, to); });
  };
  EXPECT_EQ(text(x, {4, 2}), "[reshape] shape (2, 3) holds 6 numbers and does not fit (4, 2)");
  EXPECT_EQ(text(x, {4, -1}), "[reshape] shape (2, 3) holds 6 numbers and does not fit (4, -1)");
  EXPECT_EQ(text(x, {}), "[reshape] shape (2, 3) holds 6 numbers and does not fit ()");
  EXPECT_EQ(text(x, {-1, -1}), "[reshape] extents must be at least 0, and one may be -1, but got (-1, -1)");
  EXPECT_EQ(text(x, {-2, 3}), "[reshape] extents must be at least 0, and one may be -1, but got (-2, 3)");
  EXPECT_EQ(text(xgrad::ones<T>({0, 3}), {0, -1}),
            "[reshape] the extent -1 in (0, -1) is not determined beside an extent of 0");
}

TYPED_TEST(Shapes, ReshapeRefusesMoreThanCanBeCounted) {
  const Array<TypeParam> x = xgrad::ones<TypeParam>({2, 3});
  const std::ptrdiff_t large = std::ptrdiff_t{1} << 32;
  for (const xgrad::Extents& to : {xgrad::Extents{large, large, -1}, xgrad::Extents{-1, large, large},
                                   xgrad::Extents{large, large}, xgrad::Extents{large, large, 0, -1}}) {
    const std::string text = message<ShapeError>([&] { xgrad::reshape(x, to); });
    EXPECT_NE(text.find("has more elements than can be counted"), std::string::npos) << text;
  }
}

TYPED_TEST(Shapes, PermuteEveryOrder) {
  using T = TypeParam;
  for (const Shape& shape : {Shape{2, 3, 5, 17}, Shape{33, 2, 1, 19}, Shape{1, 5, 1, 3}, Shape{2, 3, 0, 5}}) {
    const Array<T> x = sample<T>(shape, 2);
    std::vector<std::ptrdiff_t> order{0, 1, 2, 3};
    do {
      SCOPED_TRACE(::testing::PrintToString(order));
      Shape permuted;
      for (const std::ptrdiff_t i : order) permuted.push_back(shape[static_cast<std::size_t>(i)]);
      const auto want = [&](const Position& p) {
        Position source(4);
        for (std::size_t i = 0; i < 4; ++i) source[static_cast<std::size_t>(order[i])] = p[i];
        return at(x, source);
      };
      expect_all(xgrad::permute(x, order), permuted, want, 0);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  const Array<T> x = sample<T>({2, 3}, 2);
  EXPECT_TRUE(xgrad::array_equal(xgrad::permute(x, {-1, 0}), xgrad::transpose(x)));
}

TYPED_TEST(Shapes, PermuteRefusesOtherOrders) {
  using T = TypeParam;
  const auto text = [](const xgrad::AxisOrder& order) {
    return message<ShapeError>([&] { xgrad::permute(xgrad::ones<T>({2, 3}), order); });
  };
  EXPECT_EQ(text({0}), "[permute] the order must name each axis of (2, 3) once but is (0,)");
  EXPECT_EQ(text({0, -2}), "[permute] the order (0, -2) names axis 0 twice");
  EXPECT_EQ(text({0, 2}), "[permute] axis 2 is outside an array with 2 axes");
}

TYPED_TEST(Shapes, TransposeReversesAllAxes) {
  using T = TypeParam;
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{17, 40}, Shape{1, 7}, Shape{2, 3, 5}, Shape{0, 3}}) {
    const Array<T> x = sample<T>(shape, 3);
    const auto want = [&](const Position& p) { return at(x, Position(p.rbegin(), p.rend())); };
    expect_all(xgrad::transpose(x), Shape(shape.rbegin(), shape.rend()), want, 0);
  }
}

TYPED_TEST(Shapes, CPP_05_AddingTheTransposeInPlace) {
  using T = TypeParam;
  Array<T> x{{1, 2}, {3, 4}};
  x = x + xgrad::transpose(x);
  EXPECT_EQ(x, (Array<T>{{2, 5}, {5, 8}}));
}

TYPED_TEST(Shapes, ExpandDimsAndSqueeze) {
  using T = TypeParam;
  const Array<T> x = sample<T>({2, 3}, 4);
  EXPECT_EQ(xgrad::expand_dims(x, 0).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(xgrad::expand_dims(x, 1).shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(xgrad::expand_dims(x, -1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(xgrad::expand_dims(x, -3).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(xgrad::expand_dims(xgrad::ones<T>({}), 0).shape(), Shape{1});
  EXPECT_TRUE(xgrad::array_equal(xgrad::squeeze(xgrad::expand_dims(x, 1), 1), x));
  EXPECT_EQ(message<ShapeError>([&] { xgrad::expand_dims(x, 3); }),
            "[expand_dims] axis 3 is outside an array with 3 axes");

  const Array<T> y = xgrad::ones<T>({1, 2, 1, 3, 1});
  EXPECT_EQ(xgrad::squeeze(y).shape(), (Shape{2, 3}));
  EXPECT_EQ(xgrad::squeeze(y, {0, -1}).shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(xgrad::squeeze(xgrad::ones<T>({1, 1})).shape(), Shape{});
  EXPECT_EQ(message<ShapeError>([&] { xgrad::squeeze(y, 1); }),
            "[squeeze] axis 1 of (1, 2, 1, 3, 1) must have extent 1 to be dropped but has 2");
}

}  // namespace
