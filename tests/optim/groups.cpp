#include <gtest/gtest.h>

#include <xgrad/layers/feed_forward.hpp>
#include <xgrad/layers/layer_norm.hpp>
#include <xgrad/layers/rms_norm.hpp>
#include <xgrad/optim/sgd.hpp>

#include "throws.hpp"

namespace {

using xgrad::SGD;
using V = xgrad::Variable<double>;
using Group = xgrad::ParameterGroup<double>;
using Groups = std::vector<Group>;

V leaf(double value) { return V(xgrad::full<double>({2}, value), true); }

class Net : public xgrad::Module<double> {
 public:
  explicit Net(xgrad::Rng& rng) : norm(4), grid(xgrad::LayerNormOptions{{2, 4}}), rms(4), ffn({4}, rng) {}
  void visit(xgrad::Visitor<double>& v) override {
    v("norm", norm);
    v("grid", grid);
    v("rms", rms);
    v("ffn", ffn);
    v("bias", bias);
    v("table", table);
  }
  xgrad::LayerNorm<double> norm, grid;  // the second over two axes: its gain has two axes too
  xgrad::RMSNorm<double> rms;
  xgrad::FeedForward<double> ffn;
  V bias{xgrad::ones<double>({2, 2}), true}, table{xgrad::ones<double>({2, 2}), true};
};

/// The names of the parameters in a group.
std::vector<std::string> names(Net& net, const Group& group) {
  std::vector<std::string> result;
  for (const auto& [name, p] : net.named_parameters())
    for (const V& q : group.parameters)
      if (q.node() == p.node()) result.push_back(name);
  return result;
}

TEST(DecayGroups, LeaveOutBiasesAndNorms) {
  xgrad::Rng rng(1);
  Net net(rng);
  const Groups groups = xgrad::decay_groups(net);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(names(net, groups[0]), (std::vector<std::string>{"ffn.linear1.weight", "ffn.linear2.weight", "table"}));
  EXPECT_EQ(groups[0].weight_decay_factor, 1);
  EXPECT_EQ(groups[1].weight_decay_factor, 0);
  EXPECT_EQ(groups[0].parameters.size() + groups[1].parameters.size(), net.parameters().size());
}

TEST(DecayGroups, OPT_03_OneLineLeavesBiasesAndNormsAtOne) {
  xgrad::Rng rng(1);
  Net net(rng);
  SGD<double> sgd(xgrad::decay_groups(net), {0.01, 0, 0, 0.1});
  for (V p : net.parameters()) {
    p.mutate([](auto& a) { a.fill(1); });
    p.set_grad(xgrad::zeros<double>(p.shape()));
  }
  sgd.step();
  EXPECT_EQ(net.grid.gamma.value()(1, 1), 1);
  EXPECT_EQ(net.rms.parameters()[0].value()(0), 1);
  EXPECT_EQ(net.bias.value()(0, 0), 1);
  EXPECT_DOUBLE_EQ(net.table.value()(0, 0), 0.999);
}

TEST(DecayGroups, OfASingleNorm) {
  xgrad::LayerNorm<double> norm(xgrad::LayerNormOptions{{2, 4}});
  const Groups groups = xgrad::decay_groups(norm);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].weight_decay_factor, 0);
  EXPECT_EQ(groups[0].parameters.size(), 2u);
}

TEST(DecayGroups, ByARuleOfOnesOwn) {
  xgrad::Rng rng(1);
  Net net(rng);
  const Groups groups =
      xgrad::decay_groups<double>(net, [](const std::string& name, const V&) { return name == "bias"; });
  EXPECT_EQ(names(net, groups[0]), std::vector<std::string>{"bias"});
}

TEST(ParameterGroups, FactorsMultiplyTheRatesOfTheOptimizer) {
  V a = leaf(1), b = leaf(1);
  SGD<double> sgd(Groups{{{a}, 0.5, 2}, {{b}}}, {0.1, 0, 0, 0.25});
  EXPECT_EQ(sgd.parameters().size(), 2u);
  for (V p : {a, b}) p.set_grad(xgrad::full<double>({2}, 3));
  sgd.step();
  EXPECT_DOUBLE_EQ(a.value()(0), 1 - 0.05 * (3 + 0.5));
  EXPECT_DOUBLE_EQ(b.value()(0), 1 - 0.1 * (3 + 0.25));
  sgd.set_lr(0);  // moves all groups
  const double before = a.value()(0);
  sgd.step();
  EXPECT_EQ(a.value()(0), before);
}

TEST(ParameterGroups, KeepTheirRatesWhenAStateIsLoaded) {
  V a = leaf(1), b = leaf(1);
  SGD<double> first(Groups{{{a}, 0.5, 2}}, {0.1, 0, 0, 0.25}), second(Groups{{{b}, 0.5, 2}}, {0.7, 0, 0, 0.25});
  second.load_state(first.state());
  for (V p : {a, b}) p.set_grad(xgrad::full<double>({2}, 3));
  first.step();
  second.step();
  EXPECT_EQ(a.value()(0), b.value()(0));
}

TEST(ParameterGroups, WhatDoesNotFitIsRefused) {
  V a = leaf(1), b = leaf(1);
  EXPECT_THROWS(std::invalid_argument, SGD<double>(Groups{{{a, b}}, {{b}}}),
                "[SGD] a parameter stands in two groups; give each to one");
  EXPECT_THROWS(std::invalid_argument, SGD<double>(Groups{{{a}, -1}}),
                "[SGD] lr_factor must be finite and >= 0 but is -1");
  EXPECT_THROWS(std::invalid_argument, SGD<double>(Groups{{{a}, 1, -1}}),
                "[SGD] weight_decay_factor must be finite and >= 0 but is -1");
  EXPECT_THROWS(std::invalid_argument, SGD<double>(Groups{}), "[SGD] needs at least one parameter");
  EXPECT_THROWS(xgrad::GraphError, SGD<double>(Groups{{{a}}, {{V(xgrad::ones<double>({1}))}}}),
                "[SGD] parameters must be leaves but number 0 is a constant");
}

}  // namespace
