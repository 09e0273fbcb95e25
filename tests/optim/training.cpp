// A training loop in steady state: it learns, and it neither keeps graphs nor asks the system for memory.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>
#include <xgrad/xgrad.hpp>

#include "net.hpp"

namespace {
std::atomic<long> system_requests{0};
}  // namespace

// All memory that C++ code of this program asks for, the pool's included. (The array forms call these.)
void* operator new(std::size_t bytes) {
  ++system_requests;
  if (void* p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++system_requests;
  const auto a = static_cast<std::size_t>(alignment);
  if (void* p = std::aligned_alloc(a, (bytes + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace {

template <class T>
class Training : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Training, Types, );  // clang wants the empty argument

TYPED_TEST(Training, AG_10_AThousandStepsLearnAndKeepNothing) {
  using T = TypeParam;
  xgrad::Rng rng(5);
  Net<T> net(rng, 0, 3);
  xgrad::SGD<T> sgd(net.parameters(), {0.02, 0.9});
  const xgrad::Array<T> x = rng.normal<T>({256, 3});
  auto y = xgrad::empty<T>({256, 1});
  for (std::size_t i = 0; i < 256; ++i) y(i, 0) = std::sin(x(i, 0)) * x(i, 1) - x(i, 2);

  const std::size_t before = xgrad::live_nodes();
  std::size_t nodes = 0;
  std::uint64_t allocations = 0;
  double first = 0, last = 0;
  int step = 0;
  while (step < 1000)
    for (auto [a, b] : xgrad::batches(x, y, 32, rng)) {
      double loss_value;
      {
        const auto loss = xgrad::mse_loss(net(a), b);
        sgd.zero_grad();
        loss.backward();
        sgd.step();
        loss_value = loss.item();
      }
      ++step;
      (step <= 8 ? first : last) = loss_value;
      if (step == 1) nodes = xgrad::live_nodes();
      EXPECT_EQ(xgrad::live_nodes(), nodes) << "after step " << step;
      if (step == 20) allocations = xgrad::memory::system_allocations();
    }
  EXPECT_EQ(nodes, before);
  if (xgrad::memory::pooled()) {
    EXPECT_EQ(xgrad::memory::system_allocations(), allocations);
  }
  EXPECT_LT(last, 0.05 * first);
}

template <class T>
struct Block : xgrad::Module<T> {
  Block(std::size_t width, xgrad::Activation activation, xgrad::Rng& rng)
      : norm(width), ffn(options(width, activation), rng) {}
  xgrad::Variable<T> operator()(const xgrad::Variable<T>& x) { return x + ffn(norm(x)); }
  void visit(xgrad::Visitor<T>& v) override { v("norm", norm), v("ffn", ffn); }

  static xgrad::FeedForwardOptions options(std::size_t width, xgrad::Activation activation) {
    xgrad::FeedForwardOptions o;
    o.d_model = width;
    o.activation = activation;
    o.dropout = 0.1;
    return o;
  }
  xgrad::LayerNorm<T> norm;
  xgrad::FeedForward<T> ffn;
};

// Not one request in 20 whole steps: large and small, with threads and without.
TYPED_TEST(Training, AStepAsksTheSystemForNothing) {
  using T = TypeParam;
  if (!xgrad::memory::pooled()) GTEST_SKIP() << "the pool is off (a sanitizer, valgrind or XGRAD_NO_POOL)";
  const auto provider = xgrad::gemm_provider();
  xgrad::set_gemm_provider(xgrad::GemmProvider::openblas);  // oneDNN asks for memory now and then
  for (const std::size_t rows : {3, 200})
    for (const auto activation : {xgrad::Activation::relu, xgrad::Activation::gelu, xgrad::Activation::swiglu}) {
      xgrad::Rng rng(5);
      Block<T> block(64, activation, rng);
      xgrad::SGD<T> sgd(block.parameters(), {0.02, 0.9});
      const xgrad::Variable<T> x(rng.normal<T>({rows, 64})), y(rng.normal<T>({rows, 64}));
      long before = 0;
      for (int step = 0; step < 30; ++step) {
        if (step == 10) before = system_requests;
        const auto loss = xgrad::mse_loss(block(x), y);
        sgd.zero_grad();
        loss.backward();
        sgd.step();
      }
      EXPECT_EQ(system_requests - before, 0) << rows << " rows";
    }
  xgrad::set_gemm_provider(provider);
}

TYPED_TEST(Training, AG_10_ForwardOnly) {
  using T = TypeParam;
  xgrad::Rng rng(6);
  Net<T> net(rng, 0, 3);
  const xgrad::Array<T> x = rng.normal<T>({4, 3});
  const std::size_t before = xgrad::live_nodes();
  double total = 0;
  for (int i = 0; i < 1000; ++i) {
    total += static_cast<double>(xgrad::sum(net(x)).item());
    ASSERT_EQ(xgrad::live_nodes(), before);
  }
  EXPECT_TRUE(std::isfinite(total));
}

}  // namespace
