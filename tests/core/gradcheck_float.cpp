// gradcheck in float: functions and modules of Variable<float>, alone and against their form in double.
#include <gtest/gtest.h>

#include <algorithm>

#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/record.hpp>
#include <xgrad/core/testing.hpp>

#include "../throws.hpp"
namespace {

using namespace xgrad;
using AF = Array<float>;
using VF = Variable<float>;

AF floats(const Shape& shape, std::uint64_t seed = 3) { return Rng(seed).normal<float>(shape); }

::testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << part << "\" is not in:\n" << text;
}

/// x^3 with a wrong factor, in either type.
template <class T>
Variable<T> cube_of(const Variable<T>& x, double factor) {
  const Array<T> y = x.value() * x.value() * x.value();
  return record<T>("cube", {x}, y, [factor](auto& b) { b.add(0, b.grad() * T(factor) * b.input(0) * b.input(0)); });
}

TEST(FloatFunctions, AskedForByName) {
  const auto only_float = [](const VF& x) { return cube_of(x, 3); };
  EXPECT_EQ(gradcheck<float>(only_float, floats({2, 3})).json(), gradcheck(only_float, floats({2, 3})).json());
  const auto wrong = [](const VF& x) { return cube_of(x, 3.2); };
  EXPECT_GT(gradcheck<float>(wrong, floats({2, 3})).wrong(), 3u);
}

TEST(FloatFunctions, InFloatAlone) {
  const auto cube3 = [](double factor) { return [factor](const VF& x) { return cube_of(x, factor); }; };
  for (const Shape& shape : {Shape{1}, Shape{2, 3}, Shape{30, 30}}) {
    EXPECT_TRUE(xgrad::testing::gradients_match(cube3(3), floats(shape)));
    for (const double wrong : {3.15, 2.85, -3.0, 0.0})
      EXPECT_GE(gradcheck(cube3(wrong), floats(shape)).wrong(), (element_count(shape) + 1) / 2) << wrong;
  }
  EXPECT_TRUE(
      gradcheck([](const VF& a, const VF& b) { return a * b / (b * b + 1.0f); }, {floats({2, 3}), VF(floats({3}))}));
  EXPECT_TRUE(
      gradcheck([](const std::vector<VF>& v) { return sum_to(v[0] - v[1], {}); }, {floats({2, 3}), floats({3})}));
}

TEST(FloatFunctions, AgainstTheSameFunctionInDouble) {
  const auto cube3 = [](double factor) { return [factor](const auto& x) { return cube_of(x, factor); }; };
  for (const Shape& shape : {Shape{1}, Shape{2, 3}, Shape{30, 30}}) {
    EXPECT_TRUE(xgrad::testing::gradients_match<float>(cube3(3), floats(shape)));
    for (const double wrong : {3.03, 2.97})
      EXPECT_GE(gradcheck<float>(cube3(wrong), floats(shape)).wrong(), (element_count(shape) + 1) / 2) << wrong;
  }
  // A large offset, which hides all from differences in float.
  const auto shifted = [](double factor) { return [factor](const auto& x) { return cube_of(x, factor) + 1000; }; };
  const auto report = gradcheck<float>(shifted(3.03), floats({4}));
  EXPECT_GE(report.wrong(), 3u) << report;
  EXPECT_TRUE(says(report.text(),
                   "note: float gradients, by differences in double: tolerances are widened to rtol "
                   "0.001; finds errors of 1% in entries above 1% of their input's largest\n"));
  EXPECT_EQ(report.step, 6e-6);
}

TEST(FloatFunctions, GenericOnesRunInDoubleAndSaySo) {
  const auto report = gradcheck([](const auto& x) { return x * x; }, floats({3}));
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.rtol, 1e-6);
  EXPECT_TRUE(says(report.text(), "note: a function that takes double is checked in double, though inputs were float"));
}

TEST(FloatFunctions, KinksAndNoise) {
  const auto relu = [](float at_zero) {
    return [at_zero](const VF& x) {
      AF y = x.value();
      for (float& v : y) v = std::max(v, 0.0f);
      return record<float>("relu", {x}, y, [at_zero](ArrayBackward<float>& b) {
        AF g = b.grad();
        for (std::size_t i = 0; i < g.size(); ++i) {
          const float v = b.input(0).data()[i];
          g.data()[i] *= v > 0 ? 1.0f : v < 0 ? 0.0f : at_zero;
        }
        b.add(0, std::move(g));
      });
    };
  };
  const auto x = from<float>({1, 0, -2, 0.004f});
  const auto report = gradcheck(relu(0), x);
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.kinks.size(), 2u) << report;
  EXPECT_FALSE(gradcheck(relu(1.2f), x).ok());
  const auto hidden = gradcheck([](const VF& a) { return a * 2.0f + 1e6f; }, from<float>({1.0f, 3.0f}));
  EXPECT_TRUE(says(hidden.text(), "note: rounding of the large output hides relative errors of 5% in 2 entries"));
}

TEST(FloatFunctions, Refuses) {
  const auto square = [](const VF& a) { return a * a; };
  GradcheckOptions options;
  options.richardson = true;
  EXPECT_THROWS(std::invalid_argument, gradcheck(square, floats({3}), options), "richardson needs double");
  EXPECT_THROWS(std::invalid_argument, gradcheck(square, {floats({3}), floats({3})}),
                "the function takes 1 input but got 2");
  EXPECT_THROWS(std::invalid_argument, gradcheck(square, VF()), "input 0 is undefined");
  EXPECT_THROWS(std::invalid_argument, gradcheck(square, full<float>({2}, std::nanf(""))), "must be finite");
  EXPECT_THROWS(GraphError, gradcheck([](const VF&) { return VF(); }, floats({3})), "undefined Variable");
  EXPECT_TRUE(says(gradcheck([](const VF& a) { return a.detach() * a.detach(); }, floats({3})).problem,
                   "the result of shape (3,) depends on no input: its graph was cut"));
}

/// y = (x * weight)^3 * mask + bias, in either type; a derivative that is wrong by a factor.
template <class T>
struct Layer : Module<T> {
  Variable<T> operator()(const Variable<T>& x) {
    if (++calls == fails_at) throw std::runtime_error("tired");
    Variable<T> y = cube_of(x * weight, factor);
    if (this->is_training()) y = y * Variable<T>(generator.template bernoulli<T>(x.shape(), 0.5));
    return y + bias + Variable<T>(offset);
  }
  void visit(Visitor<T>& v) override {
    v("weight", weight);
    v("bias", bias);
    v("offset", offset);
    v("generator", generator);
  }
  double factor = 3;
  int calls = 0, fails_at = -1;
  Variable<T> weight{Rng(5).normal<T>({3}), true}, bias{Rng(6).normal<T>({3}), true};
  Array<T> offset = Rng(7).normal<T>({3});
  Rng generator{8};
};

TEST(FloatModules, ByNameAndUntouched) {
  Layer<float> layer;
  layer.weight.set_grad(full<float>({3}, 9.0f));
  const AF weight = layer.weight.value(), bias = layer.bias.value();
  const auto state = layer.generator.state();
  const auto report = gradcheck(layer, floats({4, 3}));
  EXPECT_TRUE(report.ok()) << report;
  ASSERT_EQ(report.inputs.size(), 3u);
  EXPECT_EQ(report.inputs[1].name, "weight");
  EXPECT_EQ(report.inputs[2].name, "bias");
  EXPECT_EQ(layer.generator.state(), state);
  for (layer.fails_at = 1; layer.fails_at <= 20; ++layer.fails_at) {
    layer.calls = 0;
    EXPECT_THROW(gradcheck(layer, floats({4, 3})), std::runtime_error) << layer.fails_at;
    EXPECT_TRUE(array_equal(layer.weight.value(), weight));
    EXPECT_TRUE(array_equal(layer.bias.value(), bias));
  }
  layer.fails_at = -1;
  EXPECT_TRUE(array_equal(layer.weight.grad(), full<float>({3}, 9.0f)));
  EXPECT_FALSE(layer.bias.has_grad());

  layer.factor = 3.15;
  const auto wrong = gradcheck(layer, floats({4, 3}));
  EXPECT_GT(wrong.inputs[0].wrong, 0u);
  EXPECT_GT(wrong.inputs[1].wrong, 0u);
  EXPECT_EQ(wrong.inputs[2].wrong, 0u);
  layer.factor = 3;
  EXPECT_TRUE(xgrad::testing::gradients_match(
      layer, [&](const VF& x) { return layer(x) * layer(x); }, floats({4, 3})));
  GradcheckOptions live;
  live.fix_generators = false;
  EXPECT_TRUE(says(gradcheck(layer, floats({4, 3}), live).text(), "not deterministic"));
}

TEST(FloatModules, AgainstACopyInDouble) {
  Layer<float> layer;
  Layer<double> copy;
  copy.weight = Variable<double>(ones<double>({3}), true);
  copy.generator = Rng(99);
  const auto state = copy.generator.state();
  const auto report = gradcheck(layer, copy, floats({4, 3}));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.checked(), 18u);
  EXPECT_TRUE(array_equal(copy.weight.value(), ones<double>({3}))) << "the copy has its own numbers back";
  EXPECT_EQ(copy.generator.state(), state);
  layer.factor = 3.03;
  const auto wrong = gradcheck(layer, copy, floats({4, 3}));
  EXPECT_GE(wrong.inputs[1].wrong, 2u) << wrong;
  layer.factor = 3;
  copy.bias.set_requires_grad(false);
  EXPECT_THROWS(std::invalid_argument, gradcheck(layer, copy, floats({4, 3})),
                "the double copy must require gradients of the same parameters");
  copy.bias = Variable<double>(ones<double>({2}), true);
  EXPECT_THROWS(std::invalid_argument, gradcheck(layer, copy, floats({4, 3})), "bias");
}

TEST(FloatModules, KeepTheContract) {
  Layer<float> layer;
  EXPECT_TRUE(xgrad::testing::layer_contract(layer, floats({4, 3})));
  EXPECT_TRUE(xgrad::testing::layer_contract(
      layer, [&](const VF& x) { return layer(x); }, floats({4, 3})));
  layer.factor = 6;
  const auto broken = contract_violations(layer, floats({4, 3}));
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_TRUE(says(broken[0], "gradcheck failed"));
}

TEST(FloatModules, LeaveNoNodes) {
  const std::size_t before = live_nodes();
  gradcheck([](const VF& a) { return a * a; }, floats({2, 2}));
  EXPECT_EQ(live_nodes(), before);
}

struct Wavering : Module<double> {  // lists its members under other names from some visit on
  Variable<double> operator()(const Variable<double>& x) { return x * weight + offset; }
  void visit(Visitor<double>& v) override {
    v("weight", weight);
    v(++visits > steady_visits ? "offset" + std::to_string(visits) : "offset", offset);
  }
  Variable<double> weight{ones<double>({3}), true}, offset{zeros<double>({3})};
  int visits = 0, steady_visits = 0;
};

struct Steady : Module<float> {
  VF operator()(const VF& x) { return x * weight + offset; }
  void visit(Visitor<float>& v) override {
    v("weight", weight);
    v("offset", offset);
  }
  VF weight{Rng(5).normal<float>({3}), true}, offset{Rng(6).normal<float>({3})};
};

TEST(FloatModules, ACopyGetsItsNumbersBackHoweverItListsThem) {
  Steady layer;
  int done = 0;
  for (int steady = 0;; ++steady) {
    Wavering copy;
    copy.steady_visits = steady;
    try {
      gradcheck(layer, copy, floats({4, 3}));
      ++done;
    } catch (const std::invalid_argument&) {
    }
    EXPECT_TRUE(array_equal(copy.weight.value(), ones<double>({3}))) << steady;
    EXPECT_TRUE(array_equal(copy.offset.value(), zeros<double>({3}))) << steady;
    if (copy.visits <= steady) break;
  }
  EXPECT_GE(done, 1);
}

}  // namespace
