#include <xgrad/layers/embedding.hpp>

#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/testing.hpp>
#include <xgrad/layers/linear.hpp>

#include "core/kernels/reference.hpp"
#include "throws.hpp"

namespace {

using reference::expect_numbers;
using reference::sample;
using xgrad::Embedding;
using xgrad::Index;
using xgrad::Rng;
using xgrad::Shape;
using xgrad::Variable;

TEST(Embedding, AG_05_RepeatedIdsAddUp) {
  Rng rng(1);
  Embedding<double> table(5, 2, rng);
  const auto y = table(xgrad::from<std::int64_t>({0, 4, 2, 2, 4}));
  EXPECT_EQ(y.shape(), (Shape{5, 2}));
  for (std::size_t j = 0; j < 2; ++j) EXPECT_EQ(y.value()(1, j), table.weight.value()(4, j));
  y.backward(xgrad::from<double>({1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, {5, 2}));
  expect_numbers(table.weight.grad(), {1, 1, 0, 0, 7, 7, 0, 0, 7, 7}, 1e-15);
}

TEST(Embedding, AG_05_InvalidIds) {
  Rng rng(1);
  Embedding<double> table(5, 2, rng);
  EXPECT_THROWS(xgrad::ShapeError, table(xgrad::from<std::int64_t>({0, -1})), "position 1 holds -1");
  EXPECT_THROWS(xgrad::ShapeError, table(xgrad::from<std::int64_t>({0, 1, 5})), "position 2 holds 5");
}

TEST(Embedding, AG_05_NoIds) {
  Rng rng(1);
  Embedding<double> table(5, 2, rng);
  const auto y = table(Index(Shape{0}));
  EXPECT_EQ(y.shape(), (Shape{0, 2}));
  y.backward(xgrad::zeros<double>({0, 2}));
  EXPECT_TRUE(xgrad::array_equal(table.weight.grad(), xgrad::zeros<double>({5, 2})));
}

TEST(Embedding, AnyShapeOfIds) {
  Rng rng(1);
  Embedding<float> table(5, 3, rng);
  EXPECT_EQ(table(xgrad::from<std::int64_t>({0, 1, 2, 3, 4, 0}, {2, 3})).shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(table(xgrad::full<std::int64_t>({}, 4)).shape(), (Shape{3}));
}

TEST(Embedding, StartsNormal) {
  Rng rng(2);
  Embedding<double> table(100, 100, rng);
  double sum = 0, squares = 0;
  for (const double w : table.weight.value()) sum += w, squares += w * w;
  EXPECT_NEAR(sum / 1e4, 0, 0.05);
  EXPECT_NEAR(squares / 1e4, 1, 0.07);
  xgrad::EmbeddingOptions o;
  o.count = 2;
  o.features = 3;
  o.init = xgrad::init::constant(4);
  EXPECT_TRUE(xgrad::array_equal(Embedding<double>(o, rng).weight.value(), xgrad::full<double>({2, 3}, 4.0)));
}

/// A table whose rows are also the weight of the output layer.
struct Tied : xgrad::Module<double> {
  Tied(Rng& rng) : table(5, 3, rng), output(3, 5, rng) { output.weight = table.weight; }
  Variable<double> operator()(const Index& ids) { return output(table(ids)); }
  void visit(xgrad::Visitor<double>& v) override {
    v("table", table);
    v("output", output);
  }
  Embedding<double> table;
  xgrad::Linear<double> output;
};

TEST(Embedding, TiedWeightGetsBothGradients) {
  Rng rng(3);
  Tied model(rng);
  const auto ids = xgrad::from<std::int64_t>({1, 3, 1});
  const auto seed = sample<double>({3, 5}, 4);
  model(ids).backward(seed);

  // The same with two weights of equal numbers, each with its own gradient.
  Embedding<double> table(5, 3, rng);
  xgrad::Linear<double> output(3, 5, rng);
  table.weight.mutate([&](auto& w) { w = model.table.weight.value(); });
  output.weight.mutate([&](auto& w) { w = model.table.weight.value(); });
  output(table(ids)).backward(seed);
  for (std::size_t i = 0; i < 15; ++i)
    EXPECT_NEAR(model.table.weight.grad().data()[i], table.weight.grad().data()[i] + output.weight.grad().data()[i],
                1e-14);

  const auto named = model.named_parameters();
  ASSERT_EQ(named.size(), 2u);
  EXPECT_EQ(named[0].first, "table.weight");
  EXPECT_EQ(named[1].first, "output.bias");
  EXPECT_EQ(model.count(), 20u);
}

TEST(Embedding, AsLinear) {
  Rng rng(3);
  Embedding<double> table(5, 3, rng);
  const auto ids = xgrad::from<std::int64_t>({1, 3, 1});
  EXPECT_TRUE(xgrad::array_equal(table.as_linear(table(ids)).value(), [&] {
    xgrad::LinearOptions o;
    o.in = 3;
    o.out = 5;
    o.bias = false;
    xgrad::Linear<double> linear(o, rng);
    linear.weight = table.weight;
    return linear(table(ids)).value();
  }()));
  EXPECT_TRUE(xgrad::testing::gradients_match(
      table, [&](const auto& x) { return table.as_linear(x * table(ids)); }, sample<double>({3, 3}, 5)));
}

TEST(Embedding, Contract) {
  Rng rng(6);
  Embedding<double> table(4, 3, rng);
  const auto ids = xgrad::from<std::int64_t>({1, 3, 1, 0, 2}, {5});
  const auto call = [&](const auto& x) { return table(ids) * x; };
  EXPECT_TRUE(xgrad::testing::layer_contract(table, call, sample<double>({5, 3}, 7)));
  EXPECT_TRUE(xgrad::testing::second_gradients_match(table, call, sample<double>({5, 3}, 7)));
}

TEST(Embedding, Errors) {
  Rng rng(1);
  EXPECT_THROWS(std::invalid_argument, Embedding<double>(0, 3, rng),
                "[Embedding] count and features must be at least 1 but are 0 and 3");
  Embedding<double> table(4, 3, rng);
  EXPECT_THROWS(xgrad::ShapeError, table.as_linear(xgrad::zeros<double>({2, 4})),
                "[Embedding] last axis must be 3 but input is (2, 4)");
}

}  // namespace
