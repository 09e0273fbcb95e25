#include <gtest/gtest.h>

#include <xgrad/core/checkpoint.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/optim/sgd.hpp>

#include "folder.hpp"
#include "throws.hpp"

namespace {

using xgrad::Array;
using xgrad::SGD;
using V = xgrad::Variable<float>;

struct Training {
  explicit Training(double momentum) : sgd({a, b, frozen}, options(momentum)) { frozen.set_requires_grad(false); }
  static xgrad::SGDOptions options(double momentum) {
    xgrad::SGDOptions o;
    o.lr = 0.1;
    o.momentum = momentum;
    return o;
  }
  void step() {
    sgd.zero_grad();
    xgrad::sum(a * a * a + xgrad::sum(b * b)).backward();
    sgd.step();
  }
  V a{Array<float>{0.3f, -0.2f}, true}, b{xgrad::full<float>({1, 1}, 0.7f), true}, frozen{Array<float>{1.f}, true};
  SGD<float> sgd;
};

TEST(OptimizerState, ResumedRunGoesOnBitForBit) {
  const Folder folder;
  Training whole(0.9), resumed(0.9);
  for (int i = 0; i < 3; ++i) whole.step();
  whole.sgd.set_lr(0.07);
  xgrad::State<float> state;
  state.append("sgd.", whole.sgd.state());
  xgrad::save_state(folder / "run", state);
  resumed.a.mutate([&](auto& x) { x = whole.a.value(); });
  resumed.b.mutate([&](auto& x) { x = whole.b.value(); });
  resumed.sgd.load_state(xgrad::read_state<float>(folder / "run").part("sgd."));
  EXPECT_EQ(resumed.sgd.lr(), 0.07);
  for (int i = 0; i < 3; ++i) {
    whole.step();
    resumed.step();
  }
  EXPECT_TRUE(xgrad::array_equal(whole.a.value(), resumed.a.value()));
  EXPECT_TRUE(xgrad::array_equal(whole.b.value(), resumed.b.value()));

  // Without the state it does not.
  Training forgetful(0.9);
  forgetful.a.mutate([&](auto& x) { x = whole.a.value(); });
  forgetful.b.mutate([&](auto& x) { x = whole.b.value(); });
  whole.step();
  forgetful.step();
  EXPECT_FALSE(xgrad::array_equal(whole.a.value(), forgetful.a.value()));
}

TEST(OptimizerState, NamesAreByParameter) {
  Training run(0.9);
  EXPECT_EQ(xgrad::names_of(run.sgd.state()).numbers, std::vector<std::string>{"SGD.lr"});
  run.step();
  const auto names = xgrad::names_of(run.sgd.state());
  EXPECT_EQ(names.numbers, (std::vector<std::string>{"SGD.lr", "SGD.0.steps", "SGD.1.steps"}));
  ASSERT_EQ(names.arrays.size(), 2u);
  EXPECT_EQ(names.arrays[1].first, "SGD.1.buffer.0");
}

TEST(OptimizerState, WhatDoesNotFitIsNamedAndNothingChanges) {
  Training run(0.9), plain(0);
  run.step();
  plain.step();
  EXPECT_THROWS(std::invalid_argument, plain.sgd.load_state(run.sgd.state()),
                "[SGD] the state must be of the same optimizer, options and parameters:"
                "\n  unknown: SGD.0.buffer.0\n  unknown: SGD.1.buffer.0");
  EXPECT_THROWS(std::invalid_argument, run.sgd.load_state(plain.sgd.state()), "\n  missing: SGD.0.buffer.0");
  auto state = run.sgd.state();
  state.arrays[0].second = xgrad::zeros<float>({3});
  state.numbers[1].second = 1.5;
  EXPECT_THROWS(std::invalid_argument, run.sgd.load_state(state),
                "\n  shape of SGD.0.buffer.0: must be (2,) but is (3,)\n  SGD.0.steps must be a whole number from 1");
  state = run.sgd.state();
  state.numbers[0].second = -1;
  EXPECT_THROWS(std::invalid_argument, run.sgd.load_state(state), "lr must be finite and >= 0 but is -1");
  EXPECT_EQ(run.sgd.lr(), 0.1);
  EXPECT_THROWS(std::invalid_argument, run.sgd.load_state({}), "\n  missing: SGD.lr");
}

}  // namespace
