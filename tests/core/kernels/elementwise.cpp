#include <xgrad/core/kernels/elementwise.hpp>

#include "core/kernels/reference.hpp"

namespace {

using namespace reference;
using Ld = long double;  // the references are a precision above what they check

template <class T>
class Elementwise : public Typed<T> {};
TYPED_TEST_SUITE(Elementwise, Types, TypeNames);

Ld sigmoid(Ld x) { return 1 / (1 + std::exp(-x)); }
Ld cdf(Ld x) { return std::erfc(-x / std::sqrt(Ld(2))) / 2; }
Ld pdf(Ld x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(Ld(-1))); }
Ld u(Ld x) { return std::sqrt(2 / std::acos(Ld(-1))) * (x + Ld(0.044715) * x * x * x); }

template <class T>
struct Row {
  const char* name;
  Array<T> (*function)(const Array<T>&);
  Ld (*want)(Ld);
  double low, high;  // the interval to test on
};

template <class T>
const std::vector<Row<T>>& table() {
  static const std::vector<Row<T>> rows{
      {"exp", xgrad::exp<T>, [](Ld x) { return std::exp(x); }, -80, 80},
      {"log", xgrad::log<T>, [](Ld x) { return std::log(x); }, 0, 5},
      {"log1p", xgrad::log1p<T>, [](Ld x) { return std::log1p(x); }, -0.9, 5},
      {"expm1", xgrad::expm1<T>, [](Ld x) { return std::expm1(x); }, -3, 3},
      {"sqrt", xgrad::sqrt<T>, [](Ld x) { return std::sqrt(x); }, 0, 5},
      {"rsqrt", xgrad::rsqrt<T>, [](Ld x) { return 1 / std::sqrt(x); }, 0, 5},
      {"abs", xgrad::abs<T>, [](Ld x) { return x < 0 ? -x : x; }, -2, 2},
      {"square", xgrad::square<T>, [](Ld x) { return x * x; }, -2, 2},
      {"sign", xgrad::sign<T>, [](Ld x) { return Ld((x > 0) - (x < 0)); }, -2, 2},
      {"sin", xgrad::sin<T>, [](Ld x) { return std::sin(x); }, -7, 7},
      {"cos", xgrad::cos<T>, [](Ld x) { return std::cos(x); }, -7, 7},
      {"tanh", xgrad::tanh<T>, [](Ld x) { return std::tanh(x); }, -4, 4},
      {"erf", xgrad::erf<T>, [](Ld x) { return std::erf(x); }, -4, 4},
      {"sigmoid", xgrad::sigmoid<T>, sigmoid, -30, 30},
      {"softplus", xgrad::softplus<T>, [](Ld x) { return std::log1p(std::exp(x)); }, -30, 30},
      {"relu", xgrad::relu<T>, [](Ld x) { return x > 0 ? x : 0; }, -2, 2},
      {"gelu", xgrad::gelu<T>, [](Ld x) { return x * cdf(x); }, -3, 3},
      {"gelu_grad", xgrad::gelu_grad<T>, [](Ld x) { return cdf(x) + x * pdf(x); }, -3, 3},
      {"gelu_tanh", xgrad::gelu_tanh<T>, [](Ld x) { return x * sigmoid(2 * u(x)); }, -3, 3},
      {"gelu_tanh_grad", xgrad::gelu_tanh_grad<T>,
       [](Ld x) {
         const Ld t = std::tanh(u(x));
         return (1 + t) / 2 + x / 2 * (1 - t * t) * std::sqrt(2 / std::acos(Ld(-1))) * (1 + 3 * Ld(0.044715) * x * x);
       },
       -3, 3},
      {"silu", xgrad::silu<T>, [](Ld x) { return x * sigmoid(x); }, -30, 30},
      {"silu_grad", xgrad::silu_grad<T>, [](Ld x) { return sigmoid(x) + x * sigmoid(x) * (1 - sigmoid(x)); }, -30, 30},
      {"normal_pdf", xgrad::normal_pdf<T>, pdf, -4, 4},
      {"normal_cdf", xgrad::normal_cdf<T>, cdf, -4, 4},
  };
  return rows;
}

TYPED_TEST(Elementwise, AgreesWithLongDoubleOnEveryShape) {
  using T = TypeParam;
  for (const Row<T>& row : table<T>())
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{17}, Shape{2, 3, 5}, Shape{3, 0, 2}, Shape{400}}) {
      SCOPED_TRACE(row.name);
      const Array<T> x = sample<T>(shape, 7, row.low, row.high);
      const auto want = [&](const Position& p) { return static_cast<double>(row.want(at(x, p))); };
      expect_all(row.function(x), shape, want, 60 * unit<T>(), 10 * unit<T>());
    }
}

TYPED_TEST(Elementwise, NaNStaysInAllOfThem) {
  using T = TypeParam;
  for (const Row<T>& row : table<T>())
    EXPECT_TRUE(std::isnan(xgrad::item(row.function(xgrad::full<T>({}, T(kNaN)))))) << row.name;
}

TYPED_TEST(Elementwise, LazyExpressionsAreEvaluated) {
  using T = TypeParam;
  const Array<T> x = sample<T>({3, 5}, 1);
  const Array<T> y = xgrad::exp(x * x + T(1));
  expect_all(
      y, {3, 5}, [&](const Position& p) { return std::exp(at(x, p) * at(x, p) + 1); }, 40 * unit<T>());
}

TYPED_TEST(Elementwise, ExtremesNeitherOverflowNorVanishTooSoon) {
  using T = TypeParam;
  const Array<T> ends{T(-kInf), T(-1e30), T(-1000), T(1000), T(1e30), T(kInf)};
  expect_numbers(xgrad::sigmoid(ends), {0, 0, 0, 1, 1, 1}, 0);
  expect_numbers(xgrad::softplus(ends), {0, 0, 0, 1000, static_cast<double>(T(1e30)), kInf}, 0);
  for (const auto f : {xgrad::gelu<T>, xgrad::gelu_tanh<T>, xgrad::silu<T>})
    expect_numbers(f(ends), {0, 0, 0, 1000, static_cast<double>(T(1e30)), kInf}, 0);
  for (const auto f : {xgrad::gelu_grad<T>, xgrad::gelu_tanh_grad<T>, xgrad::silu_grad<T>})
    expect_numbers(f(ends), {0, 0, 0, 1, 1, 1}, 0);
  const T small = T(1e-30);
  expect_numbers(xgrad::log1p(Array<T>{small}), {static_cast<double>(small)}, 2 * unit<T>());
  expect_numbers(xgrad::expm1(Array<T>{small}), {static_cast<double>(small)}, 2 * unit<T>());
  expect_numbers(xgrad::softplus(Array<T>{T(-60)}), {8.75651076269652e-27}, 40 * unit<T>());
  expect_numbers(xgrad::sigmoid(Array<T>{T(-60)}), {8.75651076269652e-27}, 40 * unit<T>());
}

TYPED_TEST(Elementwise, SpecialPoints) {
  using T = TypeParam;
  const Array<T> x{T(-1), T(0), T(kInf)};
  expect_numbers(xgrad::log(x), {kNaN, -kInf, kInf}, 0);
  expect_numbers(xgrad::sqrt(x), {kNaN, 0, kInf}, 0);
  expect_numbers(xgrad::rsqrt(x), {kNaN, kInf, 0}, 0);
  expect_numbers(xgrad::sign(x), {-1, 0, 1}, 0);
}

TEST(Activations, ACT_01_TwoFormsOfGelu) {
  const Array<double> x{-6, -3, -1, 0, 0.5, 1, 3};
  const double far = 1e-10;
  expect_numbers(xgrad::gelu(x),
                 {-5.919525870226189e-9, -0.004049694094890284, -0.1586552539314571, 0, 0.3457312306370066,
                  0.8413447460685429, 2.99595030590511},
                 1e-12);
  expect_numbers(xgrad::gelu_grad(x),
                 {-3.546870945390201e-8, -0.01194564720418393, -0.0833154705876863, 0.5, 0.8674951246561628,
                  1.083315470587686, 1.011945647204184},
                 1e-12);
  expect_numbers(xgrad::gelu_tanh(x),
                 {-8.439646700762297e-11, -0.003637392081773019, -0.1588080093917233, 0, 0.3457140098251439,
                  0.8411919906082767, 2.996362607918227},
                 1e-12);
  expect_numbers(xgrad::gelu_tanh_grad(x),
                 {-7.709973930953696e-10, -0.01158416663096973, -0.08296408384578256, 0.5, 0.8673699035346423,
                  1.082964083845783, 1.01158416663097},
                 1e-12);
  expect_numbers(xgrad::gelu(Array<double>{-9}), {-1.015729565358e-18}, far);
  expect_numbers(xgrad::abs(xgrad::gelu(Array<double>{-2.699}) - xgrad::gelu_tanh(Array<double>{-2.699})), {4.732e-4},
                 1e-3);
}

TYPED_TEST(Elementwise, ACT_03_ReluDoesNotHideNaN) {
  using T = TypeParam;
  const Array<T> y = xgrad::relu(Array<T>{T(kNaN), T(1), T(-1), T(0), T(-0.0)});
  expect_numbers(y, {kNaN, 1, 0, 0, 0}, 0);
  EXPECT_FALSE(std::signbit(y(4)));
}

// The kernels of gradients against the slopes, and their check of shapes.
TYPED_TEST(Elementwise, GradientsInOnePass) {
  using T = TypeParam;
  using Backward = Array<T> (*)(const Array<T>&, const Array<T>&);
  struct Case {
    const char* name;
    Backward backward;
    Array<T> (*slope)(const Array<T>&);
  };
  const Case cases[] = {
      {"relu_backward", xgrad::relu_backward<T>, [](const Array<T>& y) { return xgrad::sign(xgrad::relu(y)); }},
      {"sigmoid_backward", xgrad::sigmoid_backward<T>, [](const Array<T>& y) { return Array<T>(y * (T(1) - y)); }},
      {"tanh_backward", xgrad::tanh_backward<T>, [](const Array<T>& y) { return Array<T>(T(1) - y * y); }},
      {"gelu_backward", xgrad::gelu_backward<T>, xgrad::gelu_grad<T>},
      {"gelu_tanh_backward", xgrad::gelu_tanh_backward<T>, xgrad::gelu_tanh_grad<T>},
      {"silu_backward", xgrad::silu_backward<T>, xgrad::silu_grad<T>}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Array<T> x = sample<T>({3, 17}, 1), g = sample<T>({3, 17}, 2), slope = c.slope(x);
    expect_all(
        c.backward(g, x), {3, 17}, [&](const Position& p) { return at(g, p) * at(slope, p); }, 4 * unit<T>(),
        4 * unit<T>());
    EXPECT_EQ(message<xgrad::ShapeError>([&] { c.backward(g, sample<T>({17}, 1)); }),
              std::string("[") + c.name + "] the gradient must have shape (17,) but has shape (3, 17)");
  }
}

}  // namespace
