#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <thread>
#include <vector>
#include <xgrad/core/linalg.hpp>
#include <xgrad/core/random.hpp>
#include <xtensor/xview.hpp>

namespace {

using xgrad::Array;
using xgrad::Rng;
using xgrad::Shape;

template <class T>
constexpr double kEpsilon = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;

template <class T>
class Linalg : public testing::Test {
 protected:
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Linalg, Types, );  // the comma: clang in C++17 wants the last argument

TYPED_TEST(Linalg, LIN_01_NoInnerSizeAndDirtyBuffers) {
  using T = TypeParam;
  // k = 0 with leading dimensions of 0: C is beta C, and zeros where beta is 0, whatever C held.
  auto dirty = xgrad::full<T>({3, 2}, this->nan);
  xgrad::gemm<T>(false, false, 3, 2, 0, T(1), nullptr, 0, nullptr, 2, T(0), dirty.data(), 2);
  EXPECT_EQ(dirty, xgrad::zeros<T>({3, 2}));
  auto kept = xgrad::full<T>({3, 2}, T(4));
  xgrad::gemm<T>(true, true, 3, 2, 0, T(1), nullptr, 3, nullptr, 0, T(0.5), kept.data(), 2);
  EXPECT_EQ(kept, xgrad::full<T>({3, 2}, T(2)));
  // No rows or no columns: nothing is touched.
  xgrad::gemm<T>(false, false, 0, 2, 3, T(1), nullptr, 3, nullptr, 2, T(0), nullptr, 2);
  xgrad::gemm<T>(false, false, 2, 0, 3, T(1), nullptr, 3, nullptr, 0, T(0), nullptr, 0);
  // alpha = 0 reads neither operand.
  auto none = xgrad::full<T>({1, 1}, this->nan);
  const T bad = this->nan;
  xgrad::gemm<T>(false, false, 1, 1, 1, T(0), &bad, 1, &bad, 1, T(0), none.data(), 1);
  EXPECT_EQ(none(0, 0), T(0));

  // The case itself, W stored as (2, 3) and (2, 0).
  const auto no_rows = xgrad::empty<T>({0, 3}), no_grad = xgrad::empty<T>({0, 2});
  EXPECT_EQ(xgrad::matmul(no_rows, xgrad::ones<T>({2, 3}), false, true).shape(), (Shape{0, 2}));
  EXPECT_EQ(xgrad::matmul(no_grad, xgrad::ones<T>({2, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(xgrad::matmul(no_grad, no_rows, true), xgrad::zeros<T>({2, 3}));
  EXPECT_EQ(xgrad::matmul(xgrad::empty<T>({3, 0}), xgrad::empty<T>({2, 0}), false, true), xgrad::zeros<T>({3, 2}));
  EXPECT_EQ(xgrad::matmul(xgrad::ones<T>({3, 2}), xgrad::empty<T>({3, 0}), true).shape(), (Shape{2, 0}));
  EXPECT_EQ(xgrad::matmul(xgrad::empty<T>({0, 3, 4}), xgrad::ones<T>({4, 5})).shape(), (Shape{0, 3, 5}));
  EXPECT_EQ(xgrad::matmul(xgrad::empty<T>({2, 3, 0}), xgrad::empty<T>({2, 0, 5})), xgrad::zeros<T>({2, 3, 5}));
  EXPECT_EQ(xgrad::matmul(xgrad::empty<T>({0}), xgrad::empty<T>({0})), xgrad::zeros<T>({}));
}

// One product of a batch, entry by entry, with NumPy's broadcasting written out: the operand's index along an axis of
// extent 1 is 0.
template <class T>
void expect_batched(const Shape& sa, const Shape& sb, const Shape& want, bool ta = false, bool tb = false) {
  const auto a = Rng(1).uniform<T>(sa, T(-1), T(1));
  const auto b = Rng(2).uniform<T>(sb, T(-1), T(1));
  const auto c = xgrad::matmul(a, b, ta, tb);
  ASSERT_EQ(c.shape(), want);
  const auto at = [](const Array<T>& x, const std::vector<std::size_t>& lead, std::size_t i, std::size_t j) {
    std::vector<std::size_t> index(x.dimension());
    for (std::size_t d = 0; d + 2 < x.dimension(); ++d) {
      const std::size_t w = lead[lead.size() - (x.dimension() - 2) + d];
      index[d] = x.shape()[d] == 1 ? 0 : w;
    }
    index[x.dimension() - 2] = i, index[x.dimension() - 1] = j;
    return double(x.element(index.begin(), index.end()));
  };
  const std::size_t m = want[want.size() - 2], n = want[want.size() - 1];
  const std::size_t k = ta ? sa[sa.size() - 2] : sa[sa.size() - 1];
  for (std::size_t flat = 0; flat < c.size(); ++flat) {
    const std::size_t i = flat / n % m, j = flat % n;
    std::vector<std::size_t> lead(want.size() - 2);
    for (std::size_t d = lead.size(), rest = flat / (m * n); d-- > 0; rest /= want[d]) lead[d] = rest % want[d];
    double sum = 0;
    for (std::size_t p = 0; p < k; ++p)
      sum += (ta ? at(a, lead, p, i) : at(a, lead, i, p)) * (tb ? at(b, lead, j, p) : at(b, lead, p, j));
    ASSERT_NEAR(double(c.data()[flat]), sum, 8 * kEpsilon<T> * std::sqrt(double(k)) * 2)
        << xgrad::to_string(sa) << " x " << xgrad::to_string(sb) << " at " << flat;
  }
}

TYPED_TEST(Linalg, MatmulBroadcastsLeadingAxes) {
  using T = TypeParam;
  expect_batched<T>({2, 3}, {3, 5}, {2, 5});
  expect_batched<T>({7, 2, 3}, {3, 5}, {7, 2, 5});
  expect_batched<T>({2, 3}, {7, 3, 5}, {7, 2, 5});
  expect_batched<T>({7, 2, 3}, {7, 3, 5}, {7, 2, 5});
  expect_batched<T>({7, 1, 2, 3}, {4, 3, 5}, {7, 4, 2, 5});
  expect_batched<T>({4, 2, 3}, {7, 1, 3, 5}, {7, 4, 2, 5});
  expect_batched<T>({2, 1, 3, 2, 3}, {1, 5, 1, 3, 2}, {2, 5, 3, 2, 2});
  expect_batched<T>({4, 2, 3}, {1, 1, 3, 5}, {1, 4, 2, 5});
  expect_batched<T>({3, 17, 20}, {3, 20, 19}, {3, 17, 19});
  expect_batched<T>({7, 3, 2}, {3, 5}, {7, 2, 5}, true, false);
  expect_batched<T>({7, 2, 3}, {5, 3}, {7, 2, 5}, false, true);
  expect_batched<T>({7, 3, 2}, {4, 1, 5, 3}, {4, 7, 2, 5}, true, true);
}

TEST(Matmul, OperandsWithOneAxis) {
  const Array<double> v{1, 2, 3}, w{4, 5, 6}, m{{1, 0, 2}, {0, 1, 3}};
  EXPECT_EQ(xgrad::matmul(v, w), xgrad::full<double>({}, 32));
  EXPECT_EQ(xgrad::matmul(m, v), (Array<double>{7, 11}));
  EXPECT_EQ(xgrad::matmul(v, m, false, true), (Array<double>{7, 11}));
  const Array<double> two{10, 1};
  EXPECT_EQ(xgrad::matmul(two, m), (Array<double>{10, 1, 23}));
  EXPECT_EQ(xgrad::matmul(m, two, true), (Array<double>{10, 1, 23}));
  const auto batch = xgrad::ones<double>({4, 2, 3});
  EXPECT_EQ(xgrad::matmul(batch, v), xgrad::full<double>({4, 2}, 6));
  EXPECT_EQ(xgrad::matmul(two, batch), xgrad::full<double>({4, 3}, 11));
}

TEST(Matmul, CountsProductsAndFlattensRows) {
  const auto count = [](auto f) {
    const auto before = xgrad::products();
    f();
    return xgrad::products() - before;
  };
  const auto x = xgrad::ones<float>({5, 4, 3}), w = xgrad::ones<float>({2, 3}), wt = xgrad::ones<float>({3, 2});
  EXPECT_EQ(count([&] { xgrad::matmul(x, w, false, true); }), 1u);
  EXPECT_EQ(count([&] { xgrad::matmul(x, wt); }), 1u);
  EXPECT_EQ(count([&] { xgrad::matmul(x, x, false, true); }), 5u);
  EXPECT_EQ(count([&] {
              std::vector<std::thread> threads;
              for (int t = 0; t < 4; ++t)
                threads.emplace_back([&] {
                  for (int i = 0; i < 100; ++i) xgrad::matmul(x, wt);
                });
              for (auto& t : threads) t.join();
            }),
            400u);
}

TEST(Matmul, LazyExpressionsOnEitherSide) {
  const Array<double> a{{1, 2}, {3, 4}}, b{{0, 1}, {1, 0}};
  const Array<double> want{{4, 2}, {8, 6}};
  EXPECT_EQ(xgrad::matmul(a + a, b), want);
  EXPECT_EQ(xgrad::matmul(a, b + b), want);
  EXPECT_EQ(xgrad::matmul(1.0 * a, b + b), want);
  EXPECT_EQ(xgrad::matmul(a * 2.0, 1.0 * b, false, true), want);
  const auto column = xgrad::matmul(xt::view(a, xt::all(), xt::range(1, 2)), xt::view(b, xt::range(0, 1)));
  EXPECT_EQ(column, (Array<double>{{0, 2}, {0, 4}}));
}

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const xgrad::ShapeError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Matmul, Errors) {
  const auto of = [](const Shape& a, const Shape& b, bool ta = false, bool tb = false) {
    return error_of([&] { xgrad::matmul(xgrad::ones<float>(a), xgrad::ones<float>(b), ta, tb); });
  };
  EXPECT_EQ(of({4, 6}, {4, 3}), "[matmul] inner sizes differ: lhs (4, 6) x rhs (4, 3), 6 vs 4");
  EXPECT_EQ(of({4, 6}, {4, 3}, true, true), "[matmul] inner sizes differ: lhs (4, 6) x rhs (4, 3), 4 vs 3");
  EXPECT_EQ(of({3}, {4}), "[matmul] inner sizes differ: lhs (3,) x rhs (4,), 3 vs 4");
  EXPECT_EQ(of({2, 3, 4}, {3, 4, 5}), "[matmul] leading axes do not broadcast: lhs (2, 3, 4) x rhs (3, 4, 5), 2 vs 3");
  EXPECT_EQ(of({}, {3}),
            "[matmul] needs at least one axis on each side: lhs () x rhs (3,); multiply by a number with *");
  EXPECT_EQ(of({3}, {3, 2}, true), "[matmul] an operand with one axis cannot be transposed: lhs (3,) x rhs (3, 2)");
  EXPECT_EQ(of({2, 3}, {3}, false, true),
            "[matmul] an operand with one axis cannot be transposed: lhs (2, 3) x rhs (3,)");
}

TEST(Gemm, ErrorsComeBeforeMemoryIsTouched) {
  const auto of = [](std::size_t m, std::size_t n, std::size_t k, std::size_t lda, std::size_t ldb, std::size_t ldc) {
    return error_of(
        [&] { xgrad::gemm<float>(false, false, m, n, k, 1.0f, nullptr, lda, nullptr, ldb, 0.0f, nullptr, ldc); });
  };
  EXPECT_EQ(of(2, 3, 4, 3, 3, 3), "[gemm] leading dimension of a must be at least 4 but is 3");
  EXPECT_EQ(of(2, 3, 4, 4, 2, 3), "[gemm] leading dimension of b must be at least 3 but is 2");
  EXPECT_EQ(of(2, 3, 4, 4, 3, 2), "[gemm] leading dimension of c must be at least 3 but is 2");
  EXPECT_EQ(of(2, 3, 0, 0, 3, 2), "[gemm] leading dimension of c must be at least 3 but is 2");
  const std::size_t big = std::size_t{1} << 31;
  EXPECT_EQ(of(big, 2, 2, 2, 2, 2),
            "[gemm] sizes and leading dimensions must be at most 2147483647 but got 2147483648; split the product");
}

TEST(Gemm, RunsOnTheOpenMPBuildOfOpenBLASWhereInstalled) {
  const int build = xgrad::openblas_parallel();
  EXPECT_TRUE(build >= 0 && build <= 2) << build;
  std::vector<std::filesystem::path> roots{"/usr/lib"};
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib"))
    if (entry.is_directory()) roots.push_back(entry.path());
  for (const auto& root : roots) {
    if (std::filesystem::exists(root / "openblas-openmp" / "libopenblas.so")) {
      EXPECT_EQ(build, 2) << root;
    }
  }
}

}  // namespace
