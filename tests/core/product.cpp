// gemm, by every kernel and library that may stand behind it.
#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>
#include <xgrad/core/kernels/dispatch.hpp>
#include <xgrad/core/linalg.hpp>
#include <xgrad/core/random.hpp>

namespace {

using xgrad::Rng;

// Compares gemm with a triple loop in long double; unused columns of every row must stay as they are.
template <class T>
void check_gemm(bool ta, bool tb, std::size_t m, std::size_t n, std::size_t k, T alpha, T beta, std::size_t gap) {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  constexpr double epsilon = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  Rng rng(m * 10007 + n * 101 + k);
  const std::size_t lda = (ta ? m : k) + gap, ldb = (tb ? k : n) + gap, ldc = n + gap;
  auto a = rng.uniform<T>({ta ? k : m, lda}, T(-1), T(1));
  auto b = rng.uniform<T>({tb ? n : k, ldb}, T(-1), T(1));
  const auto old = beta == T(0) ? xgrad::full<T>({m, ldc}, nan) : rng.uniform<T>({m, ldc}, T(-1), T(1));
  // What lies between rows must not be read.
  for (std::size_t i = 0; i < a.shape()[0]; ++i)
    for (std::size_t j = lda - gap; j < lda; ++j) a(i, j) = nan;
  for (std::size_t i = 0; i < b.shape()[0]; ++i)
    for (std::size_t j = ldb - gap; j < ldb; ++j) b(i, j) = nan;
  auto c = old;
  xgrad::gemm<T>(ta, tb, m, n, k, alpha, a.data(), lda, b.data(), ldb, beta, c.data(), ldc);
  const double bar = 8 * epsilon * std::sqrt(double(k + 1)), smallest_scale = 2 * (std::abs(double(alpha)) + 1);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      long double want = 0;
      for (std::size_t p = 0; p < k; ++p)
        want += (long double)(ta ? a(p, i) : a(i, p)) * (long double)(tb ? b(j, p) : b(p, j));
      want *= alpha;
      if (beta != T(0)) want += (long double)(beta)*old(i, j);
      ASSERT_NEAR(double(c(i, j)), double(want), bar * std::max(smallest_scale, std::abs(double(want))))
          << m << 'x' << n << 'x' << k << " flags " << ta << tb;
    }
    for (std::size_t j = n; j < ldc; ++j)
      ASSERT_TRUE(c(i, j) == old(i, j) || (c(i, j) != c(i, j) && old(i, j) != old(i, j))) << "wrote past a row";
  }
}

template <class T>
class Gemm : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Gemm, Types, );  // the comma: clang in C++17 wants the last argument

TYPED_TEST(Gemm, AgainstNaiveLoops) {
  using T = TypeParam;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const std::size_t m : {1, 2, 3, 5, 7, 17, 64, 100})
        for (const std::size_t n : {1, 2, 3, 5, 7, 17, 64, 100})
          for (const std::size_t k : {1, 2, 3, 5, 7, 17, 64, 100}) {
            if (m * n * k > 100000 && m != n) continue;  // enough of the large ones
            check_gemm<TypeParam>(ta, tb, m, n, k, T(1), T(0), 0);
            if (this->HasFatalFailure()) return;
          }
}

TYPED_TEST(Gemm, WithScalarsAndRowsFurtherApart) {
  using T = TypeParam;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const std::size_t s : {2, 5, 17, 64})
        for (const T alpha : {T(1), T(-0.5), T(0)})
          for (const T beta : {T(0), T(1), T(0.25)}) {
            check_gemm<TypeParam>(ta, tb, s, s + 1, s + 2, alpha, beta, 3);
            if (this->HasFatalFailure()) return;
          }
}

TYPED_TEST(Gemm, OnSeveralThreadsAndTheSettingIsKept) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(2);
  check_gemm<TypeParam>(false, true, 150, 160, 170, TypeParam(1), TypeParam(0), 1);
  check_gemm<TypeParam>(true, false, 20, 20, 20, TypeParam(1), TypeParam(0), 0);
  EXPECT_EQ(omp_get_max_threads(), 2);
  omp_set_num_threads(before);
}

// Shapes on both sides of every entry of the tables that choose between our kernels, oneDNN and OpenBLAS, and of the
// slabs that threads take.
TYPED_TEST(Gemm, ByEveryProviderOnEveryNumberOfThreads) {
  struct Sizes {
    std::size_t m, n, k;
  };
  const struct Restore {
    int threads = omp_get_max_threads();
    xgrad::GemmProvider provider = xgrad::gemm_provider();
    ~Restore() {
      omp_set_num_threads(threads);
      xgrad::set_gemm_provider(provider);
    }
  } restore;
  for (const auto provider : {xgrad::GemmProvider::openblas, xgrad::GemmProvider::onednn}) {
    if (!xgrad::set_gemm_provider(provider)) continue;
    for (const int threads : {1, 3}) {
      omp_set_num_threads(threads);
      for (const auto& s : {Sizes{1, 300, 257},
                            {3, 7, 256},
                            {20, 130, 300},
                            {32, 33, 259},
                            {33, 17, 300},
                            {300, 130, 20},
                            {131, 29, 32},
                            {31, 130, 33},
                            {150, 160, 170},
                            {33, 300, 310},
                            {300, 17, 1023},
                            {20, 600, 300}}) {
        for (const bool ta : {false, true})
          for (const bool tb : {false, true})
            for (const TypeParam beta : {TypeParam(0), TypeParam(0.5)})
              check_gemm<TypeParam>(ta, tb, s.m, s.n, s.k, beta == 0 ? TypeParam(1) : TypeParam(-2), beta,
                                    s.m == 20 ? 0 : 3);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(Gemm, WithoutKernelsForFewRows) {
  const auto before = xgrad::instruction_set();
  xgrad::set_instruction_set(xgrad::InstructionSet::baseline);
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) check_gemm<TypeParam>(ta, tb, 20, 65, 300, TypeParam(1), TypeParam(0), 0);
  xgrad::set_instruction_set(before);
}

TYPED_TEST(Gemm, IsEqualFromRunToRun) {
  using T = TypeParam;
  const auto a = Rng(1).normal<T>({250, 300}), b = Rng(2).normal<T>({310, 300}), few = Rng(3).normal<T>({20, 300});
  const auto first = xgrad::matmul(a, b, false, true), first_few = xgrad::matmul(few, b, false, true);
  for (int run = 0; run < 20; ++run) {
    EXPECT_EQ(xgrad::matmul(a, b, false, true), first);
    EXPECT_EQ(xgrad::matmul(few, b, false, true), first_few);
  }
}

TYPED_TEST(Gemm, FromSeveralThreadsAtOnce) {
  using T = TypeParam;
  const auto a = Rng(1).normal<T>({250, 300}), b = Rng(2).normal<T>({310, 300});
  const auto want = xgrad::matmul(a, b, false, true);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i)
        if (xgrad::matmul(a, b, false, true) != want) ++wrong;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// More shapes than a thread remembers primitives for: what it forgot it makes again.
// OpenMP may give fewer threads than asked for; OpenBLAS, called from a team of one, then waits for others for ever.
TEST(GemmDeathTest, OfATeamSmallerThanAskedFor) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // starts the program anew: OpenMP reads the limit only then
  const char* const before = std::getenv("OMP_NUM_THREADS");
  const std::string threads = before ? before : "";
  ::setenv("OMP_NUM_THREADS", "4", 1);
  ::setenv("OMP_THREAD_LIMIT", "1", 1);
  EXPECT_EXIT(
      {
        ::alarm(120);
        check_gemm<double>(false, true, 160, 160, 160, 1, 0, 0);
        check_gemm<double>(false, false, 32, 160, 640, 1, 0, 0);  // split along the sums
        std::_Exit(HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
  ::unsetenv("OMP_THREAD_LIMIT");
  before ? ::setenv("OMP_NUM_THREADS", threads.c_str(), 1) : ::unsetenv("OMP_NUM_THREADS");
}

TEST(GemmProvider, MoreShapesThanOneDNNKeeps) {
  const auto a = Rng(1).normal<float>({400, 100});
  const auto product = [&](std::size_t rows) {
    auto c = xgrad::empty<float>({rows, 400});
    xgrad::gemm<float>(false, true, rows, 400, 100, 1, a.data(), 100, a.data(), 100, 0, c.data(), 400);
    return c;
  };
  const auto first = product(100);
  for (std::size_t rows = 60; rows < 400; ++rows) product(rows);
  EXPECT_EQ(product(100), first);
}

TEST(GemmProvider, IsSetAndRefused) {
  const auto before = xgrad::gemm_provider();
  EXPECT_TRUE(xgrad::set_gemm_provider(xgrad::GemmProvider::openblas));
  EXPECT_EQ(xgrad::gemm_provider(), xgrad::GemmProvider::openblas);
  const bool there = xgrad::set_gemm_provider(xgrad::GemmProvider::onednn);
  EXPECT_EQ(there, before == xgrad::GemmProvider::onednn);
  EXPECT_EQ(xgrad::gemm_provider(), before);
}

}  // namespace
