#include <gtest/gtest.h>

#include <limits>
#include <xgrad/layers/feed_forward.hpp>
#include <xgrad/optim/guard.hpp>
#include <xgrad/optim/sgd.hpp>

#include "throws.hpp"

namespace {

using xgrad::GradGuard;
using xgrad::NonFinite;

template <class T>
class Guard : public testing::Test {
 public:
  Guard() : rng(1), ffn({2, 3}, rng) {
    for (auto& [name, p] : ffn.named_parameters()) xgrad::Variable<T>(p).set_grad(xgrad::ones<T>(p.shape()));
  }
  /// Plants a value in the gradient of the second weight, of shape (2, 3), at (1, 2).
  void plant(T value) {
    ffn.linear2.weight.mutate_grad([&](auto& g) { g(1, 2) = value; });
  }
  static constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  xgrad::Rng rng;
  xgrad::FeedForward<T> ffn;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Guard, Types, );

TYPED_TEST(Guard, LetsFiniteGradientsPass) {
  GradGuard<TypeParam> guard(this->ffn);
  this->plant(std::numeric_limits<TypeParam>::max());
  EXPECT_TRUE(guard.passes());
  this->plant(-std::numeric_limits<TypeParam>::denorm_min());
  EXPECT_TRUE(guard.passes());
}

TYPED_TEST(Guard, NamesTheParameter) {
  GradGuard<TypeParam> guard(this->ffn);
  this->plant(this->nan);
  EXPECT_THROWS(
      std::runtime_error, guard.passes(),
      "[GradGuard] gradients must be finite but that of linear2.weight holds NaN at (1, 2); lower the learning "
      "rate, clip gradients, or leave such steps out (NonFinite::skip)");
  this->plant(-this->inf);
  EXPECT_THROWS(std::runtime_error, guard.passes(), "that of linear2.weight holds -inf at (1, 2);");
  this->ffn.linear2.bias.mutate_grad([&](auto& g) { g(0) = this->inf; });
  EXPECT_THROWS(std::runtime_error, guard.passes(), "(1, 2), and of 1 other parameter, too;");
  this->ffn.linear1.bias.mutate_grad([&](auto& g) { g(0) = this->inf; });
  EXPECT_THROWS(std::runtime_error, guard.passes(), "linear1.bias holds inf at (0,), and of 2 other parameters, too;");
}

TYPED_TEST(Guard, SkipsAndCounts) {
  GradGuard<TypeParam> guard(this->ffn, NonFinite::skip);
  xgrad::SGD<TypeParam> sgd(this->ffn.parameters());
  const auto before = this->ffn.linear1.weight.value();
  for (const TypeParam value : {this->nan, this->inf, -this->inf}) {
    this->plant(value);
    if (guard.passes()) sgd.step();
  }
  EXPECT_EQ(guard.skipped(), 3u);
  EXPECT_TRUE(xgrad::array_equal(this->ffn.linear1.weight.value(), before));
  this->plant(1);
  EXPECT_TRUE(guard.passes());
  EXPECT_EQ(guard.skipped(), 3u);

  GradGuard<TypeParam> resumed(this->ffn, NonFinite::skip);
  resumed.load_state(guard.state());
  EXPECT_EQ(resumed.skipped(), 3u);
  auto state = guard.state();
  state.numbers[0].second = -1;
  EXPECT_THROWS(std::invalid_argument, resumed.load_state(state),
                "[GradGuard] skipped must be a whole number from 0 but is -1");
  EXPECT_THROWS(std::invalid_argument, resumed.load_state({}), "has no number named \"skipped\"");
  EXPECT_EQ(resumed.skipped(), 3u);
}

TYPED_TEST(Guard, PassesOverWhatAStepWouldSkip) {
  GradGuard<TypeParam> guard(this->ffn);
  this->plant(this->nan);
  this->ffn.linear2.weight.set_requires_grad(false);
  this->ffn.linear1.weight.zero_grad();
  EXPECT_TRUE(guard.passes());
}

}  // namespace
