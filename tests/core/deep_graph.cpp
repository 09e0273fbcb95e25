// A million ops in a row, on a thread with a 256 KiB stack: nothing recurses.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <limits>
#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/anomaly.hpp>
#include <xgrad/core/arithmetic.hpp>
#include <xgrad/core/backward.hpp>
#include <xgrad/core/graph.hpp>
#include <xgrad/core/record.hpp>

#include "throws.hpp"

namespace {

using V = xgrad::Variable<double>;
constexpr int kOps = 1'000'000;

void run_on_small_stack(std::function<void()> work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{256} * 1024), 0);
  pthread_t thread;
  const auto entry = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, entry, &work), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

V chain(const V& x) {
  V y = x;
  for (int i = 0; i < kOps; ++i) y = y + 1.0;
  return y;
}

/// Each derivative captures the Variable before, so the closures form a chain of their own.
V capturing_chain(const V& x) {
  V y = x;
  for (int i = 0; i < kOps; ++i)
    y = xgrad::record<double>("capture", {y}, xgrad::saves::nothing, xgrad::Array<double>(y.value()),
                              [before = y](auto& b) { b.add(0, b.grad() * before.value()); });
  return y;
}

class DeepGraph : public ::testing::Test {
 protected:
  void SetUp() override { before_ = xgrad::live_nodes(); }
  void TearDown() override { EXPECT_EQ(xgrad::live_nodes(), before_); }
  std::size_t before_ = 0;
};

TEST_F(DeepGraph, BackwardAndDestruction) {
  run_on_small_stack([] {
    V x(1.0);
    x.set_requires_grad(true);
    V y = chain(x);
    EXPECT_EQ(y.item(), 1.0 + kOps);
    y.backward();
    EXPECT_EQ(x.grad()(), 1.0);
  });
}

TEST_F(DeepGraph, DestructionWithoutBackward) {
  run_on_small_stack([] {
    V x(1.0);
    x.set_requires_grad(true);
    EXPECT_TRUE(chain(x).requires_grad());
  });
}

TEST_F(DeepGraph, RetainedGraphThenDestruction) {
  run_on_small_stack([] {
    V x(1.0);
    x.set_requires_grad(true);
    const V y = chain(x);
    y.backward(true);
    y.backward(true);
    EXPECT_EQ(x.grad()(), 2.0);
  });
}

TEST_F(DeepGraph, CapturedVariablesBackwardAndDestruction) {
  run_on_small_stack([] {
    V x(1.0);
    x.set_requires_grad(true);
    capturing_chain(x).backward();
    EXPECT_EQ(x.grad()(), 1.0);
  });
}

TEST_F(DeepGraph, CapturedVariablesDestructionWithoutBackward) {
  run_on_small_stack([] {
    V x(1.0);
    x.set_requires_grad(true);
    EXPECT_TRUE(capturing_chain(x).requires_grad());
  });
}

TEST_F(DeepGraph, LeavesOfALongChain) {
  run_on_small_stack([] {
    V x(1.0);
    x.set_requires_grad(true);
    EXPECT_EQ(xgrad::leaves(chain(x)).size(), 1u);
  });
}

TEST_F(DeepGraph, TextAndDot) {
  run_on_small_stack([] {
    V x(1.0);
    x.set_requires_grad(true);
    const V y = chain(x);
    const std::string text = xgrad::graph_to_text(y, {{"x", x}});
    EXPECT_EQ(text.rfind("%0 = leaf x (), requires grad\n%1 = shift(x) -> ()\n%2 = shift(%1) -> ()\n", 0), 0u);
    EXPECT_NE(text.find("\n%1000000 = shift(%999999) -> ()\noutput %1000000: 1000000 ops, 1 leaf"), std::string::npos);
    EXPECT_NE(xgrad::graph_to_dot(y).find("\n  n999999 -> n1000000;\n}\n"), std::string::npos);
  });
}

TEST_F(DeepGraph, NearestParameter) {
  struct One : xgrad::Module<double> {
    void visit(xgrad::Visitor<double>& v) override { v("x", x); }
    V x{xgrad::ones<double>({}), true};
  };
  run_on_small_stack([] {
    One one;
    const xgrad::DetectAnomaly guard(one);
    const V y = chain(one.x);
    EXPECT_THROWS(xgrad::AnomalyError, y * std::numeric_limits<double>::infinity(), "; nearest parameter: x");
  });
}

TEST_F(DeepGraph, SecondOrderOfALongChain) {
  run_on_small_stack([] {
    V x(1.0);
    x.set_requires_grad(true);
    V y = x * x;
    for (int i = 0; i < 100'000; ++i) y = y + 1.0;
    const V g = xgrad::grad(y, x, {true});
    EXPECT_EQ(xgrad::grad(g, x).item(), 2.0);
  });
}

}  // namespace
