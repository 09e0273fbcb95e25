#include <xgrad/layers/layer_norm.hpp>

#include <xgrad/core/backward.hpp>
#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/core/testing.hpp>

#include "core/kernels/reference.hpp"
#include "throws.hpp"

namespace {

using reference::expect_numbers;
using reference::sample;
using xgrad::Array;
using xgrad::LayerNorm;
using xgrad::LayerNormOptions;
using xgrad::NormForm;
using xgrad::Shape;
using xgrad::Variable;

LayerNormOptions options(const Shape& shape, NormForm form = NormForm::population) {
  LayerNormOptions o;
  o.shape = shape;
  o.form = form;
  return o;
}

// The published formulas, written with the ops of the library.
template <class T>
Variable<T> plain(const Variable<T>& x, const Variable<T>& gamma, const Variable<T>& beta, double eps, NormForm form) {
  std::vector<std::ptrdiff_t> last;
  for (std::size_t i = 0; i < gamma.dimension(); ++i) last.push_back(-static_cast<std::ptrdiff_t>(i) - 1);
  const auto c = x - xgrad::mean(x, last, xgrad::keep_dims);
  const auto n = static_cast<T>(gamma.size()), e = static_cast<T>(eps);
  const auto squares = xgrad::sum(c * c, last, xgrad::keep_dims);
  if (form == NormForm::population) return gamma * c / xgrad::sqrt(squares / n + e) + beta;
  return gamma * c / (xgrad::sqrt(squares / (n - T(1))) + e) + beta;
}

template <class T>
class LayerNormTyped : public ::testing::Test {};
TYPED_TEST_SUITE(LayerNormTyped, reference::Types, );

TYPED_TEST(LayerNormTyped, WorkedExample) {
  LayerNorm<TypeParam> norm(4);
  const auto y = norm(xgrad::from<TypeParam>({1, 2, 3, 4, 1, 1, 1, 1}, {2, 4}));
  expect_numbers(y.value(),
                 {-1.3416354199689269, -0.4472118066563090, 0.4472118066563090, 1.3416354199689269, 0, 0, 0, 0}, 1e-6);
}

TEST(LayerNorm, LN_01_LargeOffset) {
  const std::vector<double> want = {-1.34163541996893, -0.447211806656309, 0.447211806656309, 1.34163541996893};
  for (const double m : {0.0, 40000.0, 80000.0, 1e8, 1e9}) {
    LayerNorm<double> norm(4);
    const auto y = norm(xgrad::from<double>({m, m + 1, m + 2, m + 3}));
    expect_numbers(y.value(), want, 1e-12);
    EXPECT_TRUE(xgrad::array_equal(y.value(), norm(xgrad::from<double>({0, 1, 2, 3})).value())) << m;
  }
  for (const float m : {0.0f, 40000.0f, 80000.0f, 1e6f}) {
    LayerNorm<float> norm(4);
    expect_numbers(norm(xgrad::from<float>({m, m + 1, m + 2, m + 3})).value(), want, 2e-6);
  }
}

TEST(LayerNorm, LN_02_ConstantRow) {
  LayerNorm<double> wide(256);
  wide.beta.mutate([](auto& b) { b = sample<double>({256}, 1); });
  EXPECT_TRUE(xgrad::array_equal(wide(xgrad::full<double>({256}, 1234.0)).value(), wide.beta.value()));
  LayerNorm<float> wide_float(256);
  wide_float.beta.mutate([](auto& b) { b = sample<float>({256}, 1); });
  EXPECT_TRUE(xgrad::array_equal(wide_float(xgrad::full<float>({256}, 1234.0f)).value(), wide_float.beta.value()));

  LayerNorm<double> ten(10);
  expect_numbers(ten(xgrad::full<double>({10}, 0.1)).value(), std::vector<double>(10, 0.0), 0, 1e-13);

  LayerNorm<double> four(4);
  for (const double c : {0.0, 7.0}) {
    Variable<double> x(xgrad::full<double>({4}, c), true);
    four(x).backward(xgrad::from<double>({1, 2, 3, 4}));
    expect_numbers(x.grad(), {-474.341649025257, -158.113883008419, 158.113883008419, 474.341649025257}, 1e-12);
    x.zero_grad();
    four(x).backward(xgrad::from<double>({1, 0, 0, 0}));
    expect_numbers(x.grad(), {237.170824512628, -79.0569415042095, -79.0569415042095, -79.0569415042095}, 1e-12);
  }
}

TEST(LayerNorm, LN_02_EpsOfZeroIsRefused) {
  const Variable<double> x(xgrad::ones<double>({4}));
  for (const double eps : {0.0, -1e-5, std::nan(""), reference::kInf}) {
    EXPECT_THROWS(std::invalid_argument, xgrad::layer_norm(x, {}, {}, eps),
                  "[layer_norm] eps must be finite and above 0 but is ");
    auto o = options({4});
    o.eps = eps;
    EXPECT_THROWS(std::invalid_argument, LayerNorm<double>(o), "[LayerNorm] eps must be finite and above 0 but is ");
  }
}

TEST(LayerNorm, LN_03_BothForms) {
  const auto x = xgrad::from<double>({1, 0, 0, 0});
  auto o = options({4});
  o.eps = 0.25;
  expect_numbers(LayerNorm<double>(o)(x).value(),
                 {1.13389341902768, -0.377964473009227, -0.377964473009227, -0.377964473009227}, 1e-13);
  expect_numbers(LayerNorm<double>(4)(x).value(),
                 {1.73200462139478, -0.57733487379826, -0.57733487379826, -0.57733487379826}, 1e-13);
  o.form = NormForm::unbiased;  // (3/4) / (1/2 + 1/4)
  expect_numbers(LayerNorm<double>(o)(x).value(), {1, -1.0 / 3, -1.0 / 3, -1.0 / 3}, 1e-13);
  o.eps.reset();
  expect_numbers(LayerNorm<double>(o)(x).value(),
                 {0.75 / 0.500001, -0.25 / 0.500001, -0.25 / 0.500001, -0.25 / 0.500001}, 1e-13);
}

TEST(LayerNorm, LN_04_RowsOfLengthOne) {
  LayerNorm<double> norm(1);
  for (const double gamma : {2.0, 1e10}) {
    norm.zero_grad();
    norm.gamma.mutate([&](auto& g) { g(0) = gamma; });
    norm.beta.mutate([](auto& b) { b(0) = 3; });
    Variable<double> x(xgrad::from<double>({1e6, -3}, {2, 1}), true);
    const auto y = norm(x);
    EXPECT_TRUE(xgrad::array_equal(y.value(), xgrad::full<double>({2, 1}, 3.0)));
    y.backward(xgrad::from<double>({1, 5}, {2, 1}));
    EXPECT_TRUE(xgrad::array_equal(x.grad(), xgrad::zeros<double>({2, 1})));
    EXPECT_EQ(norm.gamma.grad()(0), 0);
    EXPECT_EQ(norm.beta.grad()(0), 6);
  }
}

TEST(LayerNorm, LN_04_NoRows) {
  for (const Shape& shape : {Shape{0, 4}, Shape{1, 0, 4}}) {
    LayerNorm<double> norm(4);
    Variable<double> x(xgrad::zeros<double>(shape), true);
    const auto y = norm(x);
    EXPECT_EQ(y.shape(), shape);
    y.backward(xgrad::zeros<double>(shape));
    EXPECT_EQ(x.grad().shape(), shape);
    EXPECT_TRUE(xgrad::array_equal(norm.gamma.grad(), xgrad::zeros<double>({4})));
    EXPECT_TRUE(xgrad::array_equal(norm.beta.grad(), xgrad::zeros<double>({4})));
  }
}

TEST(LayerNorm, BatchAndSequenceHaveNoInfluence) {
  LayerNorm<double> norm(4);
  const auto x = sample<double>({2, 3, 4}, 2);
  const auto y = norm(x).value();
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const auto row = norm(xgrad::from<double>(x.data() + (i * 3 + j) * 4, {4})).value();
      for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(row(k), y(i, j, k));
    }
}

TEST(LayerNorm, SeveralAxesAreOneRow) {
  LayerNorm<double> two(options({3, 4}));
  two.gamma.mutate([](auto& g) { g = sample<double>({3, 4}, 3); });
  LayerNorm<double> one(12);
  one.gamma.mutate([&](auto& g) { g = xgrad::from(two.gamma.value().data(), {12}); });
  const auto x = sample<double>({5, 3, 4}, 4);
  const auto y = two(x).value(), flat = one(xgrad::from(x.data(), {5, 12})).value();
  EXPECT_EQ(y.shape(), (Shape{5, 3, 4}));
  expect_numbers(y, std::vector<double>(flat.begin(), flat.end()), 0);
}

// Values and first derivatives of the kernel against the formula in plain ops, and the derivatives that a recorded pass
// gives against those of an ordinary one.
template <class T>
void compare_with_plain(std::size_t rows, const Shape& row, NormForm form, double tolerance) {
  Shape shape{rows};
  shape.insert(shape.end(), row.begin(), row.end());
  const double eps = form == NormForm::population ? 1e-5 : 1e-6;
  const Variable<T> x(sample<T>(shape, 1), true), gamma(sample<T>(row, 2), true), beta(sample<T>(row, 3), true);
  const Variable<T> seed(sample<T>(shape, 4));
  const auto fused = xgrad::layer_norm(x, gamma, beta, eps, form), composed = plain(x, gamma, beta, eps, form);
  const auto near = [&](const Variable<T>& a, const Variable<T>& b, double scale, const char* what) {
    ASSERT_EQ(a.shape(), b.shape());
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a.value().data()[i], b.value().data()[i], tolerance * scale)
          << what << " of " << xgrad::to_string(shape);
  };
  near(fused, composed, 1, "value");
  xgrad::GradOptions keep;
  keep.retain_graph = true;
  const auto by_kernel = xgrad::grad({fused}, {x, gamma, beta}, keep, {seed});
  const auto by_plain = xgrad::grad({composed}, {x, gamma, beta}, keep, {seed});
  keep.create_graph = true;
  const auto by_twin = xgrad::grad({fused}, {x, gamma, beta}, keep, {seed});
  for (std::size_t i = 0; i < 3; ++i) {
    double scale = 1;
    for (const T g : by_plain[i].value()) scale = std::max(scale, std::abs(static_cast<double>(g)));
    near(by_kernel[i], by_plain[i], scale, "kernel gradient");
    near(by_twin[i], by_plain[i], scale, "twin gradient");
  }
}

// What a recorded pass gives by x is what the kernel gives, at any offset and size.
template <class T>
void compare_recorded(const Array<T>& numbers, double eps, NormForm form, const char* what) {
  const Variable<T> x(numbers, true), seed(sample<T>(numbers.shape(), 9));
  const Variable<T> y = xgrad::layer_norm(x, {}, {}, eps, form);
  const auto ordinary = xgrad::grad({y}, {x}, {false, true}, {seed})[0].value();
  const auto recorded = xgrad::grad({y}, {x}, {true}, {seed})[0].value();
  const double scale = static_cast<double>(xgrad::item(xgrad::amax(xgrad::abs(ordinary))));
  EXPECT_GT(scale, 0) << what;
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(static_cast<double>(recorded.data()[i]) / scale, static_cast<double>(ordinary.data()[i]) / scale,
                sizeof(T) == 4 ? 2e-6 : 2e-11)
        << what << ' ' << i;
}

TYPED_TEST(LayerNormTyped, RecordedGradientsKeepDigitsAndRange) {
  using T = TypeParam;
  const auto base = sample<T>({3, 64}, 8);
  const T large = sizeof(T) == 4 ? T(1e20) : T(1e150);
  for (const NormForm form : {NormForm::population, NormForm::unbiased}) {
    compare_recorded<T>(base, 1e-5, form, "no offset");
    compare_recorded<T>(base + T(1e6), 1e-5, form, "offset");
    compare_recorded<T>(base * large, 1e-5, form, "large");
  }
}

TEST(LayerNorm, KernelAgreesWithPlainOps) {
  for (const NormForm form : {NormForm::population, NormForm::unbiased})
    for (const std::size_t rows : {1, 3, 17})
      for (const std::size_t width : {2, 3, 7, 17, 1023}) {
        compare_with_plain<double>(rows, {width}, form, 1e-12);
        compare_with_plain<float>(rows, {width}, form, width == 2 ? 1e-3 : 2e-5);
      }
  compare_with_plain<double>(1023, {3}, NormForm::population, 1e-11);
  compare_with_plain<double>(5, {3, 7}, NormForm::population, 1e-12);
  compare_with_plain<double>(5, {3, 7}, NormForm::unbiased, 1e-12);
}

TEST(LayerNorm, GradientsWithAndWithoutParameters) {
  const auto x = sample<double>({2, 3, 5}, 1), gamma = sample<double>({5}, 2), beta = sample<double>({5}, 3);
  using V = Variable<double>;
  for (const NormForm form : {NormForm::population, NormForm::unbiased}) {
    const auto both = [form](const V& a, const V& g, const V& b) { return xgrad::layer_norm(a, g, b, 1e-3, form); };
    const auto scale = [form](const V& a, const V& g) { return xgrad::layer_norm(a, g, {}, 1e-3, form); };
    const auto offset = [form](const V& a, const V& b) { return xgrad::layer_norm(a, {}, b, 1e-3, form); };
    const auto none = [form](const V& a) { return xgrad::layer_norm(a, {}, {}, 1e-3, form, 2); };
    EXPECT_TRUE(xgrad::testing::gradients_match(both, {x, gamma, beta}));
    EXPECT_TRUE(xgrad::testing::gradients_match(scale, {x, gamma}));
    EXPECT_TRUE(xgrad::testing::gradients_match(offset, {x, beta}));
    EXPECT_TRUE(xgrad::testing::gradients_match(none, x));
    EXPECT_TRUE(xgrad::testing::second_gradients_match(both, {x, gamma, beta}));
    EXPECT_TRUE(xgrad::testing::second_gradients_match(scale, {x, gamma}));
    EXPECT_TRUE(xgrad::testing::second_gradients_match(offset, {x, beta}));
    EXPECT_TRUE(xgrad::testing::second_gradients_match(none, x));
  }
}

TEST(LayerNorm, Contract) {
  for (const NormForm form : {NormForm::population, NormForm::unbiased})
    for (const bool gamma : {true, false})
      for (const bool beta : {true, false}) {
        auto o = options({5}, form);
        o.gamma = gamma;
        o.beta = beta;
        LayerNorm<double> norm(o);
        EXPECT_TRUE(xgrad::testing::layer_contract(norm, sample<double>({2, 3, 5}, 6)));
        EXPECT_EQ(norm.parameters().size(), (gamma ? 1u : 0u) + (beta ? 1u : 0u));
      }
  LayerNorm<double> wide(options({3, 5}));
  EXPECT_TRUE(xgrad::testing::layer_contract(wide, sample<double>({2, 3, 5}, 7)));
}

TEST(LayerNorm, NamesAndFirstNumbers) {
  LayerNorm<float> norm(3);
  const auto named = norm.named_parameters();
  ASSERT_EQ(named.size(), 2u);
  EXPECT_EQ(named[0].first, "weight");
  EXPECT_EQ(named[1].first, "bias");
  EXPECT_TRUE(xgrad::array_equal(norm.gamma.value(), xgrad::ones<float>({3})));
  EXPECT_TRUE(xgrad::array_equal(norm.beta.value(), xgrad::zeros<float>({3})));
}

TEST(LayerNorm, NaNStaysInItsRow) {
  auto x = sample<double>({2, 3}, 8);
  x(0, 1) = reference::kNaN;
  const auto y = LayerNorm<double>(3)(x).value();
  EXPECT_TRUE(std::isnan(y(0, 0)) && std::isnan(y(0, 2)));
  EXPECT_TRUE(std::isfinite(y(1, 0)) && std::isfinite(y(1, 2)));
}

TEST(LayerNorm, Errors) {
  LayerNorm<double> norm(8), two(options({4, 5}));
  EXPECT_THROWS(xgrad::ShapeError, norm(xgrad::zeros<double>({2, 5, 6})),
                "[LayerNorm] last axis must be 8 but input is (2, 5, 6)");
  EXPECT_THROWS(xgrad::ShapeError, norm(xgrad::zeros<double>({})), "[LayerNorm] last axis must be 8 but input is ()");
  EXPECT_THROWS(xgrad::ShapeError, two(xgrad::zeros<double>({2, 5})),
                "[LayerNorm] last axes must be (4, 5) but input is (2, 5)");
  EXPECT_THROWS(xgrad::ShapeError, two(xgrad::zeros<double>({5})),
                "[LayerNorm] last axes must be (4, 5) but input is (5,)");
  EXPECT_THROWS(std::invalid_argument, LayerNorm<double>(0),
                "[LayerNorm] the shape of a row must have one axis or more, each at least 1, but is (0,)");
  EXPECT_THROWS(std::invalid_argument, LayerNorm<double>(options({})), "but is ()");
  EXPECT_THROWS(xgrad::ShapeError, LayerNorm<double>(options({1}, NormForm::unbiased)),
                "[LayerNorm] the unbiased form divides by n - 1 and needs at least 2 numbers a row but got 1");

  using V = Variable<double>;
  const V x(xgrad::ones<double>({2, 3, 4})), four(xgrad::ones<double>({4})), five(xgrad::ones<double>({5}));
  EXPECT_THROWS(xgrad::ShapeError, xgrad::layer_norm(x, five, {}),
                "[layer_norm] last axis must be 5 but input is (2, 3, 4)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::layer_norm(x, {}, five),
                "[layer_norm] last axis must be 5 but input is (2, 3, 4)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::layer_norm(x, four, five),
                "[layer_norm] beta must have shape (4,) but has shape (5,)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::layer_norm(x, V(1.0), {}),
                "[layer_norm] gamma and beta must have the shape of a row but are 0-d");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::layer_norm(x, four, {}, 1e-5, NormForm::population, 2),
                "a row must span 2 axes but the parameter has shape (4,)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::layer_norm(x, {}, {}, 1e-5, NormForm::population, 4),
                "[layer_norm] a row spans the last 4 axes but input is (2, 3, 4)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::layer_norm(V(xgrad::zeros<double>({3, 0})), {}, {}),
                "[layer_norm] needs at least one number a row but input is (3, 0)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::layer_norm(V(xgrad::zeros<double>({3, 1})), {}, {}, 1e-5, NormForm::unbiased),
                "needs at least 2 numbers a row but got 1");
}

}  // namespace
