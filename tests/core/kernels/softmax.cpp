#include <xgrad/core/kernels/softmax.hpp>

#include "core/kernels/reference.hpp"

namespace {

using namespace reference;

template <class T>
class Softmax : public Typed<T> {};
TYPED_TEST_SUITE(Softmax, Types, TypeNames);

// f over all numbers of x along `axis` at a position: the sum of f(number, its position).
template <class F>
double along(const Shape& shape, Position p, std::size_t axis, F f) {
  long double total = 0;
  for (p[axis] = 0; p[axis] < shape[axis]; ++p[axis]) total += f(p);
  return static_cast<double>(total);
}

TYPED_TEST(Softmax, AgreesWithTheReferenceOnEveryAxis) {
  using T = TypeParam;
  for (const Shape& shape :
       {Shape{1}, Shape{17}, Shape{3, 5}, Shape{2, 3, 5}, Shape{5, 2, 1, 3}, Shape{2, 0, 3}, Shape{3, 1100}})
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      SCOPED_TRACE(xgrad::to_string(shape) + " axis " + std::to_string(axis));
      const auto signed_axis =
          static_cast<std::ptrdiff_t>(axis) - static_cast<std::ptrdiff_t>(axis % 2 ? shape.size() : 0);
      const Array<T> x = sample<T>(shape, 21), g = sample<T>(shape, 22);
      const auto sum = [&](const Position& p) {
        return along(shape, p, axis, [&](const Position& q) { return std::exp(at(x, q)); });
      };
      const Array<T> y = xgrad::softmax(x, signed_axis);
      expect_all(
          y, shape, [&](const Position& p) { return std::exp(at(x, p)) / sum(p); }, 16 * unit<T>());
      expect_all(
          xgrad::log_softmax(x, signed_axis), shape, [&](const Position& p) { return at(x, p) - std::log(sum(p)); },
          16 * unit<T>(), 4 * unit<T>());
      expect_all(
          xgrad::softmax_backward(y, g, signed_axis), shape,
          [&](const Position& p) {
            return at(y, p) *
                   (at(g, p) - along(shape, p, axis, [&](const Position& q) { return at(g, q) * at(y, q); }));
          },
          16 * unit<T>(), 8 * unit<T>());
    }
}

TYPED_TEST(Softmax, MaskedAgreesWithTheReference) {
  using T = TypeParam;
  const Shape shape{2, 3, 5};
  for (const Shape& mask_shape : {Shape{2, 3, 5}, Shape{5}, Shape{3, 1}, Shape{2, 1, 5}, Shape{}})
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Array<T> x = sample<T>(shape, 31);
      Array<T> mask = sample<T>(mask_shape, 32);
      for (std::size_t i = 0; i < mask.size(); ++i)
        if (mask.data()[i] < 0) mask.data()[i] = 0;
      const auto term = [&](const Position& p) { return at(mask, p) != 0 ? std::exp(at(x, p)) : 0.0; };
      expect_all(
          xgrad::softmax(x, mask, static_cast<std::ptrdiff_t>(axis)), shape,
          [&](const Position& p) {
            const double sum = along(shape, p, axis, term);
            return sum > 0 ? term(p) / sum : 0.0;
          },
          16 * unit<T>());
    }
}

TYPED_TEST(Softmax, ACT_04_HugeLogits) {
  using T = TypeParam;
  const double rel = sizeof(T) == 8 ? 1e-14 : 2 * unit<T>();
  const double ln2 = 0.6931471805599453;
  expect_numbers(xgrad::log_softmax(Array<T>{T(1e8), T(1e8)}), {-ln2, -ln2}, rel);
  expect_numbers(xgrad::log_softmax(Array<T>{0, T(-1e7)}), {0, -1e7}, rel);
  expect_numbers(xgrad::log_softmax(Array<T>{1000, 0}), {0, -1000}, rel);
  expect_numbers(xgrad::log_softmax(Array<T>{710, 710, 0}), {-ln2, -ln2, -710.6931471805599}, rel);
  expect_numbers(xgrad::log_softmax(Array<T>{-1000, -1001}), {-0.3132616875182228, -1.313261687518223}, rel);
  expect_numbers(xgrad::log_softmax(Array<T>{T(88.72284)}), {0}, 0);
  expect_numbers(xgrad::softmax(Array<T>{T(1e8), T(1e8)}), {0.5, 0.5}, 0);
  expect_numbers(xgrad::softmax(Array<T>{1000, 0}), {1, 0}, 0);
}

TEST(Softmax, ACT_04_ALogarithmCloseToZeroKeepsItsDigits) {
  const Array<double> x{-5.2040, 7.8325};
  expect_numbers(xgrad::log_softmax(x), {-13.03650217931252, -2.179312517909411e-6}, 1e-14, 1e-15);
  EXPECT_NEAR(xgrad::softmax(x)(0), 2.179310143209611e-6, 1e-15);
}

TYPED_TEST(Softmax, RowsWithInfinitiesAndNaN) {
  using T = TypeParam;
  const T inf = T(kInf), nan = T(kNaN);
  const Array<T> x{{-inf, -inf, -inf}, {-inf, 0, 0}, {inf, 0, -inf}, {nan, 0, -inf}, {5, nan, -inf}, {-inf, -inf, nan}};
  const double log_half = -std::log(2.0);
  expect_numbers(xgrad::softmax(x),
                 {0, 0, 0, 0, 0.5, 0.5, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN}, 0);
  expect_numbers(xgrad::log_softmax(x),
                 {-kInf, -kInf, -kInf, -kInf, log_half, log_half, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN,
                  kNaN, kNaN, kNaN},
                 2 * unit<T>());
  const Array<T> zeros = xgrad::zeros<T>({1, 3});
  EXPECT_EQ(xgrad::softmax_backward(zeros, xgrad::ones<T>({1, 3})), zeros);
}

TYPED_TEST(Softmax, MaskedEntriesHaveNoInfluence) {
  using T = TypeParam;
  const T inf = T(kInf), nan = T(kNaN);
  const Array<T> x{{nan, 0, 0}, {inf, 1, 1}, {nan, nan, inf}, {0, nan, 1}};
  const Array<T> mask{{0, 1, 2}, {0, 1, 1}, {0, 0, 0}, {0, 1, 1}};
  expect_numbers(xgrad::softmax(x, mask), {0, 0.5, 0.5, 0, 0.5, 0.5, 0, 0, 0, 0, kNaN, kNaN}, 0);
}

TYPED_TEST(Softmax, ShapesAreChecked) {
  using T = TypeParam;
  const Array<T> x = xgrad::ones<T>({2, 3});
  EXPECT_EQ(message<xgrad::ShapeError>([&] { xgrad::softmax(x, 2); }),
            "[softmax] axis 2 is outside an array with 2 axes");
  EXPECT_EQ(message<xgrad::ShapeError>([&] { xgrad::log_softmax(xgrad::ones<T>({})); }),
            "[log_softmax] axis -1 is outside an array with 0 axes");
  EXPECT_EQ(message<xgrad::ShapeError>([&] {
              xgrad::softmax(x, xgrad::ones<T>({4, 1, 3}));
            }),
            "[softmax] mask of shape (4, 1, 3) must broadcast to (2, 3)");
  EXPECT_EQ(message<xgrad::ShapeError>([&] { xgrad::softmax_backward(x, xgrad::ones<T>({3})); }),
            "[softmax_backward] g must have shape (2, 3) but has shape (3,)");
  EXPECT_EQ(message<xgrad::ShapeError>([&] { xgrad::log_softmax_backward(x, xgrad::ones<T>({3})); }),
            "[log_softmax_backward] g must have shape (2, 3) but has shape (3,)");
  const Array<T> lazy = xgrad::softmax(x + x, -1);
  expect_numbers(lazy, {1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3}, 4 * unit<T>());
}

}  // namespace
