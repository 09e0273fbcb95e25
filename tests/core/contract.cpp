// The layer contract: a good layer keeps it, and each breach is named.
#include <gtest/gtest.h>

#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/testing.hpp>

#include "planted.hpp"

namespace {

using namespace xgrad;
using planted::V;

Array<double> numbers(const Shape& shape, std::uint64_t seed = 3) { return Rng(seed).normal<double>(shape); }

struct Scale : Module<double> {
  V operator()(const V& x) { return x * weight; }
  void visit(Visitor<double>& v) override { v("weight", weight); }
  V weight{numbers({3}, 5), true};
};

/// A layer with everything: sub-modules, a buffer, a generator. The switches break it.
struct Layer : Module<double> {
  V operator()(const V& x) {
    V y = scale(x * x);
    if (is_training() || drop_always) y = y * V(generator.bernoulli<double>(x.shape(), 0.5));
    if (!unused) y = y + bias;
    if (wrong_gradient) y = planted::cube(y, 6);
    if (fails_when_empty && x.size() == 0) throw std::runtime_error("no rows");
    if (widens && x.size() == 0) return sum_to(y, {3});
    return y + V(buffer);
  }
  void visit(Visitor<double>& v) override {
    if (!forget_scale) v("scale", scale);
    v(same_name ? "scale.weight" : blank_name ? "my bias" : "bias", bias);
    if (!forget_buffer) v("buffer", buffer);
    if (!forget_generator) v("generator", generator);
    ++visits;
    if (changing && visits % 2) v("extra", extra);
    if (visits > steady_visits) v("extra" + std::to_string(visits), extra);
  }
  Scale scale, extra;
  V bias{numbers({3}, 6), true};
  Array<double> buffer = numbers({3}, 7);
  Rng generator{8};
  int visits = 0, steady_visits = 1000000;
  bool forget_scale = false, forget_buffer = false, forget_generator = false, same_name = false, blank_name = false;
  bool drop_always = false, unused = false, wrong_gradient = false, changing = false;
  bool fails_when_empty = false, widens = false;
};

/// The violations of a layer with one switch on, as one text.
std::string broken(bool Layer::*flaw) {
  Layer layer;
  layer.*flaw = true;
  std::string all;
  for (const auto& v : contract_violations(layer, numbers({2, 3}))) all += v + '\n';
  return all;
}

::testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << part << "\" is not in:\n" << text;
}

TEST(Contract, AGoodLayerKeepsItAndIsLeftAlone) {
  Layer layer;
  layer.scale.eval();  // a mixed state of modes
  layer.bias.set_grad(full<double>({3}, 2.0));
  const auto before = state(layer);
  EXPECT_TRUE(xgrad::testing::layer_contract(layer, numbers({2, 3})));
  EXPECT_TRUE(xgrad::testing::layer_contract(layer, [&](const V& x, const V& y) { return layer(x) + layer(y); },
                                             {numbers({2, 3}), numbers({2, 3}, 4)}));
  const auto after = state(layer);
  for (std::size_t i = 0; i < before.arrays.size(); ++i)
    EXPECT_TRUE(array_equal(before.arrays[i].second, after.arrays[i].second)) << before.arrays[i].first;
  EXPECT_EQ(before.generators, after.generators);
  EXPECT_TRUE(layer.is_training());
  EXPECT_FALSE(layer.scale.is_training());
  EXPECT_TRUE(array_equal(layer.bias.grad(), full<double>({3}, 2.0)));
  EXPECT_FALSE(layer.scale.weight.has_grad());
}

TEST(Contract, ForgottenMembers) {
  EXPECT_EQ(broken(&Layer::forget_scale),
            "a member was forgotten in visit(): the output depends on a trainable leaf of shape (3,) that is not "
            "listed\n");
  EXPECT_TRUE(says(broken(&Layer::forget_generator), "not deterministic"));
  EXPECT_EQ(broken(&Layer::forget_buffer), "") << "a buffer that is not state is a constant";
}

TEST(Contract, Names) {
  EXPECT_EQ(
      broken(&Layer::same_name),
      "visit() throws: [Module] two members are named \"scale.weight\"; give each a name of its own in visit()\n");
  EXPECT_TRUE(
      says(broken(&Layer::blank_name), "a member is named \"my bias\": names must not be empty or hold blanks"));
  EXPECT_EQ(broken(&Layer::changing), "visit() must list the same members each time\n");
}

struct Dotted : Scale {
  void visit(Visitor<double>& v) override { v(name, weight); }
  std::string name = "part.weight";
};

TEST(Contract, ANameMayHaveDotsButNoEmptyPart) {
  Dotted layer;
  EXPECT_TRUE(xgrad::testing::layer_contract(layer, numbers({2, 3})));
  for (const char* name : {"", ".weight", "part.", "part..weight", "a part.weight"}) {
    layer.name = name;
    EXPECT_FALSE(contract_violations(layer, numbers({2, 3})).empty()) << name;
  }
}

TEST(Contract, AVisitThatListsOtherMembersEachTime) {
  Layer layer;
  layer.steady_visits = 0;
  const std::string sentence = "visit() must list the same members each time";
  EXPECT_EQ(contract_violations(layer, numbers({2, 3})), std::vector<std::string>{sentence});
  // Wherever the listing begins to change, what follows is a sentence, and the numbers are those from before.
  int counted = 0;
  for (int steady = 1;; ++steady) {
    Layer other;
    other.steady_visits = steady;
    const auto violations = contract_violations(other, numbers({2, 3}));
    EXPECT_TRUE(array_equal(other.bias.value(), numbers({3}, 6))) << steady;
    EXPECT_TRUE(array_equal(other.buffer, numbers({3}, 7))) << steady;
    if (other.visits <= steady) break;
    counted += !violations.empty();
  }
  EXPECT_GE(counted, 5);
}

struct Rebinding : Module<double> {  // its parameter becomes the result of an op at some call
  V operator()(const V& x) {
    if (++calls > steady_calls) weight = weight * 1.0;
    return x * weight;
  }
  void visit(Visitor<double>& v) override { v("weight", weight); }
  V weight{numbers({3}, 5), true};
  int calls = 0, steady_calls = 0;
};

TEST(Contract, AParameterThatBecomesAResultIsASentence) {
  for (int steady = 0;; ++steady) {
    Rebinding layer;
    layer.steady_calls = steady;
    const auto violations = contract_violations(layer, numbers({2, 3}));
    if (layer.calls <= steady) break;
    EXPECT_FALSE(violations.empty()) << steady;
  }
}

TEST(Contract, Gradients) {
  EXPECT_TRUE(says(broken(&Layer::unused), "parameter \"bias\" gets no gradient: the output does not depend on it\n"));
  const auto wrong = broken(&Layer::wrong_gradient);
  EXPECT_TRUE(says(wrong, "gradcheck failed: "));
  EXPECT_TRUE(says(wrong, "hint: input 0, scale.weight, bias: analytic = 2 x numeric everywhere"));
}

TEST(Contract, EvaluationAndState) {
  const auto drop = broken(&Layer::drop_always);
  EXPECT_TRUE(says(drop, "evaluation mode draws from the generator \"generator\"\n"));
  EXPECT_TRUE(says(drop, "evaluation mode is not deterministic: two calls differ"));
}

struct Stale : Module<double> {  // remembers the weight it saw last in a member that visit() does not list
  V operator()(const V& x) {
    if (weight.value() != last) ++changes;
    last = weight.value();
    return x * weight * (1.0 + changes);
  }
  void visit(Visitor<double>& v) override { v("weight", weight); }
  V weight{numbers({3}, 5), true};
  Array<double> last = weight.value();
  int changes = 0;
};

TEST(Contract, StateThatIsNotListed) {
  Stale stale;
  std::string all;
  for (const auto& v : contract_violations(stale, numbers({2, 3}))) all += v + '\n';
  EXPECT_TRUE(says(all, "loading the module's own state back does not give its old output"));
}

TEST(Contract, EmptyBatch) {
  EXPECT_EQ(broken(&Layer::fails_when_empty), "an empty batch throws: no rows\n");
  EXPECT_EQ(broken(&Layer::widens), "an empty batch must give an output of shape (0, 3) but gives (3,)\n");
}

TEST(Contract, ExceptionsBecomeSentences) {
  Scale scale;
  EXPECT_EQ(contract_violations(scale, numbers({2, 4})).size(), 1u);
  EXPECT_TRUE(says(contract_violations(scale, numbers({2, 4}))[0], "calling the module throws: ["));
  EXPECT_THROW(contract_violations(scale, V()), std::invalid_argument);
  EXPECT_THROW(contract_violations(scale, std::vector<V>{}), std::invalid_argument);
}

TEST(Contract, FrozenParametersNeedNoGradient) {
  Layer layer;
  layer.unused = true;
  layer.bias.set_requires_grad(false);
  EXPECT_TRUE(xgrad::testing::layer_contract(layer, numbers({2, 3})));
  EXPECT_FALSE(layer.bias.requires_grad());
}

TEST(Contract, AssertionTextIsAList) {
  Scale scale;
  const auto result = xgrad::testing::layer_contract(
      scale, [](const V& x) { return x * 2.0; }, numbers({2, 3}));
  EXPECT_FALSE(result);
  EXPECT_STREQ(result.message(),
               "\nthe layer breaks its contract:"
               "\n- parameter \"weight\" gets no gradient: the output does not depend on it");
  const auto gradients = xgrad::testing::gradients_match([](const V& x) { return planted::cube(x, 6); }, 2.0);
  EXPECT_FALSE(gradients);
  EXPECT_TRUE(says(gradients.message(), "\ngradcheck failed: 1 of 1 entry disagree"));
}

}  // namespace
