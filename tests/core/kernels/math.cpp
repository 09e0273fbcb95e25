#include <xgrad/core/kernels/math_inline.hpp>

#include <functional>

#include "core/kernels/instruction_sets.hpp"
#include "core/kernels/reference.hpp"
#include "throws.hpp"

namespace {

using namespace reference;

/// Every 997th float, denormals and both zeros included, then the special ones.
std::vector<float> inputs() {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits <= 0xffffffff; bits += 997)
    x.push_back(xgrad::detail::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (int k = -150479; k <= 150479; ++k) x.push_back(0.000731f * static_cast<float>(k));  // -110 to 110
  for (const double v : {kInf, -kInf, kNaN, 0.0, -0.0, 1e-45, -1e-45, 88.7228, 88.73, -87.34, -103.9, -104.1})
    x.push_back(static_cast<float>(v));
  return x;
}

/// The largest |f - want| over a set's vector code, each measured against step(want).
template <class F>
double worst(F f, const std::function<double(double)>& want, const std::function<double(double)>& step) {
  const std::vector<float> x = inputs();
  std::vector<float> y(x.size());
  const float* in = x.data();
  float* out = y.data();
  const std::size_t n = x.size();
  xgrad::detail::vectorized([=]() XGRAD_INLINE {
    for (std::size_t i = 0; i < n; ++i) out[i] = f(in[i]);
  });
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double w = want(static_cast<double>(x[i])), got = static_cast<double>(y[i]);
    if (std::isnan(w) || std::isinf(static_cast<float>(w))) {
      EXPECT_TRUE(close(got, static_cast<double>(static_cast<float>(w)), 0)) << x[i] << " gives " << got;
      continue;
    }
    const double error = std::abs(got - w) / step(w);
    if (!(error <= largest)) largest = error;
  }
  return largest;
}

/// The distance between floats near w.
double ulp(double w) {
  const double smallest = 0x1p-149;
  return std::max(smallest, std::ldexp(1.0, std::ilogb(std::max(std::abs(w), 1e-300)) - 23));
}
double one(double) { return 1; }

TEST(Math, ExpOfFloat) {
  each_instruction_set([] {
    EXPECT_LE(
        worst([](float v) XGRAD_INLINE { return xgrad::detail::exp_of(v); }, [](double v) { return std::exp(v); }, ulp),
        1.5);
  });
}

TEST(Math, ExpOfNegativeFloat) {
  each_instruction_set([] {
    EXPECT_LE(worst([](float v) XGRAD_INLINE { return xgrad::detail::exp_of_negative(v > 0 ? -v : v); },
                    [](double v) { return std::exp(v > 0 ? -v : v); }, ulp),
              1.5);
  });
}

TEST(Math, TanhOfFloat) {
  each_instruction_set([] {
    EXPECT_LE(worst([](float v) XGRAD_INLINE { return xgrad::detail::tanh_of(v); },
                    [](double v) { return std::tanh(v); }, ulp),
              6);
  });
}

TEST(Math, LogisticOfFloat) {
  each_instruction_set([] {
    EXPECT_LE(worst([](float v) XGRAD_INLINE { return xgrad::detail::logistic(v); },
                    [](double v) { return v < 0 ? std::exp(v) / (1 + std::exp(v)) : 1 / (1 + std::exp(-v)); }, ulp),
              3);
  });
}

TEST(Math, NormalCdfOfFloat) {
  each_instruction_set([] {
    EXPECT_LE(worst([](float v) XGRAD_INLINE { return xgrad::detail::normal_cdf_of(v); },
                    [](double v) { return 0.5 * std::erfc(-v / std::sqrt(2.0)); }, one),
              2e-7);
  });
}

TEST(Math, InstructionSetsThatTheProcessorLacksAreRefused) {
  using xgrad::InstructionSet;
  EXPECT_TRUE(xgrad::has_instruction_set(InstructionSet::baseline));
  for (const InstructionSet set : {InstructionSet::avx2, InstructionSet::avx512})
    if (!xgrad::has_instruction_set(set)) {
      EXPECT_THROWS(std::invalid_argument, xgrad::set_instruction_set(set),
                    "[set_instruction_set] this processor does not have instruction set number ");
    }
  EXPECT_TRUE(xgrad::has_instruction_set(xgrad::instruction_set()));
  EXPECT_FALSE(xgrad::has_instruction_set(static_cast<InstructionSet>(9)));
  EXPECT_THROWS(std::invalid_argument, xgrad::set_instruction_set(static_cast<InstructionSet>(9)),
                "[set_instruction_set] this processor does not have instruction set number 9");
}

// Each number is visited once, whatever the counts.
TEST(Parallel, PartsCoverTheRange) {
  each_thread_count([] {
    for (const std::size_t n : {0, 1, 5, 64, 1000, 1023})
      for (const std::size_t grain : {1, 7, 32, 5000}) {
        std::vector<int> visits(n, 0);
        int* const at = visits.data();
        xgrad::detail::parallel(n, grain, 1e6, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
          EXPECT_EQ(begin % grain, 0u);
          for (std::size_t i = begin; i < end; ++i) ++at[i];
        });
        EXPECT_EQ(visits, std::vector<int>(n, 1)) << n << " by " << grain;
      }
  });
}

TEST(Parallel, LittleWorkWakesNoThread) {
  each_thread_count([] {
    int parts = 0;
    int* const count = &parts;
    xgrad::detail::parallel(1000, 1, 49, [=](std::size_t, std::size_t) XGRAD_INLINE { ++*count; });
    EXPECT_EQ(parts, 1);
  });
}

}  // namespace
