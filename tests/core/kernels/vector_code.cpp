// Kernels in every instruction set and with several numbers of threads: odd sizes, rows that start anywhere, against
// plain loops in double, and the same bits for all numbers of threads.
#include <xgrad/core/kernels/bias_activation.hpp>
#include <xgrad/core/kernels/dropout.hpp>
#include <xgrad/core/kernels/elementwise.hpp>
#include <xgrad/core/kernels/layer_norm.hpp>
#include <xgrad/core/kernels/reduce.hpp>
#include <xgrad/core/kernels/softmax.hpp>

#include "core/kernels/instruction_sets.hpp"
#include "core/kernels/reference.hpp"

namespace {

using namespace reference;
using xgrad::Nonlinearity;
using xgrad::NormForm;

template <class T>
class VectorCode : public Typed<T> {};
TYPED_TEST_SUITE(VectorCode, Types, TypeNames);

constexpr std::size_t kWidths[] = {1, 3, 7, 17, 64, 1023};
constexpr Nonlinearity kAll[] = {Nonlinearity::relu, Nonlinearity::gelu, Nonlinearity::gelu_tanh, Nonlinearity::silu};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

double value(Nonlinearity f, double x) {
  switch (f) {
    case Nonlinearity::relu:
      return x > 0 ? x : 0;
    case Nonlinearity::gelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Nonlinearity::gelu_tanh:
      return x * logistic(2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x));
    case Nonlinearity::silu:
      return x * logistic(x);
  }
  return kNaN;
}

double slope(Nonlinearity f, double x) {
  const double h = 1e-5;
  return (value(f, x + h) - value(f, x - h)) / (2 * h);
}

TYPED_TEST(VectorCode, BiasActivationAndItsGradients) {
  using T = TypeParam;
  const double tolerance = sizeof(T) == 8 ? 1e-9 : 16 * unit<T>();  // in double, what the differences above allow
  each_instruction_set([&] {
    for (const Nonlinearity f : kAll)
      for (const std::size_t width : kWidths)
        for (const double p : {0.0, 0.3})
          for (const bool biased : {true, false}) {
            const std::size_t rows = 5;
            const Array<T> x = sample<T>({rows, width}, 1), g = sample<T>({rows, width}, 2);
            const Array<T> bias = biased ? sample<T>({width}, 3) : xgrad::zeros<T>({width});
            const Array<T> mask = xgrad::dropout(xgrad::ones<T>({rows, width}), p, 11);
            const auto in = [&](const Position& q) { return at(x, q) + at(bias, {q[1]}); };
            const auto want_dx = [&](const Position& q) { return at(g, q) * at(mask, q) * slope(f, in(q)); };
            const T* const b = biased ? bias.data() : nullptr;
            const Array<T> y = xgrad::bias_activation(x, b, f, p, 11);
            expect_all(
                y, x.shape(), [&](const Position& q) { return at(mask, q) * value(f, in(q)); }, tolerance, tolerance);
            Array<T> dx = xgrad::full<T>(x.shape(), 9), dbias = xgrad::full<T>({width}, 9);
            xgrad::bias_activation_backward(g, f == Nonlinearity::relu ? y : x, b, f, p, 11, dx.data(), dbias.data());
            expect_all(dx, x.shape(), want_dx, tolerance, 4 * tolerance);
            expect_all(
                dbias, {width},
                [&](const Position& q) {
                  double sum = 0;
                  for (std::size_t i = 0; i < rows; ++i) sum += want_dx({i, q[0]});
                  return sum;
                },
                tolerance, 10 * tolerance);
          }
  });
}

TYPED_TEST(VectorCode, LayerNormOfRowsThatStartAnywhere) {
  using T = TypeParam;
  const double tolerance = sizeof(T) == 8 ? 1e-12 : 40 * unit<T>();
  each_instruction_set([&] {
    for (const std::size_t width : kWidths)
      for (const std::size_t offset : {0, 1, 5}) {
        if (width == 1) continue;
        const std::size_t rows = 70;  // more than two blocks of a sum
        const Array<T> xs = sample<T>({offset + rows * width}, 1, 3, 5), gs = sample<T>({offset + rows * width}, 2);
        const Array<T> gamma = sample<T>({width}, 3), beta = sample<T>({width}, 4);
        Array<T> ys = xs, dxs = xs, dgamma = gamma, dbeta = beta;
        const T *const x = xs.data() + offset, *const g = gs.data() + offset;
        T *const y = ys.data() + offset, *const dx = dxs.data() + offset;
        std::vector<double> mean(rows), rstd(rows), want_gamma(width, 0), want_beta(width, 0);
        xgrad::layer_norm_forward(x, rows, width, gamma.data(), beta.data(), 1e-5, NormForm::population, y, mean.data(),
                                  rstd.data());
        xgrad::layer_norm_backward(g, x, rows, width, gamma.data(), NormForm::population, mean.data(), rstd.data(), dx,
                                   dgamma.data(), dbeta.data());
        const double n = static_cast<double>(width);
        for (std::size_t i = 0; i < rows; ++i) {
          const auto v = [&](std::size_t j) { return static_cast<double>(x[i * width + j]); };
          const auto d = [&](std::size_t j) { return static_cast<double>(g[i * width + j]); };
          double m = 0, squares = 0, a_mean = 0, pull = 0;
          for (std::size_t j = 0; j < width; ++j) m += v(j) / n;
          for (std::size_t j = 0; j < width; ++j) squares += (v(j) - m) * (v(j) - m) / n;
          const double r = 1 / std::sqrt(squares + 1e-5);
          const auto xh = [&](std::size_t j) { return (v(j) - m) * r; };
          for (std::size_t j = 0; j < width; ++j) {
            a_mean += d(j) * at(gamma, {j}) / n;
            pull += d(j) * at(gamma, {j}) * xh(j) / n;
            want_gamma[j] += d(j) * xh(j);
            want_beta[j] += d(j);
          }
          for (std::size_t j = 0; j < width; ++j) {
            ASSERT_TRUE(close(static_cast<double>(y[i * width + j]), xh(j) * at(gamma, {j}) + at(beta, {j}), tolerance,
                              tolerance));
            ASSERT_TRUE(close(static_cast<double>(dx[i * width + j]),
                              r * (d(j) * at(gamma, {j}) - a_mean - xh(j) * pull), tolerance, tolerance * r * 8));
          }
        }
        expect_numbers(dgamma, want_gamma, tolerance, 10 * tolerance);
        expect_numbers(dbeta, want_beta, tolerance, 10 * tolerance);
      }
  });
}

TYPED_TEST(VectorCode, SoftmaxOfOddRows) {
  using T = TypeParam;
  const double tolerance = sizeof(T) == 8 ? 1e-12 : 24 * unit<T>();
  each_instruction_set([&] {
    for (const std::size_t width : kWidths) {
      const Array<T> x = sample<T>({3, width}, 1, -5, 5), g = sample<T>({3, width}, 2);
      const auto total = [&](std::size_t i, bool weighted) {
        double sum = 0;
        for (std::size_t j = 0; j < width; ++j) sum += std::exp(at(x, {i, j})) * (weighted ? at(g, {i, j}) : 1);
        return sum;
      };
      const Array<T> y = xgrad::softmax(x), l = xgrad::log_softmax(x);
      const auto want = [&](const Position& q) { return std::exp(at(x, q)) / total(q[0], false); };
      expect_all(y, x.shape(), want, tolerance);
      expect_all(
          l, x.shape(), [&](const Position& q) { return at(x, q) - std::log(total(q[0], false)); }, tolerance,
          tolerance);
      expect_all(
          xgrad::softmax_backward(y, g), x.shape(),
          [&](const Position& q) { return want(q) * (at(g, q) - total(q[0], true) / total(q[0], false)); }, tolerance,
          tolerance);
      expect_all(
          xgrad::log_softmax_backward(l, g), x.shape(),
          [&](const Position& q) {
            double sum = 0;
            for (std::size_t j = 0; j < width; ++j) sum += at(g, {q[0], j});
            return at(g, q) - want(q) * sum;
          },
          tolerance, tolerance * std::sqrt(static_cast<double>(width)));
    }
  });
}

// Enough work for threads: 500 rows of 1023.
TYPED_TEST(VectorCode, SameBitsForAllNumbersOfThreads) {
  using T = TypeParam;
  const std::size_t rows = 500, width = 1023;
  const Array<T> x = sample<T>({rows, width}, 1), g = sample<T>({rows, width}, 2), v = sample<T>({width}, 3);
  each_instruction_set([&] {
    expect_same_for_all_threads([&] {
      Array<T> y = x, dx = x, dgamma = v, dbeta = v;
      std::vector<double> mean(rows), rstd(rows);
      xgrad::layer_norm_forward(x.data(), rows, width, v.data(), v.data(), 1e-5, NormForm::population, y.data(),
                                mean.data(), rstd.data());
      xgrad::layer_norm_backward(g.data(), x.data(), rows, width, v.data(), NormForm::population, mean.data(),
                                 rstd.data(), dx.data(), dgamma.data(), dbeta.data());
      return std::vector<Array<T>>{y, dx, dgamma, dbeta};
    });
    expect_same_for_all_threads([&] {
      Array<T> y = x, dx = x, dgamma = v;
      std::vector<double> rrms(rows);
      xgrad::rms_norm_forward(x.data(), rows, width, v.data(), 1e-5, y.data(), rrms.data());
      xgrad::rms_norm_backward(g.data(), x.data(), rows, width, v.data(), rrms.data(), dx.data(), dgamma.data());
      return std::vector<Array<T>>{y, dx, dgamma};
    });
    for (const Nonlinearity f : {Nonlinearity::relu, Nonlinearity::gelu})
      expect_same_for_all_threads([&] {
        const Array<T> y = xgrad::bias_activation(x, v.data(), f, 0.2, 5);
        Array<T> dx = x, dbias = v;
        xgrad::bias_activation_backward(g, y, v.data(), f, 0.2, 5, dx.data(), dbias.data());
        return std::vector<Array<T>>{y, dx, dbias};
      });
    expect_same_for_all_threads([&] {
      const Array<T> y = xgrad::softmax(x), l = xgrad::log_softmax(x);
      return std::vector<Array<T>>{y, l, xgrad::softmax_backward(y, g), xgrad::log_softmax_backward(l, g)};
    });
    expect_same_for_all_threads([&] {
      return std::vector<Array<T>>{xgrad::sum(x),  xgrad::sum(x, 0), xgrad::sum(x, 1), xgrad::mean(x),
                                   xgrad::gelu(x), xgrad::tanh(x),   xgrad::exp(x)};
    });
  });
}

}  // namespace
