// The library's layers in float, from small to large: right ones pass gradcheck, and 5% too much is found.
#include <gtest/gtest.h>

#include <xgrad/core/record.hpp>
#include <xgrad/core/testing.hpp>
#include <xgrad/layers/feed_forward.hpp>
#include <xgrad/layers/layer_norm.hpp>
#include <xgrad/layers/linear.hpp>

namespace {

using namespace xgrad;

/// Makes a Module<T> of width d.
struct MakeLinear {
  template <class T>
  static Linear<T> make(std::size_t d, Rng& rng) {
    return Linear<T>(d, d, rng);
  }
};
struct MakeLayerNorm {
  template <class T>
  static LayerNorm<T> make(std::size_t d, Rng&) {
    return LayerNorm<T>(d);
  }
};
template <Activation activation>
struct MakeFeedForward {
  template <class T>
  static FeedForward<T> make(std::size_t d, Rng& rng) {
    FeedForwardOptions options;
    options.d_model = d;
    options.activation = activation;
    options.dropout = 0.1;
    return FeedForward<T>(options, rng);
  }
};

/// A layer, the gradient by whose input is multiplied by a factor.
template <class T, class Make>
struct Spoiled final : Module<T> {
  Spoiled(std::size_t d, Rng rng) : layer(Make::template make<T>(d, rng)) {}
  Variable<T> operator()(const Variable<T>& x) {
    const T by = static_cast<T>(factor);
    return layer(record<T>("spoiled", {x}, saves::nothing, x.value(),
                           [by](ArrayBackward<T>& b) { b.add(0, Array<T>(b.grad() * by)); }));
  }
  void visit(Visitor<T>& v) override { v("layer", layer); }
  decltype(Make::template make<T>(0, std::declval<Rng&>())) layer;
  double factor = 1;
};

template <class Make>
class FloatGradients : public ::testing::Test {};
using Layers = ::testing::Types<MakeLinear, MakeLayerNorm, MakeFeedForward<Activation::gelu>,
                                MakeFeedForward<Activation::relu>, MakeFeedForward<Activation::swiglu>>;
TYPED_TEST_SUITE(FloatGradients, Layers, );

TYPED_TEST(FloatGradients, OverSizes) {
  for (const std::size_t d : {3, 8, 64})
    for (const std::size_t rows : {1, 16}) {
      SCOPED_TRACE(::testing::Message() << "(" << rows << ", " << d << ")");
      Spoiled<float, TypeParam> layer(d, Rng(d));
      Spoiled<double, TypeParam> copy(d, Rng(d));
      const Array<float> x = Rng(rows).normal<float>({rows, d});
      GradcheckOptions options;
      options.max_entries = 60;
      EXPECT_TRUE(xgrad::testing::gradients_match(layer, x, options));
      EXPECT_TRUE(xgrad::testing::gradients_match(layer, copy, x, options));
      const auto expect_found = [](const GradcheckReport& report) {
        EXPECT_GE(report.inputs[0].wrong, report.inputs[0].checked / 2) << report;
        EXPECT_EQ(report.wrong(), report.inputs[0].wrong) << report;
      };
      for (const double factor : {1.05, 0.95}) {
        layer.factor = factor;
        expect_found(gradcheck(layer, x, options));
      }
      for (const double factor : {1.01, 0.99}) {
        layer.factor = factor;
        expect_found(gradcheck(layer, copy, x, options));
      }
    }
}

}  // namespace
