#include <xgrad/core/backward.hpp>
#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/ops/softmax.hpp>
#include <xgrad/core/testing.hpp>
#include <xgrad/layers/loss.hpp>

#include "core/kernels/reference.hpp"
#include "throws.hpp"

namespace {

using reference::expect_numbers;
using reference::kInf;
using reference::kNaN;
using reference::sample;
using xgrad::CrossEntropyOptions;
using xgrad::Index;
using xgrad::Reduction;
using xgrad::Shape;
using xgrad::Variable;
using V = Variable<double>;

constexpr std::int64_t kIgnored = -100;

Index classes(const std::vector<std::int64_t>& numbers) { return xgrad::from(numbers); }

CrossEntropyOptions options(Reduction reduction, double smoothing = 0, const std::vector<double>& weights = {}) {
  CrossEntropyOptions o;
  o.reduction = reduction;
  o.label_smoothing = smoothing;
  o.weights = weights;
  return o;
}

TEST(CrossEntropy, KnownNumbers) {
  const V x(xgrad::from<double>({0, 0, 0, std::log(3)}, {2, 2}), true);
  const auto c = classes({0, 1});
  expect_numbers(xgrad::cross_entropy(x, c, {Reduction::none}).value(), {std::log(2), -std::log(0.75)}, 1e-15);
  EXPECT_NEAR(xgrad::cross_entropy(x, c, {Reduction::sum}).item(), std::log(2) - std::log(0.75), 1e-15);
  EXPECT_NEAR(xgrad::cross_entropy(x, c).item(), (std::log(2) - std::log(0.75)) / 2, 1e-15);
  xgrad::cross_entropy(x, c).backward();
  expect_numbers(x.grad(), {-0.25, 0.25, 0.125, -0.125}, 1e-14);
}

TEST(CrossEntropy, ACT_04_HugeLogits) {
  V x(xgrad::from<double>({0, -1e7}, {1, 2}), true);
  const auto y = xgrad::cross_entropy(x, classes({1}));
  EXPECT_EQ(y.item(), 1e7);
  y.backward();
  expect_numbers(x.grad(), {1, -1}, 0);

  const auto loss = [](const std::vector<double>& row, std::int64_t c) {
    return xgrad::cross_entropy(V(xgrad::from(row, {1, row.size()})), classes({c})).item();
  };
  const auto near = [](double got, double want, double abs = 0) {
    EXPECT_TRUE(reference::close(got, want, 1e-14, abs)) << got << " and not " << want;
  };
  near(loss({1e8, 1e8}, 0), 0.6931471805599453);
  near(loss({1e8, 1e8}, 1), 0.6931471805599453);
  near(loss({1000, 0}, 0), 0);
  near(loss({1000, 0}, 1), 1000);
  near(loss({710, 710, 0}, 1), 0.6931471805599453);
  near(loss({710, 710, 0}, 2), 710.6931471805599);
  near(loss({-1000, -1001}, 0), 0.3132616875182228);
  near(loss({-1000, -1001}, 1), 1.313261687518223);
  near(loss({-5.2040, 7.8325}, 0), 13.03650217931252);
  near(loss({-5.2040, 7.8325}, 1), 2.179312517909411e-6, 1e-15);
  near(loss({88.72284}, 0), 0);
  const Variable<float> narrow(xgrad::from<float>({88.72284f, 1e8f}, {2, 1}));
  EXPECT_EQ(xgrad::cross_entropy(narrow, classes({0, 0})).item(), 0);
}

TEST(CrossEntropy, ACT_06_IgnoredRows) {
  V x(xgrad::from<double>({0, 0, 0, std::log(3)}, {2, 2}), true);
  const auto y = xgrad::cross_entropy(x, classes({kIgnored, 1}));
  EXPECT_NEAR(y.item(), 0.2876820724517809, 3e-15);
  y.backward();
  expect_numbers(x.grad(), {0, 0, 0.25, -0.25}, 1e-14);

  CrossEntropyOptions o;
  o.ignore_index = 0;  // a class may be the one to ignore
  EXPECT_NEAR(xgrad::cross_entropy(x, classes({0, 1}), o).item(), 0.2876820724517809, 3e-15);
}

TEST(CrossEntropy, ACT_06_AllIgnored) {
  for (const Reduction r : {Reduction::mean, Reduction::sum}) {
    V x(xgrad::from<double>({kNaN, 0, 0, kInf}, {2, 2}), true);
    const auto y = xgrad::cross_entropy(x, classes({kIgnored, kIgnored}), {r});
    EXPECT_EQ(y.item(), 0);
    y.backward();
    expect_numbers(x.grad(), {0, 0, 0, 0}, 0);
  }
  V none(xgrad::zeros<double>({0, 2}), true);
  const auto y = xgrad::cross_entropy(none, Index(Shape{0}));
  EXPECT_EQ(y.item(), 0);
  y.backward();
  EXPECT_EQ(none.grad().shape(), (Shape{0, 2}));
}

TEST(CrossEntropy, ACT_06_InvalidClasses) {
  const V x(xgrad::zeros<double>({2, 2}));
  EXPECT_THROWS(xgrad::ShapeError, xgrad::cross_entropy(x, classes({0, -4})),
                "[cross_entropy] classes must be in [0, 2) or -100 (ignored) but the class of row 1 is -4");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::cross_entropy(x, classes({2, 0})), "the class of row 0 is 2");
}

// The definition, entry by entry: PyTorch's documentation of CrossEntropyLoss, with classes last.
double defined(const xgrad::Array<double>& x, const Index& c, const CrossEntropyOptions& o) {
  const std::size_t width = x.shape().back();
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (c.data()[i] == o.ignore_index) continue;
    double total = 0;
    for (std::size_t k = 0; k < width; ++k) total += std::exp(x.data()[i * width + k]);
    for (std::size_t k = 0; k < width; ++k) {
      const double w = o.weights.empty() ? 1 : o.weights[k];
      const double target = (static_cast<std::int64_t>(k) == c.data()[i] ? 1 - o.label_smoothing : 0) +
                            o.label_smoothing / static_cast<double>(width);
      sum -= target * w * std::log(std::exp(x.data()[i * width + k]) / total);
    }
    weight += o.weights.empty() ? 1 : o.weights[static_cast<std::size_t>(c.data()[i])];
  }
  return o.reduction == Reduction::mean ? sum / weight : sum;
}

std::vector<CrossEntropyOptions> variants() {
  const std::vector<double> weights = {0.5, 2, 0, 1.25};
  std::vector<CrossEntropyOptions> all;
  for (const Reduction r : {Reduction::mean, Reduction::sum, Reduction::none})
    for (const double s : {0.0, 0.1, 1.0}) {
      all.push_back(options(r, s));
      all.push_back(options(r, s, weights));
    }
  return all;
}

TEST(CrossEntropy, WeightsAndSmoothing) {
  const auto x = sample<double>({2, 3, 4}, 1, -3, 3);
  const auto c = xgrad::from<std::int64_t>({0, 3, kIgnored, 1, 2, 1}, {2, 3});
  for (const auto& o : variants()) {
    const auto y = xgrad::cross_entropy(V(x), c, o);
    EXPECT_EQ(y.shape(), o.reduction == Reduction::none ? (Shape{2, 3}) : Shape{});
    EXPECT_NEAR(xgrad::sum(y).item(), defined(x, c, o), 1e-13);
    EXPECT_NEAR(xgrad::sum(xgrad::cross_entropy(Variable<float>(xgrad::from<float>(x)), c, o)).item(), defined(x, c, o),
                1e-5);
  }
}

TEST(CrossEntropy, Gradients) {
  const auto x = sample<double>({2, 3, 4}, 1, -3, 3);
  const auto c = xgrad::from<std::int64_t>({0, 3, kIgnored, 1, 2, 1}, {2, 3});
  for (const auto& o : variants()) {
    const auto f = [&](const V& v) { return xgrad::cross_entropy(v, c, o); };
    EXPECT_TRUE(xgrad::testing::gradients_match(f, x));
    EXPECT_TRUE(xgrad::testing::second_gradients_match(f, x));
  }
}

template <class T>
void compare_with_plain(std::size_t rows, std::size_t width, double tolerance) {
  const Variable<T> x(sample<T>({rows, width}, 1), true);
  xgrad::Rng rng(2);
  const Index c = rng.integers(0, static_cast<std::int64_t>(width), {rows});
  auto chosen = xgrad::zeros<T>({rows, width});
  for (std::size_t i = 0; i < rows; ++i) chosen(i, static_cast<std::size_t>(c(i))) = T(1);
  const auto fused = xgrad::cross_entropy(x, c),
             plain = -xgrad::sum(xgrad::log_softmax(x) * chosen) / static_cast<T>(rows);
  EXPECT_NEAR(fused.item(), plain.item(), tolerance * 10);
  xgrad::GradOptions keep;
  keep.retain_graph = true;
  const auto by_kernel = xgrad::grad(fused, x, keep), by_plain = xgrad::grad(plain, x, keep);
  keep.create_graph = true;
  const auto by_twin = xgrad::grad(fused, x, keep);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(by_kernel.value().data()[i], by_plain.value().data()[i], tolerance) << rows << " x " << width;
    ASSERT_NEAR(by_twin.value().data()[i], by_plain.value().data()[i], tolerance) << rows << " x " << width;
  }
}

TEST(CrossEntropy, KernelAgreesWithPlainOps) {
  for (const std::size_t rows : {1, 3, 17})
    for (const std::size_t width : {1, 2, 7, 17, 1023}) {
      compare_with_plain<double>(rows, width, 1e-15);
      compare_with_plain<float>(rows, width, 5e-7);
    }
  compare_with_plain<double>(1023, 3, 1e-15);
}

TEST(CrossEntropy, MaskedLogits) {
  // A class that is out of the question has no influence; a row of none has an infinite loss and zero gradient.
  V x(xgrad::from<double>({0, -kInf, 0, -kInf, -kInf, -kInf}, {2, 3}), true);
  const auto y = xgrad::cross_entropy(x, classes({0, 1}), {Reduction::none});
  expect_numbers(y.value(), {std::log(2), kInf}, 1e-15);
  y.backward(xgrad::ones<double>({2}));
  expect_numbers(x.grad(), {-0.5, 0, 0.5, 0, 0, 0}, 1e-15);

  xgrad::GradOptions graph;
  graph.create_graph = true;
  const V first(xgrad::from<double>({0, -kInf, 0}, {1, 3}), true);
  const auto g = xgrad::grad(xgrad::cross_entropy(first, classes({0})), first, graph);
  expect_numbers(g.value(), {-0.5, 0, 0.5}, 1e-15);
}

TEST(CrossEntropy, IgnoredNaNHasNoInfluenceInARecordedPass) {
  const V x(xgrad::from<double>({kNaN, 0, 0, std::log(3)}, {2, 2}), true);
  xgrad::GradOptions graph;
  graph.create_graph = true;
  const auto g = xgrad::grad(xgrad::cross_entropy(x, classes({kIgnored, 1})), x, graph);
  expect_numbers(g.value(), {0, 0, 0.25, -0.25}, 1e-14);
}

TEST(CrossEntropy, NaNIsNotHidden) {
  for (const std::size_t at : {0, 1, 2}) {
    auto numbers = xgrad::from<double>({5, 6, 7}, {1, 3});
    numbers.data()[at] = kNaN;
    const V x(numbers, true);
    for (const std::int64_t c : {0, 1, 2})
      EXPECT_TRUE(std::isnan(xgrad::cross_entropy(x, classes({c})).item())) << at << c;
    xgrad::cross_entropy(x, classes({1})).backward();
    EXPECT_TRUE(std::isnan(x.grad().data()[0]));
  }
}

TEST(CrossEntropy, Errors) {
  const V x(xgrad::zeros<double>({2, 3}));
  const auto c = classes({0, 1});
  EXPECT_THROWS(xgrad::ShapeError, xgrad::cross_entropy(V(1.0), c),
                "[cross_entropy] logits need an axis of classes but are 0-d");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::cross_entropy(x, classes({0})),
                "[cross_entropy] classes must have shape (2,) but has shape (1,)");
  for (const double s : {-0.1, 1.1, kNaN})
    EXPECT_THROWS(std::invalid_argument, xgrad::cross_entropy(x, c, options(Reduction::mean, s)),
                  "[cross_entropy] label_smoothing must be in [0, 1] but is ");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::cross_entropy(x, c, options(Reduction::mean, 0, {1, 2})),
                "[cross_entropy] needs one weight for each of 3 classes but got 2");
  EXPECT_THROWS(std::invalid_argument, xgrad::cross_entropy(x, c, options(Reduction::mean, 0, {1, -2, 1})),
                "[cross_entropy] weights must be finite and not negative but weights[1] is -2");
}

}  // namespace
