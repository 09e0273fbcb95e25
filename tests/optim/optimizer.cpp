#include <gtest/gtest.h>

#include <cmath>
#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/arithmetic.hpp>
#include <xgrad/optim/sgd.hpp>

namespace {

using V = xgrad::Variable<double>;
using Parameters = std::vector<V>;
using xgrad::SGD;

V leaf(double value, const xgrad::Shape& shape = {2}) { return {xgrad::full<double>(shape, value), true}; }
V total(const V& x) { return xgrad::sum_to(x, {}); }

template <class E, class F>
std::string message(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing thrown";
}

TEST(Optimizer, SkipsParametersWithoutGradient) {
  V used = leaf(1), unused = leaf(1);
  SGD<double> sgd({used, unused}, {0.5, 0.9, 0, 0.1});
  total(used).backward();
  sgd.step();
  EXPECT_DOUBLE_EQ(used.value()(0), 1 - 0.5 * 1.1);
  EXPECT_EQ(unused.value()(0), 1);  // not even decayed
}

TEST(Optimizer, AStepWithoutAnyGradientIsRefused) {
  V a = leaf(1), b = leaf(1);
  SGD<double> sgd({a, b}, {0.5});
  const auto text = [&] { return message<xgrad::GraphError>([&] { sgd.step(); }); };
  const std::string want =
      "[SGD] no parameter has a gradient; call backward() between zero_grad() and step(), on a loss that is computed "
      "from this optimizer's parameters";
  EXPECT_EQ(text(), want);
  total(a).backward();
  sgd.zero_grad();
  EXPECT_EQ(text(), want);
  total(a).backward();
  a.set_requires_grad(false);
  EXPECT_EQ(text(), want);
  EXPECT_EQ(a.value()(0), 1);
}

TEST(Optimizer, NoGradientOfAnotherShapeGetsIntoAStep) {
  V x = leaf(1, {5});
  total(x).backward();
  SGD<double> sgd({x}, {1.0});
  const auto text =
      message<xgrad::ShapeError>([&] { x.mutate_grad([](xgrad::Array<double>& g) { g = xgrad::ones<double>({1}); }); });
  EXPECT_EQ(text.substr(0, 67), "[mutate_grad] the changed array must have shape (5,) but has shape ") << text;
  ASSERT_EQ(x.grad().shape(), x.shape());
  sgd.step();
  for (const double w : x.value()) EXPECT_TRUE(std::isnan(w));
}

TEST(Optimizer, SkippedParametersStartTheirMomentumLater) {
  V a = leaf(1), b = leaf(1);
  SGD<double> sgd({a, b}, {0.1, 0.9, 0.5});
  total(a).backward();
  sgd.step();
  sgd.zero_grad();
  total(b).backward();
  sgd.step();  // the first update of b: its velocity is the plain gradient
  EXPECT_DOUBLE_EQ(a.value()(0), 0.9);
  EXPECT_DOUBLE_EQ(b.value()(0), 0.9);
}

TEST(Optimizer, SkipsFrozenParameters) {
  V w = leaf(1), other = leaf(1);
  SGD<double> sgd({w, other}, {0.1, 0, 0, 0.1});
  total(w + other).backward();
  w.set_requires_grad(false);
  sgd.step();
  EXPECT_EQ(w.value()(0), 1);
  EXPECT_NE(other.value()(0), 1);
  w.set_requires_grad(true);
  w.set_grad(xgrad::ones<double>({2}));
  sgd.step();
  EXPECT_NE(w.value()(0), 1);
}

TEST(Optimizer, CountsASharedParameterOnce) {
  V w = leaf(1);
  SGD<double> sgd({w, leaf(0), w}, {0.1});
  EXPECT_EQ(sgd.parameters().size(), 2u);
  total(w).backward();
  sgd.step();
  EXPECT_DOUBLE_EQ(w.value()(0), 0.9);
}

TEST(Optimizer, ZeroGradDropsGradients) {
  V w = leaf(1);
  SGD<double> sgd({w}, {0.1});
  total(w).backward();
  total(w).backward();
  EXPECT_EQ(w.grad()(0), 2);
  sgd.zero_grad();
  EXPECT_FALSE(w.has_grad());
}

TEST(Optimizer, StepBeforeBackwardIsAnErrorAndNotAWrongNumber) {
  V w = leaf(3);
  SGD<double> sgd({w}, {0.1});
  total(w).backward();
  const V loss = total(w * w);
  sgd.step();
  sgd.zero_grad();
  const std::string text = message<xgrad::GraphError>([&] { loss.backward(); });
  EXPECT_NE(text.find("call backward() before step()"), std::string::npos) << text;
  EXPECT_FALSE(w.has_grad());
}

TEST(Optimizer, LearningRateIsReadableAndSettable) {
  V w = leaf(1);
  SGD<double> sgd({w}, {0.5});
  EXPECT_EQ(sgd.lr(), 0.5);
  sgd.set_lr(0);
  total(w).backward();
  sgd.step();
  EXPECT_EQ(w.value()(0), 1);
  EXPECT_EQ(message<std::invalid_argument>([&] { sgd.set_lr(-1); }), "[SGD] lr must be finite and >= 0 but is -1");
  EXPECT_EQ(sgd.lr(), 0);
}

TEST(Optimizer, RefusesWhatIsNotAParameter) {
  EXPECT_EQ(message<std::invalid_argument>([] { SGD<double> sgd(Parameters{}); }),
            "[SGD] needs at least one parameter but the list is empty; does visit() name them?");
  const char* form = "; pass model.parameters(), or Variables made with requires_grad = true";
  EXPECT_EQ(message<xgrad::GraphError>([] {
              SGD<double> sgd({leaf(1), V(xgrad::ones<double>({2}))});
            }),
            std::string("[SGD] parameters must be leaves but number 1 is a constant") + form);
  EXPECT_EQ(message<xgrad::GraphError>([] { SGD<double> sgd(Parameters{leaf(1) + leaf(1)}); }),
            std::string("[SGD] parameters must be leaves but number 0 is the result of add") + form);
  EXPECT_EQ(message<xgrad::GraphError>([] { SGD<double> sgd(Parameters{V()}); }),
            std::string("[SGD] parameters must be leaves but number 0 is undefined (default-constructed)") + form);
}

/// A user's optimizer: moves by the sign of the gradient, and halves its step every update.
class SignDescent : public xgrad::Optimizer<double> {
 public:
  explicit SignDescent(const Parameters& p) : Optimizer("SignDescent", p, 1.0) {}

 private:
  void update(xgrad::Array<double>& value, const xgrad::Array<double>& grad, Slot& slot) override {
    for (std::size_t i = 0; i < value.size(); ++i)
      value.data()[i] -= std::ldexp(lr(), -static_cast<int>(slot.steps)) * (grad.data()[i] > 0 ? 1 : -1);
  }
};

TEST(Optimizer, IsOneFunctionToExtend) {
  V w = leaf(5);
  SignDescent optimizer({w});
  for (int i = 0; i < 3; ++i) {
    optimizer.zero_grad();
    total(w).backward();
    optimizer.step();
  }
  EXPECT_EQ(w.value()(0), 5 - 1.75);
}

}  // namespace
