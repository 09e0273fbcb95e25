// DetectAnomaly: which op is named, with what, and that nothing else changes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <xgrad/core/anomaly.hpp>
#include <xgrad/core/backward.hpp>
#include <xgrad/core/module.hpp>
#include <xgrad/core/ops/join.hpp>
#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/ops/product.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/ops/select.hpp>
#include <xgrad/core/ops/softmax.hpp>
#include <xgrad/layers/feed_forward.hpp>
#include <xgrad/layers/layer_norm.hpp>

#include "throws.hpp"

namespace {

using namespace xgrad;
using V = Variable<double>;
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const AnomalyError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

#define EXPECT_PART(text, part) EXPECT_NE((text).find(part), std::string::npos) << "got: " << (text)

V leaf(Array<double> a) { return {std::move(a), true}; }

/// y = x, with a derivative that gives `share` times the gradient, spoilt by `bad` at the first entry.
V spoil(const V& x, double bad) {
  return record<double>("spoil", {x}, saves::nothing, Array<double>(x.value()), [bad](auto& b) {
    Array<double> factor = ones<double>(b.shape(0));
    factor.data()[0] = bad;
    b.add(0, b.grad() * factor);
  });
}

TEST(DetectAnomaly, NamesTheForwardOp) {
  const V x = leaf({{1, 0, 4}, {0, 2, 3}});
  const DetectAnomaly guard;
  EXPECT_EQ(message([&] { xgrad::sum(xgrad::log(x * 2.0) + 1.0); }),
            "[log] forward: the value must be finite but that of shape (2, 3) is -inf at (0, 1), 2 of 6 entries not "
            "finite; it arose here (if it is a mask, set AnomalyOptions::allow_negative_infinity); input 0 of shape "
            "(2, 3), from 0 to 8; DetectAnomaly guard(model) names the nearest parameter");
  EXPECT_EQ(message([&] { xgrad::sqrt(leaf({-4.0})); }),
            "[sqrt] forward: the value must be finite but that of shape (1,) is NaN at (0,), 1 of 1 entry not finite; "
            "it arose here; input 0 of shape (1,), from -4 to -4; DetectAnomaly guard(model) names the nearest "
            "parameter");
  EXPECT_PART(message([&] { xgrad::exp(leaf({1.0, 1000.0})); }), "is inf at (1,), 1 of 2 entries not finite; it arose");
  EXPECT_PART(message([&] { xgrad::exp(Variable<float>(Array<float>{1, 89}, true)); }), "is inf at (1,)");
}

TEST(DetectAnomaly, LooksAtConstantsAndUnderNoGradToo) {
  const DetectAnomaly guard;
  EXPECT_PART(message([&] { xgrad::log(V(0.0)); }), "[log] forward");
  const NoGrad off;
  EXPECT_PART(message([&] { xgrad::log(leaf({0.0})); }), "[log] forward");
  EXPECT_PART(message([&] { record<double>("floor", {V(1.0)}, Array<double>{nan}); }), "[floor] forward");
}

TEST(DetectAnomaly, SaysWhatCameIn) {
  const V x = leaf({1, 2, nan});
  const V early = xgrad::log(V(Array<double>{0, 1, 2})), tracked = xgrad::log(leaf({1, -1, 2}));
  const DetectAnomaly guard;
  EXPECT_PART(message([&] { 2.0 * x; }),
              "is NaN at (2,), 1 of 3 entries not finite; it came in with input 0, a leaf; "
              "input 0 of shape (3,), from 1 to 2 but for 1 of 3 entries not finite, the "
              "first NaN at (2,)");
  EXPECT_PART(message([&] { V(ones<double>({3})) + early; }), "it came in with input 1, a constant");
  EXPECT_PART(message([&] { V(ones<double>({3})) + tracked; }),
              "it came in with input 1, a result of log made without the guard");
  EXPECT_PART(message([&] {
                xgrad::concatenate<double>({V(ones<double>({1})), x, early}, 0);
              }),
              "with input 1, a leaf");
  EXPECT_PART(message([&] { V(inf) - V(inf); }),
              "is NaN at (), 1 of 1 entry not finite; it came in with input 0, a "
              "constant; input 0 of shape (), 1 of 1 entry not finite, the first inf");
}

TEST(DetectAnomaly, NamesTheBackwardOp) {
  const V x = leaf({4, 0, 9});
  V y;
  {
    const DetectAnomaly guard;
    y = xgrad::sum(xgrad::sqrt(x * 1.0) * 2.0);
    EXPECT_EQ(message([&] { y.backward(true); }),
              "[sqrt] backward: the gradient of input 0 must be finite but that of shape (3,) is inf at (1,), 1 of 3 "
              "entries not finite; the gradient of the output, of shape (3,), is from 2 to 2; the output, from 0 to 3; "
              "input 0 of shape (3,), not saved; DetectAnomaly guard(model) names the nearest parameter");
    EXPECT_FALSE(x.has_grad()) << "a failed pass changes no leaf";
  }
  y.backward();  // without the guard, as ever
  EXPECT_EQ(x.grad()(1), inf);
}

TEST(DetectAnomaly, NamesTheInputNumber) {
  const DetectAnomaly guard;
  const V a = leaf({1, 1}), b = leaf({1e-200, 1});
  const std::string text = message([&] { xgrad::sum(a / b * 1e-100).backward(); });
  EXPECT_PART(text, "[div] backward: the gradient of input 1 must be finite but that of shape (2,) is -inf at (0,)");
  EXPECT_PART(text, "input 1 of shape (2,), from 1e-200 to 1");
  const V c = leaf({1e-310, 1});
  EXPECT_PART(message([&] { xgrad::sum(xgrad::div(c, c)).backward(); }),
              "the gradient of input 0 and 1 (the same Variable) must be finite");
}

TEST(DetectAnomaly, FindsWhatOverflowsInASumOfGradients) {
  const V x = leaf({1e-300});
  const DetectAnomaly guard;
  EXPECT_PART(message([&] { xgrad::sum(x * 1.7e308 + x * 1.6e308).backward(); }),
              "[scale] backward: the gradient of input 0, added to what later ops gave it, must be finite");
}

TEST(DetectAnomaly, LooksAtTheSeed) {
  const V x = leaf({1, 2});
  const V y = x * 3.0;
  const DetectAnomaly guard;
  EXPECT_EQ(
      message([&] {
        y.backward(Array<double>{1, nan}, true);
      }),
      "[backward] the seed gradient of scale must be finite but that of shape (2,) is NaN at (1,), 1 of 2 entries "
      "not finite");
  EXPECT_PART(message([&] {
                xgrad::grad<double>({y}, {x}, {true}, {V(Array<double>{inf, 0})});
              }),
              "[backward] the seed");
  EXPECT_FALSE(x.has_grad());
}

TEST(DetectAnomaly, FiniteFromNotFiniteIsNoAnomaly) {
  const V x = leaf({1, nan, 3});
  const Array<double> mask{0, -inf, 0};
  const DetectAnomaly guard;
  EXPECT_TRUE(array_equal(xgrad::where(V(Array<double>{1, 0, 1}), x, V(0.0)).value(), Array<double>{1, 0, 3}));
  const V p = xgrad::softmax(leaf({1, 2, 3}), V(Array<double>{1, 0, 1}));
  xgrad::sum(p * p).backward();
}

TEST(DetectAnomaly, MasksOfMinusInfinity) {
  const V x = leaf({{1, 2, 3}, {4, 5, 6}}), mask(Array<double>{{0, -inf, 0}, {0, 0, -inf}});
  const auto attention = [&] {
    const V p = xgrad::softmax(x + mask);
    return xgrad::sum(p * p);
  };
  {
    const DetectAnomaly guard;
    EXPECT_PART(
        message([&] { attention(); }),
        "[add] forward: the value must be finite but that of shape (2, 3) is -inf at (0, 1), 2 of 6 entries not "
        "finite; it came in with input 1, a constant (if it is a mask, set "
        "AnomalyOptions::allow_negative_infinity)");
  }
  const DetectAnomaly guard(AnomalyOptions{true});
  attention().backward();
  EXPECT_PART(message([&] { xgrad::exp(leaf({1000.0})); }), "[exp] forward") << "+inf is an error still";
  EXPECT_PART(message([&] { mask * 0.0; }),
              "[scale] forward: the value must be finite but that of shape (2, 3) is NaN");
  EXPECT_PART(message([&] { mask * 0.0; }), "it arose here");
  EXPECT_PART(message([&] { xgrad::log(leaf({0.0})).backward(ones<double>({1})); }), "[log] backward")
      << "gradients must be finite still";
}

TEST(DetectAnomaly, NearestParameter) {
  struct Net : Module<double> {
    Net() : ffn({2, 3}, rng), norm(2) {}
    V operator()(const V& x) { return norm(x + ffn(x)); }
    void visit(Visitor<double>& v) override { v("ffn", ffn), v("norm", norm), v("scale", scale); }
    Rng rng{1};
    FeedForward<double> ffn;
    LayerNorm<double> norm;
    V scale = leaf({1, 1});
  } net;
  const V x(Array<double>{{1, 2}, {3, 4}});
  const DetectAnomaly guard(net);
  const auto near = [&](const V& before) { return message([&] { before + V(nan); }); };
  EXPECT_PART(near(net(x)), "; nearest parameter: norm.weight") << "an input of the op before; the first of two";
  EXPECT_PART(near(xgrad::exp(net.ffn(x) * 0.0)), "; nearest parameter: ffn.linear2.weight");
  EXPECT_PART(near(net.scale), "[add] forward");
  EXPECT_PART(near(net.scale), "; input 0, scale, of shape (2,), from 1 to 1; input 1 of shape (), 1 of 1");
  EXPECT_PART(near(net.scale), "; nearest parameter: scale");
  EXPECT_PART(near(x * 2.0), "; no parameter of the module is before it");
  EXPECT_PART(message([&] { xgrad::sum(xgrad::sqrt(net.scale * 0.0)).backward(); }), "; nearest parameter: scale");
  net.freeze();
  EXPECT_PART(near(net.scale), "; nearest parameter: scale") << "frozen ones too where they are inputs";
}

TEST(DetectAnomaly, FusedOpIsNamedInBothPasses) {
  // Kernel and twin agree; at 0 the derivative of the square root is infinite.
  const auto fused = [](const V& x) {
    return record<double>(
        "fused_sqrt", {x}, saves::all, xgrad::sqrt(x.value()), [](auto& b) { b.add(0, b.grad() * 0.5 / b.output()); },
        [](const std::vector<V>& in) { return xgrad::sqrt(in[0] * 1.0); });
  };
  const V x = leaf({4, 0});
  const DetectAnomaly guard;
  const V y = xgrad::sum(fused(x));
  const char* text =
      "[fused_sqrt] backward: the gradient of input 0 must be finite but that of shape (2,) is inf at (1,)";
  EXPECT_PART(message([&] { xgrad::grad(y, x, {true}); }), text);
  EXPECT_PART(message([&] { y.backward(); }), text);
  EXPECT_PART(message([&] { fused(leaf({-1.0})); }), "[fused_sqrt] forward: the value must be finite");
}

TEST(DetectAnomaly, ManyInputsAreCutShort) {
  const std::vector<V> parts(9, leaf({1.0}));
  const auto op = [&] { return record<double>("op", parts, Array<double>{nan}); };
  const DetectAnomaly guard;
  const NoGrad off;
  const std::string text = message(op);
  EXPECT_PART(text, "; input 5 of shape (1,), from 1 to 1; and 3 more inputs; DetectAnomaly");
}

TEST(DetectAnomaly, RecordedPasses) {
  const V x = leaf({2.0});
  const DetectAnomaly guard;
  const V y = xgrad::sum(xgrad::sqrt(xgrad::square(x)));
  const V g = xgrad::grad(y, x, {true});
  EXPECT_EQ(g.item(), 1);
  EXPECT_EQ(message([&] { EXPECT_NEAR(xgrad::grad(g, x).item(), 0, 1e-15); }), "nothing was thrown");

  // The first derivative of x^1.5 is 0 at 0, the second infinite.
  const auto power = [](const V& v) {
    return record<double>("power", {v}, saves::inputs, v.value() * xgrad::sqrt(v.value()),
                          [](auto& b) { b.add(0, b.grad() * 1.5 * xgrad::sqrt(b.input(0))); });
  };
  const V zero = leaf({0.0});
  const V first = xgrad::grad(xgrad::sum(power(zero)), zero, {true});
  EXPECT_EQ(first.item(), 0);
  EXPECT_PART(message([&] { xgrad::grad(first, zero, {true}); }), "[sqrt] backward: the gradient of input 0");
  EXPECT_PART(message([&] { first.backward(); }), "[sqrt] backward: the gradient of input 0");
  EXPECT_FALSE(zero.has_grad());
}

TEST(DetectAnomaly, ValuesInsideADerivativeAreNotLookedAt) {
  const auto op = [](const V& x) {
    return record<double>("op", {x}, saves::inputs, Array<double>(x.value()), [](auto& b) {
      const auto& v = b.input(0);
      b.add(0, xgrad::where(v > 0.0, b.grad() / v, b.grad()));
    });
  };
  const V x = leaf({0, 2});
  const DetectAnomaly guard;
  EXPECT_EQ(xgrad::grad(xgrad::sum(op(x)), x, {true}).value()(1), 0.5);
  EXPECT_EQ(xgrad::grad(xgrad::sum(op(x)), x).value()(0), 1);
}

TEST(DetectAnomaly, ScopesNestAndEnd) {
  const auto anomaly = [] { return message([] { xgrad::log(V(0.0)); }) != "nothing was thrown"; };
  EXPECT_FALSE(anomaly());
  {
    const DetectAnomaly outer;
    EXPECT_TRUE(anomaly());
    {
      const DetectAnomaly inner(AnomalyOptions{true});
      EXPECT_FALSE(anomaly());
    }
    EXPECT_TRUE(anomaly());
    EXPECT_THROW(
        {
          const DetectAnomaly inner(AnomalyOptions{true});
          throw std::runtime_error("stop");
        },
        std::runtime_error);
    EXPECT_TRUE(anomaly());
    EXPECT_THROWS(AnomalyError, xgrad::sum(spoil(leaf({1.0}), nan)).backward(), "[spoil] backward");
    EXPECT_TRUE(anomaly()) << "a pass that threw leaves the guard on";
  }
  EXPECT_FALSE(anomaly());
}

TEST(DetectAnomaly, NestedGuardsKnowAllNames) {
  Rng rng(1);
  Linear<double> linear(2, 2, rng);
  FeedForward<double> ffn({2, 3}, rng);
  const V x(ones<double>({1, 2}));
  const DetectAnomaly outer(linear);
  const DetectAnomaly inner(ffn);
  EXPECT_PART(message([&] { ffn(x) + V(nan); }), "; nearest parameter: linear2.weight");
  EXPECT_PART(message([&] { linear(x) + V(nan); }), "; nearest parameter: weight");
}

TEST(DetectAnomaly, NamesOutliveAMove) {
  Rng rng(1);
  Linear<double> linear(2, 2, rng);
  const DetectAnomaly guard(linear);
  const Linear<double> moved = std::move(linear);
  EXPECT_PART(message([&] { moved.weight + V(nan); }), "; nearest parameter: weight");
}

TEST(DetectAnomaly, OtherThreadsGoOn) {
  const DetectAnomaly guard;
  std::string there;
  std::thread([&] { there = message([] { xgrad::log(V(0.0)); }); }).join();
  EXPECT_EQ(there, "nothing was thrown");
  std::optional<std::string> guarded;
  std::thread([&] {
    const DetectAnomaly own;
    guarded = message([] { xgrad::log(V(0.0)); });
  }).join();
  EXPECT_PART(*guarded, "[log] forward");
}

TEST(DetectAnomaly, ChangesNoNumbersAndLeaksNothing) {
  const std::size_t nodes = live_nodes();
  {
    Rng rng(3);
    FeedForward<double> ffn({4, 8}, rng);
    const V x = leaf(rng.normal<double>({5, 4}));
    const auto gradient = [&] {
      ffn.zero_grad();
      V(x).zero_grad();
      const V y = ffn(x);
      xgrad::sum(y * y + x * x + x).backward();
      return x.grad();
    };
    const Array<double> plain = gradient(), weight = ffn.linear1.weight.grad();
    const DetectAnomaly guard(ffn);
    EXPECT_TRUE(array_equal(gradient(), plain));
    EXPECT_TRUE(array_equal(ffn.linear1.weight.grad(), weight));
    message([&] { xgrad::sum(spoil(ffn(x), nan)).backward(); });
    EXPECT_TRUE(array_equal(x.grad(), plain));
  }
  EXPECT_EQ(live_nodes(), nodes);
}

}  // namespace
