// Matrix products: reference numbers, empty sizes, how many products a step costs, errors.
#include <xgrad/core/linalg.hpp>
#include <xgrad/core/ops/activation.hpp>
#include <xgrad/core/ops/product.hpp>
#include <xgrad/core/ops/reduction.hpp>

#include "checks.hpp"

using namespace opcheck;

namespace {

V ones(const Shape& shape) { return {xgrad::ones<double>(shape), true}; }

}  // namespace

TEST(Linear, LIN_01_NoRows) {
  const V x = ones({0, 3}), w = ones({2, 3}), b = leaf({1, 2});
  const V y = xgrad::linear(x, w, b);
  EXPECT_EQ(y.shape(), Shape({0, 2}));
  y.backward(xgrad::zeros<double>({0, 2}));
  EXPECT_EQ(x.grad().shape(), Shape({0, 3}));
  expect_array(w.grad(), xgrad::zeros<double>({2, 3}));
  expect_array(b.grad(), {0, 0});
}

TEST(Linear, LIN_01_NoInnerSize) {
  const V x = ones({3, 0}), w = ones({2, 0}), b = leaf({1, 2});
  const V y = xgrad::linear(x, w, b);
  expect_array(y.value(), array({1, 2, 1, 2, 1, 2}, {3, 2}));
  y.backward(xgrad::ones<double>({3, 2}));
  EXPECT_EQ(x.grad().shape(), Shape({3, 0}));
  EXPECT_EQ(w.grad().shape(), Shape({2, 0}));
  expect_array(b.grad(), {3, 3});
}

TEST(Linear, LIN_02_BiasSumsOverBothLeadingAxes) {
  const V x = ones({2, 3, 4}), w = ones({5, 4}), b = leaf({0, 1, 2, 3, 4});
  const V y = xgrad::linear(x, w, b);
  auto dy = xgrad::zeros<double>({2, 3, 5});
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t t = 0; t < 3; ++t)
      for (std::size_t j = 0; j < 5; ++j) {
        EXPECT_EQ(y.value()(n, t, j), 4 + static_cast<double>(j));
        dy(n, t, j) = static_cast<double>(t) + 1;
      }
  y.backward(dy);
  expect_array(b.grad(), {12, 12, 12, 12, 12});
  expect_array(w.grad(), xgrad::full<double>({5, 4}, 12));
  for (std::size_t t = 0; t < 3; ++t) EXPECT_EQ(x.grad()(1, t, 3), 5 * (static_cast<double>(t) + 1));
}

TEST(Linear, FirstLayerOnDataCostsTwoProducts) {
  const V data(xgrad::ones<double>({4, 3, 8})), hidden = ones({16, 8}), out = ones({2, 16}), b = ones({16});
  const auto products_of = [&](const auto& f) {
    const std::uint64_t before = xgrad::products();
    xgrad::sum(f()).backward();
    return xgrad::products() - before;
  };
  EXPECT_EQ(products_of([&] { return xgrad::linear(data, hidden, b); }), 2u);
  EXPECT_EQ(products_of([&] { return xgrad::linear(xgrad::relu(xgrad::linear(data, hidden, b)), out); }), 5u);
  EXPECT_EQ(products_of([&] { return xgrad::matmul(data, hidden, false, true); }), 2u);
  EXPECT_EQ(products_of([&] { return xgrad::linear(ones({4, 3, 8}), hidden.detach()); }), 2u);
}

TEST(Linear, Errors) {
  const V x = ones({2, 4}), w = ones({3, 5});
  expect_error<xgrad::ShapeError>(
      [&] { xgrad::linear(x, w); },
      "[linear] the last axis of the input must be 5, since the weight is (3, 5), but the input is (2, 4)");
  expect_error<xgrad::ShapeError>([&] { xgrad::linear(V(2), w); },
                                  "[linear] the last axis of the input must be 5, since the weight is (3, 5), but the "
                                  "input is ()");
  expect_error<xgrad::ShapeError>([&] { xgrad::linear(x, ones({4})); },
                                  "[linear] the weight must be (out, in) but has shape (4,)");
  expect_error<xgrad::ShapeError>(
      [&] {
        xgrad::linear(x, ones({3, 4}), ones({4}));
      },
      "[linear] the bias must have shape (3,) but has shape (4,)");
  expect_error<xgrad::ShapeError>(
      [&] {
        xgrad::linear(x, ones({3, 4}), ones({1, 3}));
      },
      "[linear] the bias must have shape (3,) but has shape (1, 3)");
}

TEST(Matmul, Errors) {
  expect_error<xgrad::ShapeError>(
      [&] {
        xgrad::matmul(ones({4, 6}), ones({4, 3}));
      },
      "[matmul] inner sizes differ: lhs (4, 6) x rhs (4, 3), 6 vs 4");
  EXPECT_THROW(xgrad::matmul(ones({}), ones({4, 3})), xgrad::ShapeError);
  EXPECT_THROW(xgrad::matmul(ones({4}), ones({4, 3}), true), xgrad::ShapeError);
  EXPECT_THROW(xgrad::matmul(ones({2, 3, 4}), ones({3, 4, 2})), xgrad::ShapeError);
}

TEST(Matmul, WhatIsNotNeededIsNotKept) {
  // Only the weight wants a gradient, so the weight itself is not saved and may change before backward.
  V w = ones({3, 2});
  const V y = xgrad::matmul(V(xgrad::ones<double>({4, 3})), w);
  w.mutate([](Array<double>& a) { a.fill(7); });
  y.backward(xgrad::ones<double>({4, 2}));
  expect_array(w.grad(), xgrad::full<double>({3, 2}, 4));
}
