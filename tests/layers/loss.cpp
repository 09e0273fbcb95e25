#include <xgrad/layers/loss.hpp>

#include <xgrad/core/backward.hpp>
#include <xgrad/core/ops/activation.hpp>
#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/ops/select.hpp>
#include <xgrad/core/testing.hpp>

#include <functional>

#include "core/kernels/reference.hpp"
#include "throws.hpp"

namespace {

using reference::expect_numbers;
using reference::kInf;
using reference::kNaN;
using reference::sample;
using xgrad::Array;
using xgrad::Reduction;
using xgrad::Shape;
using xgrad::Variable;
using V = Variable<double>;

constexpr Reduction kReductions[] = {Reduction::mean, Reduction::sum, Reduction::none};

/// The losses with one signature, and the same in plain ops before the reduction.
template <class T>
struct Loss {
  const char* name;
  std::function<Variable<T>(const Variable<T>&, const Variable<T>&, Reduction)> fused;
  std::function<Variable<T>(const Variable<T>&, const Variable<T>&)> plain;
};

template <class T>
std::vector<Loss<T>> losses() {
  using W = Variable<T>;
  const std::vector<double> weights = {0.5, 2, 3};
  return {
      {"mse_loss", [](const W& x, const W& t, Reduction r) { return xgrad::mse_loss(x, t, r); },
       [](const W& x, const W& t) { return (x - t) * (x - t); }},
      {"l1_loss", [](const W& x, const W& t, Reduction r) { return xgrad::l1_loss(x, t, r); },
       [](const W& x, const W& t) { return xgrad::abs(x - t); }},
      {"huber_loss", [](const W& x, const W& t, Reduction r) { return xgrad::huber_loss(x, t, r, 0.7); },
       [](const W& x, const W& t) {
         const W d = xgrad::abs(x - t), held = xgrad::minimum(d, T(0.7));
         return held * (d - T(0.5) * held);
       }},
      {"bce_with_logits", [](const W& x, const W& t, Reduction r) { return xgrad::bce_with_logits(x, t, r); },
       [](const W& x, const W& t) {
         const W s = xgrad::sigmoid(x);
         return -t * xgrad::log(s) - (T(1) - t) * xgrad::log(T(1) - s);
       }},
      {"bce_with_logits", [=](const W& x, const W& t, Reduction r) { return xgrad::bce_with_logits(x, t, r, weights); },
       [=](const W& x, const W& t) {
         const W s = xgrad::sigmoid(x), w(xgrad::from<T>(xgrad::from(weights)));
         return -w * t * xgrad::log(s) - (T(1) - t) * xgrad::log(T(1) - s);
       }},
  };
}

template <class T>
Variable<T> reduced(const Variable<T>& x, Reduction r) {
  return r == Reduction::none ? x : r == Reduction::sum ? xgrad::sum(x) : xgrad::mean(x);
}

template <class T>
class LossTyped : public ::testing::Test {};
TYPED_TEST_SUITE(LossTyped, reference::Types, );

TYPED_TEST(LossTyped, AgreeWithPlainOps) {
  using T = TypeParam;
  const double tolerance = std::is_same_v<T, float> ? 4e-6 : 1e-13;
  for (const auto& loss : losses<T>())
    for (const Reduction r : kReductions)
      for (const std::size_t rows : {1, 7, 17, 1023}) {
        const Variable<T> x(sample<T>({rows, 3}, 1), true), t(sample<T>({rows, 3}, 2, 0, 1), true);
        const auto fused = loss.fused(x, t, r), plain = reduced(loss.plain(x, t), r);
        ASSERT_EQ(fused.shape(), plain.shape());
        const Variable<T> seed(sample<T>(plain.shape(), 3));
        xgrad::GradOptions keep;
        keep.retain_graph = true;
        const auto by_kernel = xgrad::grad({fused}, {x, t}, keep, {seed});
        const auto by_plain = xgrad::grad({plain}, {x, t}, keep, {seed});
        keep.create_graph = true;
        const auto by_twin = xgrad::grad({fused}, {x, t}, keep, {seed});
        const auto near = [&](const Variable<T>& a, const Variable<T>& b, const char* what) {
          double scale = 1e-3;
          for (const T v : b.value()) scale = std::max(scale, std::abs(static_cast<double>(v)));
          for (std::size_t i = 0; i < b.size(); ++i)
            ASSERT_NEAR(a.value().data()[i], b.value().data()[i], tolerance * scale) << loss.name << ' ' << what;
        };
        near(fused, plain, "value");
        for (std::size_t i = 0; i < 2; ++i) {
          near(by_kernel[i], by_plain[i], "kernel gradient");
          near(by_twin[i], by_plain[i], "twin gradient");
        }
      }
}

TEST(Loss, Gradients) {
  for (const auto& loss : losses<double>())
    for (const Reduction r : kReductions) {
      const auto f = [&](const V& x, const V& t) { return loss.fused(x, t, r); };
      const auto x = sample<double>({2, 5, 3}, 4), t = sample<double>({2, 5, 3}, 5, 0, 1);
      EXPECT_TRUE(xgrad::testing::gradients_match(f, {x, t})) << loss.name;
      EXPECT_TRUE(xgrad::testing::second_gradients_match(f, {x, t})) << loss.name;
    }
}

TEST(Loss, KnownNumbers) {
  const V x(xgrad::from<double>({1, 2, -3}), true);
  const auto t = xgrad::from<double>({1, 0, 1});  // differences 0, 2, -4
  EXPECT_DOUBLE_EQ(xgrad::mse_loss(x, t).item(), 20.0 / 3);
  EXPECT_DOUBLE_EQ(xgrad::mse_loss(x, t, Reduction::sum).item(), 20);
  expect_numbers(xgrad::mse_loss(x, t, Reduction::none).value(), {0, 4, 16}, 0);
  EXPECT_DOUBLE_EQ(xgrad::l1_loss(x, t).item(), 2);
  EXPECT_DOUBLE_EQ(xgrad::huber_loss(x, t, Reduction::sum).item(), 1.5 + 3.5);
  EXPECT_DOUBLE_EQ(xgrad::huber_loss(x, t, Reduction::sum, 3).item(), 2 + 7.5);
  EXPECT_DOUBLE_EQ(xgrad::bce_with_logits(V(0.0), 1).item(), std::log(2));
  xgrad::mse_loss(x, t).backward();
  expect_numbers(x.grad(), {0, 4.0 / 3, -8.0 / 3}, 1e-15);
}

TEST(Loss, TargetsOfManyKinds) {
  const V x(xgrad::from<double>({1, 2}), true);
  const auto t = xgrad::from<double>({1, 0});
  EXPECT_EQ(xgrad::mse_loss(x, t).item(), 2);
  EXPECT_EQ(xgrad::mse_loss(x, V(t)).item(), 2);
  EXPECT_EQ(xgrad::mse_loss(x, t * 1.0).item(), 2);  // a lazy expression
  EXPECT_EQ(xgrad::mse_loss(xgrad::sum(x), 1).item(), 4);
}

TEST(Loss, ACT_08_EqualShapesDemanded) {
  const V x(xgrad::from<double>({1, 2, 3}), true);
  const auto t = xgrad::from<double>({1, 2, 3}, {3, 1});
  EXPECT_THROWS(xgrad::ShapeError, xgrad::mse_loss(x, t),
                "[mse_loss] the target must have shape (3,) but has shape (3, 1)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::l1_loss(x, t),
                "[l1_loss] the target must have shape (3,) but has shape (3, 1)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::huber_loss(x, t),
                "[huber_loss] the target must have shape (3,) but has shape (3, 1)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::bce_with_logits(x, t),
                "[bce_with_logits] the target must have shape (3,) but has shape (3, 1)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::mse_loss(x, 1),
                "[mse_loss] the target must have shape (3,) but has shape ()");
  EXPECT_EQ(xgrad::mse_loss(x, x.detach()).item(), 0);
}

TEST(Loss, OtherErrors) {
  const V x(xgrad::from<double>({1, 2, 3})), none(xgrad::zeros<double>({0, 3}), true);
  for (const double delta : {0.0, -1.0, kNaN, kInf})
    EXPECT_THROWS(std::invalid_argument, xgrad::huber_loss(x, x, Reduction::mean, delta),
                  "[huber_loss] delta must be finite and above 0 but is ");
  EXPECT_THROWS(
      xgrad::ShapeError, xgrad::bce_with_logits(x, x, Reduction::mean, {1, 2}),
      "[bce_with_logits] pos_weight must have 1 number or one for each entry of the last axis of (3,) but has 2");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::bce_with_logits(V(1.0), 1, Reduction::mean, {1, 2}), "of () but has 2");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::mse_loss(none, none),
                "[mse_loss] the mean needs at least one number but the shape is (0, 3)");
  EXPECT_EQ(xgrad::mse_loss(none, none, Reduction::sum).item(), 0);
  const auto each = xgrad::mse_loss(none, none, Reduction::none);
  EXPECT_EQ(each.shape(), (Shape{0, 3}));
  each.backward(xgrad::zeros<double>({0, 3}));
  EXPECT_EQ(none.grad().shape(), (Shape{0, 3}));
}

TEST(Loss, GradientsAtTheKinks) {
  V x(xgrad::from<double>({1, 2, 0}), true);
  const auto t = xgrad::from<double>({1, 1, 1});  // differences 0, 1 and -1: zero and both ends of huber's parabola
  xgrad::l1_loss(x, t, Reduction::sum).backward();
  expect_numbers(x.grad(), {0, 1, -1}, 0);
  x.zero_grad();
  xgrad::huber_loss(x, t, Reduction::sum).backward();
  expect_numbers(x.grad(), {0, 1, -1}, 0);

  // Huber's second derivative at 0 is that of the parabola.
  xgrad::GradOptions graph;
  graph.create_graph = true;
  const auto g = xgrad::grad(xgrad::huber_loss(x, t, Reduction::sum), x, graph);
  EXPECT_EQ(xgrad::grad(xgrad::sum(g), x).value()(0), 1);
}

TEST(Loss, BceWithHugeLogits) {
  V x(xgrad::from<double>({1000, -1000, 1000, -1000, -40}), true);
  const auto t = xgrad::from<double>({1, 0, 0, 1, 0});
  const auto y = xgrad::bce_with_logits(x, t, Reduction::none);
  expect_numbers(y.value(), {0, 0, 1000, 1000, 4.248354255291589e-18}, 1e-14);
  y.backward(xgrad::ones<double>({5}));
  expect_numbers(x.grad(), {0, 0, 1, -1, 4.248354255291589e-18}, 1e-14);
}

TYPED_TEST(LossTyped, HugeDifferencesHaveTheSameGradientRecorded) {
  using T = TypeParam;
  const T huge = T(0.9) * std::numeric_limits<T>::max();
  for (const Loss<T>& loss : losses<T>()) {
    const Variable<T> x(xgrad::from<T>({huge, -huge, T(1), huge, -huge, T(0)}, {2, 3}), true);
    const Variable<T> t(xgrad::from<T>({T(0.5), T(0), T(0.25), T(1), T(1), T(0)}, {2, 3}));
    for (const Reduction r : kReductions) {
      const Variable<T> y = loss.fused(x, t, r), seed(xgrad::ones<T>(y.shape()));
      const auto ordinary = xgrad::grad({y}, {x}, {false, true}, {seed})[0].value();
      const auto recorded = xgrad::grad({y}, {x}, {true}, {seed})[0].value();
      for (std::size_t i = 0; i < x.size(); ++i) {
        const T want = ordinary.data()[i], got = recorded.data()[i];  // infinite for the squared error
        EXPECT_TRUE(got == want || std::abs(got - want) <= 8 * std::numeric_limits<T>::epsilon())
            << loss.name << ' ' << i << ": " << got << ", not " << want;
      }
    }
  }
}

TEST(Loss, PositiveWeight) {
  const V x(xgrad::from<double>({0, 0, 0, 0}, {2, 2}));
  const auto t = xgrad::from<double>({1, 1, 0, 0}, {2, 2});
  const double l = std::log(2);
  expect_numbers(xgrad::bce_with_logits(x, t, Reduction::none, {3}).value(), {3 * l, 3 * l, l, l}, 1e-15);
  expect_numbers(xgrad::bce_with_logits(x, t, Reduction::none, {3, 5}).value(), {3 * l, 5 * l, l, l}, 1e-15);
}

TEST(Loss, NaNIsNotHidden) {
  for (const auto& loss : losses<double>()) {
    V x(xgrad::from<double>({0.5, kNaN, 0.25}), true);
    const auto y = loss.fused(x, xgrad::from<double>({0, 0, 1}), Reduction::mean);
    EXPECT_TRUE(std::isnan(y.item())) << loss.name;
    y.backward();
    EXPECT_TRUE(std::isnan(x.grad()(1))) << loss.name;
    EXPECT_TRUE(std::isfinite(x.grad()(0))) << loss.name;
  }
}

TEST(Loss, FloatMeanOfManyNumbersKeepsItsDigits) {
  const std::size_t n = 20000000;  // a running float sum would stop at 16,777,216
  const Variable<float> x(xgrad::ones<float>({n}));
  EXPECT_EQ(xgrad::mse_loss(x, xgrad::zeros<float>({n})).item(), 1.0f);
}

}  // namespace
