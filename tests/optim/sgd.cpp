#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>
#include <xgrad/core/arithmetic.hpp>
#include <xgrad/core/random.hpp>
#include <xgrad/optim/sgd.hpp>

namespace {

using xgrad::Array;
using xgrad::SGD;
using xgrad::SGDOptions;
using xgrad::Variable;

/// w after each of three steps from w = 1 at lr 0.1, the gradient being `slope(w)`.
template <class F>
std::vector<double> three_steps(SGDOptions options, F slope) {
  Variable<double> w(xgrad::full<double>({}, 1), true);
  options.lr = 0.1;
  SGD<double> sgd({w}, options);
  std::vector<double> path;
  for (int i = 0; i < 3; ++i) {
    w.set_grad(xgrad::full<double>({}, slope(w.item())));
    sgd.step();
    path.push_back(w.item());
  }
  return path;
}

const auto parabola = [](double w) { return w; };  // the gradient of w^2/2

void expect_path(const std::vector<double>& got, const std::vector<double>& want) {
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-14 * want[i]) << "step " << i + 1;
}

TEST(SGD, OPT_01_Momentum) { expect_path(three_steps({0, 0.9}, parabola), {0.9, 0.72, 0.486}); }

TEST(SGD, OPT_01_Nesterov) { expect_path(three_steps({0, 0.9, 0, 0, true}, parabola), {0.81, 0.5751, 0.327321}); }

TEST(SGD, OPT_01_MomentumWithDecay) { expect_path(three_steps({0, 0.9, 0, 0.1}, parabola), {0.89, 0.6931, 0.439649}); }

TEST(SGD, OPT_01_DecayWithoutMomentum) {
  expect_path(three_steps({0, 0, 0, 0.1}, [](double) { return 0.0; }), {0.99, 0.9801, 0.970299});
}

TEST(SGD, OPT_01_FirstVelocityIsNotDampened) {
  expect_path(three_steps({0, 0.9, 0.5}, [](double) { return 1.0; }), {0.9, 0.76, 0.584});
}

TEST(SGD, Plain) { expect_path(three_steps({}, parabola), {0.9, 0.81, 0.729}); }

/// The published formula, one number at a time in long double.
struct Reference {
  SGDOptions o;
  std::vector<long double> w, v;
  void step(const std::vector<long double>& g, long double lr) {
    const bool first = v.empty();
    if (first) v.resize(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) {
      const long double d = g[i] + o.weight_decay * w[i];
      v[i] = first ? d : o.momentum * v[i] + (1 - o.dampening) * d;
      const long double move = o.momentum == 0 ? d : o.nesterov ? d + o.momentum * v[i] : v[i];
      w[i] -= lr * move;
    }
  }
};

template <class T>
void follows_reference(double tolerance) {
  // A kink-free bowl with a different curvature in each of 35 directions: gradient c * w + 0.1.
  const std::vector<SGDOptions> cases = {
      {}, {0.1, 0, 0, 0.05}, {0.1, 0.9}, {0.1, 0.9, 0.3, 0.01}, {0.1, 0.8, 0, 0.02, true}, {0.1, 1},
  };
  xgrad::Rng rng(7);
  const auto start = rng.normal<double>({5, 7});
  const auto curvature = rng.uniform<double>({5, 7}, 0.1, 2);
  for (const SGDOptions& o : cases) {
    Variable<T> w(xgrad::from<T>(start), true);
    SGD<T> sgd({w}, o);
    Reference reference{o, {start.begin(), start.end()}, {}};
    for (int t = 0; t < 20; ++t) {
      const double lr = 0.1 / (1 + t);  // falls from step to step
      sgd.set_lr(lr);
      EXPECT_EQ(sgd.lr(), lr);
      auto g = xgrad::empty<T>({5, 7});
      std::vector<long double> exact(35);
      for (std::size_t i = 0; i < 35; ++i) {
        g.data()[i] = static_cast<T>(curvature.data()[i]) * w.value().data()[i] + T(0.1);
        exact[i] = curvature.data()[i] * reference.w[i] + 0.1L;
      }
      w.set_grad(std::move(g));
      sgd.step();
      reference.step(exact, lr);
    }
    for (std::size_t i = 0; i < 35; ++i)
      EXPECT_NEAR(w.value().data()[i], static_cast<double>(reference.w[i]), tolerance)
          << "momentum " << o.momentum << ", dampening " << o.dampening << ", decay " << o.weight_decay;
  }
}

TEST(SGD, FollowsTheFormulaInDouble) { follows_reference<double>(1e-13); }
TEST(SGD, FollowsTheFormulaInFloat) { follows_reference<float>(2e-5); }

TEST(SGD, LeavesInfiniteWeightsToTheGradientWithoutDecay) {
  Variable<double> w(xgrad::full<double>({2}, std::numeric_limits<double>::infinity()), true);
  SGD<double> sgd({w});
  w.set_grad(xgrad::ones<double>({2}));
  sgd.step();
  EXPECT_TRUE(std::isinf(w.value()(0)));  // 0 * inf would be NaN
}

TEST(SGD, TakesEmptyParameters) {
  Variable<double> w(xgrad::zeros<double>({0, 3}), true);
  SGD<double> sgd({w}, {0.1, 0.9});
  w.set_grad(xgrad::zeros<double>({0, 3}));
  sgd.step();
  sgd.step();
  EXPECT_EQ(w.shape(), (xgrad::Shape{0, 3}));
}

/// The message of the exception that making an SGD with these options throws.
std::string refusal(const SGDOptions& options) {
  try {
    SGD<double>({Variable<double>(xgrad::ones<double>({2}), true)}, options);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

TEST(SGD, RefusesImpossibleOptions) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal({-0.1}), "[SGD] lr must be finite and >= 0 but is -0.1");
  EXPECT_EQ(refusal({nan}), "[SGD] lr must be finite and >= 0 but is nan");
  EXPECT_EQ(refusal({inf}), "[SGD] lr must be finite and >= 0 but is inf");
  EXPECT_EQ(refusal({0.1, -0.5}), "[SGD] momentum must be in [0, 1] but is -0.5");
  EXPECT_EQ(refusal({0.1, 1.5}), "[SGD] momentum must be in [0, 1] but is 1.5");
  EXPECT_EQ(refusal({0.1, nan}), "[SGD] momentum must be in [0, 1] but is nan");
  EXPECT_EQ(refusal({0.1, 0.9, 2}), "[SGD] dampening must be in [0, 1] but is 2");
  EXPECT_EQ(refusal({0.1, 0, 0, -1}), "[SGD] weight_decay must be finite and >= 0 but is -1");
  EXPECT_EQ(refusal({0.1, 0, 0, inf}), "[SGD] weight_decay must be finite and >= 0 but is inf");
  const char* nesterov = "[SGD] nesterov needs momentum > 0 and dampening = 0 but they are ";
  EXPECT_EQ(refusal({0.1, 0, 0, 0, true}), nesterov + std::string("0 and 0"));
  EXPECT_EQ(refusal({0.1, 0.9, 0.1, 0, true}), nesterov + std::string("0.9 and 0.1"));
  EXPECT_EQ(refusal({0, 0, 0, 0}), "accepted");
}

}  // namespace
