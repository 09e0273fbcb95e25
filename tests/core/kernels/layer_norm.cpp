#include <xgrad/core/kernels/layer_norm.hpp>

#include <functional>

#include "core/kernels/reference.hpp"

namespace {

using namespace reference;
using xgrad::NormForm;

template <class T>
class NormKernels : public Typed<T> {};
TYPED_TEST_SUITE(NormKernels, Types, TypeNames);

constexpr NormForm kForms[] = {NormForm::population, NormForm::unbiased};

template <class T>
struct Result {
  Array<T> y, dx, dgamma, dbeta;
};

// Forward and backward in one go; an absent gamma or beta is an array of size 0.
template <class T>
Result<T> layer_norm(const Array<T>& x, const Array<T>& gamma, const Array<T>& beta, const Array<T>& dy, double eps,
                     NormForm form = NormForm::population) {
  const std::size_t width = x.shape().back(), rows = width ? x.size() / width : 0;
  const auto optional = [](const Array<T>& a) { return a.size() ? a.data() : nullptr; };
  const T dirt = T(123);  // outputs are written, not added to
  Result<T> r{xgrad::full<T>(x.shape(), dirt), xgrad::full<T>(x.shape(), dirt), xgrad::full<T>({width}, dirt),
              xgrad::full<T>({width}, dirt)};
  std::vector<double> mean(rows), rstd(rows);
  xgrad::layer_norm_forward(x.data(), rows, width, optional(gamma), optional(beta), eps, form, r.y.data(), mean.data(),
                            rstd.data());
  xgrad::layer_norm_backward(dy.data(), x.data(), rows, width, optional(gamma), form, mean.data(), rstd.data(),
                             r.dx.data(), r.dgamma.data(), r.dbeta.data());
  return r;
}

template <class T>
Array<T> forward(const Array<T>& x, double eps = 1e-5, NormForm form = NormForm::population) {
  return layer_norm(x, Array<T>::from_shape({0}), Array<T>::from_shape({0}), x, eps, form).y;
}

using Ld = long double;
using Row = std::vector<Ld>;

// The definitions, in long double.
Row normalized(const Row& x, double eps, NormForm form) {
  const Ld n = static_cast<Ld>(x.size());
  Ld mean = 0, squares = 0;
  for (const Ld v : x) mean += v / n;
  for (const Ld v : x) squares += (v - mean) * (v - mean);
  const Ld divisor = form == NormForm::population ? std::sqrt(squares / n + eps) : std::sqrt(squares / (n - 1)) + eps;
  Row y;
  for (const Ld v : x) y.push_back((v - mean) / divisor);
  return y;
}

Row rms_normalized(const Row& x, double eps) {
  Ld squares = 0;
  for (const Ld v : x) squares += v * v;
  Row y;
  for (const Ld v : x) y.push_back(v / std::sqrt(squares / static_cast<Ld>(x.size()) + eps));
  return y;
}

// How much the row is stretched: 1 / deviation.
Ld slope(const Row& x, const Row& xh) { return x.size() == 1 ? xh[0] / x[0] : (xh[0] - xh.back()) / (x[0] - x.back()); }

// Gradient of sum(cotangent * f(x)) by central differences, good to about 1e-9 of the slope.
Row numeric_gradient(Row x, const Row& cotangent, const std::function<Row(const Row&)>& f) {
  const Ld h = 1e-5L / slope(x, f(x));
  Row gradient;
  const auto value = [&] {
    const Row y = f(x);
    Ld total = 0;
    for (std::size_t j = 0; j < y.size(); ++j) total += cotangent[j] * y[j];
    return total;
  };
  for (Ld& v : x) {
    const Ld held = v;
    v = held + h;
    const Ld above = value();
    v = held - h;
    gradient.push_back((above - value()) / (2 * h));
    v = held;
  }
  return gradient;
}

template <class T>
Row row_of(const Array<T>& a, std::size_t i, std::size_t width) {
  return Row(a.data() + i * width, a.data() + (i + 1) * width);
}

// Checks y, dx, dgamma, dbeta against a definition of the normalized row.
template <class T>
void check(const Array<T>& x, const Array<T>& gamma, const Array<T>& beta, const Array<T>& dy, const Result<T>& got,
           const std::function<Row(const Row&)>& normalize) {
  const std::size_t width = x.shape().back(), rows = x.size() / width;
  Row dgamma(width, 0), dbeta(width, 0);
  for (std::size_t i = 0; i < rows; ++i) {
    const Row xs = row_of(x, i, width), xh = normalize(xs), d = row_of(dy, i, width);
    Row a = d;
    for (std::size_t j = 0; j < width; ++j) {
      if (gamma.size()) a[j] *= gamma(j);
      dgamma[j] += d[j] * xh[j];
      dbeta[j] += d[j];
    }
    const Row dx = numeric_gradient(xs, a, normalize);
    double scale = 0;  // of the terms of dx, which may cancel
    for (const Ld v : a) scale = std::max(scale, static_cast<double>(std::abs(v * slope(xs, xh))));
    for (std::size_t j = 0; j < width; ++j) {
      const double y = static_cast<double>(xh[j] * (gamma.size() ? gamma(j) : T(1)) + (beta.size() ? beta(j) : T(0)));
      EXPECT_TRUE(close(static_cast<double>(got.y(i, j)), y, 16 * unit<T>(), 16 * unit<T>()))
          << got.y(i, j) << " " << y;
      EXPECT_TRUE(
          close(static_cast<double>(got.dx(i, j)), static_cast<double>(dx[j]), 0, (2e-8 + 40 * unit<T>()) * scale))
          << got.dx(i, j) << " and not " << static_cast<double>(dx[j]) << " in row " << i << ", column " << j;
    }
  }
  const double slack = 16 * unit<T>() * std::sqrt(static_cast<double>(rows));
  for (std::size_t j = 0; j < width; ++j) {
    EXPECT_TRUE(close(static_cast<double>(got.dgamma(j)), static_cast<double>(dgamma[j]), slack, slack))
        << got.dgamma(j);
    if (got.dbeta.size() > 0) {
      EXPECT_TRUE(close(static_cast<double>(got.dbeta(j)), static_cast<double>(dbeta[j]), slack, slack))
          << got.dbeta(j);
    }
  }
}

TYPED_TEST(NormKernels, LayerNormAgreesWithItsDefinition) {
  using T = TypeParam;
  for (const NormForm form : kForms)
    for (const std::size_t width : {2, 3, 5, 17, 64})
      for (const std::size_t rows : {1, 3})
        for (const bool affine : {false, true}) {
          const double eps = form == NormForm::population ? 1e-5 : 1e-6;
          const Array<T> x = sample<T>({rows, width}, 1), dy = sample<T>({rows, width}, 2);
          const Array<T> gamma = sample<T>({affine ? width : 0}, 3), beta = sample<T>({affine ? width : 0}, 4);
          check<T>(x, gamma, beta, dy, layer_norm(x, gamma, beta, dy, eps, form),
                   [&](const Row& row) { return normalized(row, eps, form); });
        }
}

TYPED_TEST(NormKernels, RmsNormAgreesWithItsDefinition) {
  using T = TypeParam;
  const double eps = 1e-5;
  for (const std::size_t width : {1, 2, 3, 5, 17, 64})
    for (const bool affine : {false, true}) {
      const std::size_t rows = 3;
      const Array<T> x = sample<T>({rows, width}, 1, 0.5, 2), dy = sample<T>({rows, width}, 2);
      const Array<T> gamma = sample<T>({affine ? width : 0}, 3);
      Result<T> r{xgrad::full<T>(x.shape(), 9), xgrad::full<T>(x.shape(), 9), xgrad::full<T>({width}, 9),
                  Array<T>::from_shape({0})};
      std::vector<double> rrms(rows);
      xgrad::rms_norm_forward(x.data(), rows, width, affine ? gamma.data() : nullptr, eps, r.y.data(), rrms.data());
      xgrad::rms_norm_backward(dy.data(), x.data(), rows, width, affine ? gamma.data() : nullptr, rrms.data(),
                               r.dx.data(), r.dgamma.data());
      check<T>(x, gamma, Array<T>::from_shape({0}), dy, r, [&](const Row& row) { return rms_normalized(row, eps); });
    }
}

TYPED_TEST(NormKernels, LN_01_LargeOffset) {
  using T = TypeParam;
  const Array<T> at_zero = forward(Array<T>{{0, 1, 2, 3}});
  const double rel = sizeof(T) == 8 ? 1e-12 : 2e-6;
  expect_numbers(at_zero, {-1.34163541996893, -0.447211806656309, 0.447211806656309, 1.34163541996893}, rel);
  for (const double m : sizeof(T) == 8 ? std::vector<double>{1e8, 1e9} : std::vector<double>{40000, 80000}) {
    const T M = static_cast<T>(m);
    EXPECT_EQ(forward(Array<T>{{M, M + 1, M + 2, M + 3}}), at_zero) << m;  // to the bit
  }
}

TYPED_TEST(NormKernels, LN_01_AMeanThatFloatCannotHold) {
  using T = TypeParam;
  Array<T> x = xgrad::empty<T>({1, 64});  // around 1e6 with unit spread, on a grid that float can hold
  for (std::size_t j = 0; j < 64; ++j) x(0, j) = static_cast<T>(1e6 + 0.0625 * static_cast<double>((j * 37) % 64));
  const Array<T> gamma = sample<T>({64}, 3), beta = sample<T>({64}, 4), dy = sample<T>({1, 64}, 5);
  check<T>(x, gamma, beta, dy, layer_norm(x, gamma, beta, dy, 1e-5),
           [](const Row& row) { return normalized(row, 1e-5, NormForm::population); });
}

// The first number is where sums start from; one far from the others must cost them nothing.
TYPED_TEST(NormKernels, AnOutlierAtTheFront) {
  using T = TypeParam;
  for (const NormForm form : kForms)
    for (const std::size_t width : {3, 100, 1023, 4099})
      for (const double first : {1e3, -1e6, 1e12, -1e21, 1e30}) {
        Array<T> x = sample<T>({1, width}, 1, 1, 2);
        x(0, 0) = static_cast<T>(first);
        const Row want = normalized(row_of(x, 0, width), 1e-5, form);
        const Array<T> y = forward(x, 1e-5, form);
        for (std::size_t j = 0; j < width; ++j) {
          const double wanted = static_cast<double>(want[j]);
          EXPECT_TRUE(close(static_cast<double>(y(0, j)), wanted, 8 * unit<T>(), unit<T>()))
              << y(0, j) << " and not " << wanted << " in " << width << " numbers after " << first;
        }
      }
}

// Sums that leave the range of float do not leave that of double.
TEST(NormKernelsOfFloat, TheLargestNumbers) {
  const float m = std::numeric_limits<float>::max();
  expect_numbers(forward(Array<float>{{m, 0, m, 0, 0, m}}), {1, -1, 1, -1, -1, 1}, 1e-6);
  expect_numbers(forward(Array<float>{{-m / 2, m / 2, m / 2, -m / 2}}), {-1, 1, 1, -1}, 1e-6);
}

TYPED_TEST(NormKernels, LN_02_ConstantRow) {
  using T = TypeParam;
  for (const NormForm form : kForms)
    for (const double value : {1234.0, 0.1, -1e-30, 3e7})
      for (const std::size_t width : {2, 10, 256, 1031}) {
        const Array<T> x = xgrad::full<T>({1, width}, static_cast<T>(value));
        const Array<T> gamma = sample<T>({width}, 1), beta = sample<T>({width}, 2), dy = sample<T>({1, width}, 3);
        const Result<T> r = layer_norm(x, gamma, beta, dy, 1e-5, form);
        for (std::size_t j = 0; j < width; ++j) {
          EXPECT_EQ(r.y(0, j), beta(j));
          EXPECT_EQ(r.dgamma(j), T(0));
          EXPECT_TRUE(std::isfinite(r.dx(0, j)));
        }
      }
  const Array<T> none = Array<T>::from_shape({0}), ones = xgrad::ones<T>({4});
  const double rel = sizeof(T) == 8 ? 1e-12 : 2 * unit<T>();
  for (const T value : {T(0), T(7)}) {
    const Array<T> x = xgrad::full<T>({1, 4}, value);
    expect_numbers(layer_norm(x, ones, none, Array<T>{{1, 2, 3, 4}}, 1e-5).dx,
                   {-474.341649025257, -158.113883008419, 158.113883008419, 474.341649025257}, rel);
    expect_numbers(layer_norm(x, ones, none, Array<T>{{1, 0, 0, 0}}, 1e-5).dx,
                   {237.170824512628, -79.0569415042095, -79.0569415042095, -79.0569415042095}, rel);
  }
}

TYPED_TEST(NormKernels, LN_03_WhereEpsGoes) {
  using T = TypeParam;
  const double rel = sizeof(T) == 8 ? 1e-13 : 2 * unit<T>();
  const Array<T> x{{1, 0, 0, 0}};
  expect_numbers(forward(x, 0.25), {1.13389341902768, -0.377964473009227, -0.377964473009227, -0.377964473009227},
                 std::max(rel, 4e-15));
  EXPECT_NEAR(static_cast<double>(forward(x, 1e-5)(0, 0)), 1.73200462139478, 4 * rel);
  expect_numbers(forward(x, 0.25, NormForm::unbiased), {1, -1.0 / 3, -1.0 / 3, -1.0 / 3}, rel);
}

TYPED_TEST(NormKernels, LN_04_RowsOfLengthOneAndNoRows) {
  using T = TypeParam;
  for (const T gamma : {T(2), T(1e10)}) {
    const auto column = [](T first, T second) { return xgrad::from<T>({first, second}, {2, 1}); };
    const Result<T> r = layer_norm(column(T(1e6), T(-3)), Array<T>{gamma}, Array<T>{3}, column(1, 5), 1e-5);
    EXPECT_EQ(r.y, column(3, 3));
    EXPECT_EQ(r.dx, column(0, 0));
    EXPECT_EQ(r.dgamma, Array<T>{0});
    EXPECT_EQ(r.dbeta, Array<T>{6});
  }
  for (const Shape& shape : {Shape{0, 4}, Shape{1, 0, 4}}) {
    const Array<T> x = xgrad::zeros<T>(shape);
    const Result<T> r = layer_norm(x, xgrad::ones<T>({4}), xgrad::ones<T>({4}), x, 1e-5);
    EXPECT_EQ(r.y.shape(), shape);
    EXPECT_EQ(r.dgamma, xgrad::zeros<T>({4}));
    EXPECT_EQ(r.dbeta, xgrad::zeros<T>({4}));
  }
  const Array<T> flat = xgrad::zeros<T>({3, 0});
  layer_norm(flat, flat, flat, flat, 1e-5);  // nothing to do, nothing divided by
}

TYPED_TEST(NormKernels, NaNStaysInItsRow) {
  using T = TypeParam;
  for (const NormForm form : kForms) {
    Array<T> x = sample<T>({3, 5}, 1);
    const Array<T> clean = forward(x, 1e-5, form);
    x(1, 3) = T(kNaN);
    const Array<T> none = Array<T>::from_shape({0});
    const Result<T> r = layer_norm(x, none, none, xgrad::ones<T>({3, 5}), 1e-5, form);
    for (std::size_t j = 0; j < 5; ++j) {
      EXPECT_TRUE(std::isnan(r.y(1, j)) && std::isnan(r.dx(1, j)));
      EXPECT_EQ(r.y(0, j), clean(0, j));
      EXPECT_EQ(r.y(2, j), clean(2, j));
    }
  }
}

TYPED_TEST(NormKernels, OutputsThatAreNotWantedMayBeAbsent) {
  using T = TypeParam;
  const Array<T> x = sample<T>({3, 5}, 1), dy = sample<T>({3, 5}, 2), gamma = sample<T>({5}, 3),
                 none = Array<T>::from_shape({0});
  const Result<T> all = layer_norm(x, gamma, none, dy, 1e-5);
  Array<T> y = x, dx = x, dgamma = gamma, dbeta = gamma;
  xgrad::layer_norm_forward<T>(x.data(), 3, 5, gamma.data(), nullptr, 1e-5, NormForm::population, y.data(), nullptr,
                               nullptr);
  EXPECT_EQ(y, all.y);
  std::vector<double> mean(3), rstd(3);
  xgrad::layer_norm_forward<T>(x.data(), 3, 5, gamma.data(), nullptr, 1e-5, NormForm::population, y.data(), mean.data(),
                               rstd.data());
  const auto backward = [&](T* to_x, T* to_gamma, T* to_beta) {
    xgrad::layer_norm_backward<T>(dy.data(), x.data(), 3, 5, gamma.data(), NormForm::population, mean.data(),
                                  rstd.data(), to_x, to_gamma, to_beta);
  };
  backward(dx.data(), nullptr, nullptr);
  backward(nullptr, dgamma.data(), nullptr);
  backward(nullptr, nullptr, dbeta.data());
  EXPECT_EQ(dx, all.dx);
  EXPECT_EQ(dgamma, all.dgamma);
  EXPECT_EQ(dbeta, all.dbeta);
}

}  // namespace
