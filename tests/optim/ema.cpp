#include <gtest/gtest.h>

#include <cmath>
#include <xgrad/core/checkpoint.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/layers/linear.hpp>
#include <xgrad/optim/ema.hpp>

#include "folder.hpp"
#include "throws.hpp"

namespace {

using xgrad::Ema;
using xgrad::EmaScope;

template <class T>
class EmaTest : public testing::Test {
 public:
  EmaTest() : rng(1), model(2, 1, rng) {}
  void set(T value) {
    for (auto p : model.parameters()) p.mutate([&](auto& a) { a.fill(value); });
  }
  T weight() { return model.weight.value()(0, 1); }
  xgrad::Rng rng;
  xgrad::Linear<T> model;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(EmaTest, Types, );

TYPED_TEST(EmaTest, IsTheWeighedMeanOfTheWeightsSeen) {
  const double decay = 0.8, tolerance = std::is_same_v<TypeParam, float> ? 1e-6 : 1e-14;
  this->set(100);  // before the first update: has no share
  Ema<TypeParam> ema(this->model, decay);
  double sum = 0, total = 0;
  for (int i = 1; i <= 20; ++i) {
    const double w = std::sin(i);
    this->set(static_cast<TypeParam>(w));
    ema.update();
    sum = decay * sum + w;
    total = decay * total + 1;
    EXPECT_NEAR(ema.state().array("weight")(0, 1), sum / total, tolerance);
    EXPECT_NEAR(ema.state().array("bias")(0), sum / total, tolerance);
  }
  EXPECT_EQ(ema.updates(), 20u);
}

TYPED_TEST(EmaTest, FirstUpdateTakesTheWeightsBitForBit) {
  this->set(TypeParam(1e8));
  Ema<TypeParam> ema(this->model);
  this->set(TypeParam(0.1));
  ema.update();
  EXPECT_EQ(ema.state().array("weight")(0, 0), TypeParam(0.1));
}

TYPED_TEST(EmaTest, ScopeAppliesAndRestores) {
  this->set(1);
  Ema<TypeParam> ema(this->model, 0.5);
  ema.update();
  this->set(4);
  ema.update();
  {
    const EmaScope<TypeParam> averaged(ema);
    EXPECT_NEAR(this->weight(), 3, 1e-6);  // (0.5 * 1 + 4) / 1.5
    EXPECT_NEAR(this->model(xgrad::ones<TypeParam>({1, 2})).item(), 9, 1e-5);
  }
  EXPECT_EQ(this->weight(), 4);
  try {
    const EmaScope<TypeParam> averaged(ema);
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(this->weight(), 4);
  EXPECT_NEAR(ema.state().array("weight")(0, 0), 3, 1e-6);
}

TYPED_TEST(EmaTest, WithoutUpdatesIsTheWeightsAtConstruction) {
  this->set(7);
  Ema<TypeParam> ema(this->model);
  this->set(8);
  const EmaScope<TypeParam> averaged(ema);
  EXPECT_EQ(this->weight(), 7);
}

TYPED_TEST(EmaTest, AGraphOfTheTrainedWeightsIsNotDifferentiatedAtTheMeans) {
  Ema<TypeParam> ema(this->model);
  xgrad::Variable<TypeParam> x(xgrad::ones<TypeParam>({1, 2}), true);
  const auto loss = xgrad::sum(this->model(x));
  const EmaScope<TypeParam> averaged(ema);
  EXPECT_THROW(loss.backward(), xgrad::GraphError);
}

TYPED_TEST(EmaTest, RefusesUseWhileAScopeIsOpen) {
  Ema<TypeParam> ema(this->model);
  const auto state = ema.state();
  const EmaScope<TypeParam> averaged(ema);
  const std::string rest = " needs the trained weights but an EmaScope is open; end it first";
  EXPECT_THROWS(std::logic_error, ema.update(), "[Ema] update" + rest);
  EXPECT_THROWS(std::logic_error, ema.state(), "[Ema] state" + rest);
  EXPECT_THROWS(std::logic_error, ema.load_state(state), "[Ema] load_state" + rest);
  EXPECT_THROWS(std::logic_error, EmaScope<TypeParam>(ema), "[Ema] another EmaScope" + rest);
  EXPECT_EQ(ema.updates(), 0u);
}

TYPED_TEST(EmaTest, ResumesBitForBitFromItsState) {
  const Folder folder;
  Ema<TypeParam> whole(this->model, 0.9);
  for (int i = 1; i <= 3; ++i) {
    this->set(static_cast<TypeParam>(std::sin(i)));
    whole.update();
  }
  xgrad::save_state(folder / "ema", whole.state());
  Ema<TypeParam> resumed(this->model, 0.9);
  resumed.load_state(xgrad::read_state<TypeParam>(folder / "ema"));
  this->set(TypeParam(0.3));
  whole.update();
  resumed.update();
  EXPECT_EQ(resumed.updates(), 4u);
  EXPECT_TRUE(xgrad::array_equal(whole.state().array("weight"), resumed.state().array("weight")));
}

TYPED_TEST(EmaTest, RefusesWhatDoesNotFit) {
  EXPECT_THROWS(std::invalid_argument, Ema<TypeParam>(this->model, 1), "[Ema] decay must be in [0, 1) but is 1");
  this->set(2);
  Ema<TypeParam> ema(this->model);
  auto state = ema.state();
  state.arrays[0].second = xgrad::zeros<TypeParam>({3});
  state.arrays[1].first = "other";
  state.numbers[0].second = 0.5;
  EXPECT_THROWS(
      std::invalid_argument, ema.load_state(state),
      "[Ema] the state must be of the same module:\n  missing: bias\n  unknown: other\n  shape of weight: must "
      "be (1, 2) but is (3,)\n  updates must be a whole number from 0");
  EXPECT_EQ(ema.state().array("weight")(0, 0), 2);
}

}  // namespace
