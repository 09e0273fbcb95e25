#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <xgrad/optim/clip.hpp>
#include <xgrad/optim/gradient_norms.hpp>

#include "throws.hpp"

namespace {

using namespace xgrad;

template <class T>
struct Net : Module<T> {
  void visit(Visitor<T>& v) override {
    v("weight", weight), v("zeros", zero), v("frozen", frozen), v("unused", unused), v("tied", weight), v("none", none);
  }
  Variable<T> weight{Array<T>{{3, 0}, {0, 4}}, true}, zero{zeros<T>({2}), true}, frozen{Array<T>{2}, true},
      unused{Array<T>{6, 8}, true}, none{zeros<T>({0, 2}), true};
};

template <class T>
class GradientNormsOf : public testing::Test {
 public:
  GradientNormsOf() {
    net.weight.set_grad({{1, -2}, {-2, 0}});
    net.zero.set_grad({3, 4});
    net.frozen.set_grad({100});
    net.frozen.set_requires_grad(false);
    net.none.set_grad(zeros<T>({0, 2}));
  }
  Net<T> net;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(GradientNormsOf, Types, );

TYPED_TEST(GradientNormsOf, NumbersByParameter) {
  const GradientNorms norms = gradient_norms(this->net);
  ASSERT_EQ(norms.parameters.size(), 5u) << "a tied parameter once";
  const GradientNorm& w = norms.parameters[0];
  EXPECT_EQ(w.name, "weight");
  EXPECT_EQ(w.shape, (Shape{2, 2}));
  EXPECT_TRUE(w.has_gradient && !w.frozen);
  EXPECT_EQ(w.gradient, 3);
  EXPECT_EQ(w.weight, 5);
  EXPECT_EQ(w.ratio, 0.6);
  EXPECT_EQ(w.largest, 2);
  EXPECT_EQ(w.not_finite, 0u);
  EXPECT_EQ(norms.parameters[1].ratio, std::numeric_limits<double>::infinity());
  EXPECT_EQ(norms.parameters[4].ratio, 0) << "no weight and no gradient";
  EXPECT_TRUE(norms.parameters[2].frozen && norms.parameters[2].has_gradient);
  EXPECT_FALSE(norms.parameters[3].has_gradient || norms.parameters[3].frozen);
  EXPECT_EQ(norms.parameters[3].weight, 10);
  EXPECT_EQ(norms.total, std::sqrt(9.0 + 25));
  EXPECT_EQ(norms.total, clip_grad_norm(this->net.parameters(), std::numeric_limits<double>::infinity()));
}

TYPED_TEST(GradientNormsOf, Table) {
  const auto table = [&] {
    std::ostringstream out;
    out << gradient_norms(this->net);
    return out.str();
  };
  EXPECT_EQ(table(), R"(name    shape   |grad|  |weight|  ratio  max |grad|
weight  (2, 2)  3       5         0.6    2
zeros   (2,)    5       0         inf    4
frozen  (1,)    100     2         50     100         frozen
unused  (2,)            10                           no gradient
none    (0, 2)  0       0         0      0
total |grad|: 5.83095
)");
  this->net.zero_grad();
  EXPECT_NE(table().find("frozen  (1,)            2                            frozen\n"), std::string::npos)
      << table();
  EXPECT_NE(table().find("total |grad|: 0\n"), std::string::npos);
}

TYPED_TEST(GradientNormsOf, NotFinite) {
  using T = TypeParam;
  this->net.weight.mutate_grad([](Array<T>& g) {
    g(0, 0) = std::numeric_limits<T>::infinity();
    g(0, 1) = std::numeric_limits<T>::quiet_NaN();
  });
  this->net.frozen.mutate_grad([](Array<T>& g) { g.fill(std::numeric_limits<T>::quiet_NaN()); });
  const GradientNorms norms = gradient_norms(this->net);
  EXPECT_EQ(norms.parameters[0].not_finite, 2u);
  EXPECT_EQ(norms.parameters[0].largest, 2) << "of the finite ones";
  EXPECT_TRUE(std::isnan(norms.parameters[0].gradient) && std::isnan(norms.parameters[0].ratio));
  EXPECT_TRUE(std::isnan(norms.total));
  EXPECT_NE(norms.text().find("  2 of 4 entries not finite\n"), std::string::npos) << norms.text();
  EXPECT_NE(norms.text().find("  frozen, 1 of 1 entries not finite\n"), std::string::npos) << norms.text();
  EXPECT_NE(norms.text().find("total |grad|: NaN\n"), std::string::npos);
}

TEST(GradientNorms, DoNotOverflow) {
  Net<double> net;
  net.weight.set_grad({{3e200, 4e200}, {0, 0}});
  EXPECT_DOUBLE_EQ(gradient_norms(net).parameters[0].gradient, 5e200);
  EXPECT_DOUBLE_EQ(gradient_norms(net).total, 5e200);
}

}  // namespace
