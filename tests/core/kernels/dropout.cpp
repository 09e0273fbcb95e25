#include <xgrad/core/kernels/dropout.hpp>

#include "core/kernels/instruction_sets.hpp"
#include "core/kernels/reference.hpp"

namespace {

using namespace reference;
using Bits = std::vector<int>;  // 1 where dropped

Bits dropped(std::size_t n, double p, std::uint64_t key) {
  const Array<float> y = xgrad::dropout(xgrad::ones<float>({n}), p, key);
  Bits bits(n);
  for (std::size_t i = 0; i < n; ++i) bits[i] = y.data()[i] == 0;
  return bits;
}

/// How far the share of dropped numbers is from p, in deviations.
double frequency(const Bits& a, double p) {
  double count = 0;
  for (const int bit : a) count += bit;
  const double n = static_cast<double>(a.size());
  return (count - n * p) / std::sqrt(n * p * (1 - p));
}

/// The correlation of a[i] and b[i + lag], in deviations.
double correlation(const Bits& a, const Bits& b, std::size_t lag, double p) {
  const std::size_t n = a.size() - lag;
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += (a[i] - p) * (b[i + lag] - p);
  return sum / (p * (1 - p) * std::sqrt(static_cast<double>(n)));
}

// Thousands of statistics are looked at; 5 deviations come by chance once in two million.
constexpr double kMost = 5;
constexpr std::size_t kSize = 1 << 18;

TEST(DropoutMask, Frequency) {
  for (const double p : {1.0 / 65536, 0.01, 0.1, 0.25, 0.5, 0.9})
    for (std::uint64_t key = 0; key < 8; ++key) EXPECT_LT(std::abs(frequency(dropped(kSize, p, key), p)), kMost);
  // The share over many steps of one run, and in every column of 64 over many rows.
  for (const double p : {0.1, 0.5}) {
    Bits all, columns[64];
    for (std::uint64_t key = 1000; key < 1256; ++key) {
      const Bits step = dropped(4096, p, key);
      all.insert(all.end(), step.begin(), step.end());
      for (std::size_t i = 0; i < step.size(); ++i) columns[i % 64].push_back(step[i]);
    }
    EXPECT_LT(std::abs(frequency(all, p)), kMost);
    for (const Bits& column : columns) EXPECT_LT(std::abs(frequency(column, p)), kMost);
  }
}

// Numbers of runs of each length, dropped and kept, against the geometric distribution.
TEST(DropoutMask, Runs) {
  for (const double p : {0.1, 0.5})
    for (const std::uint64_t key : {1u, 2u, 77u}) {
      const Bits a = dropped(4 * kSize, p, key);
      std::vector<double> counts[2] = {std::vector<double>(10, 0), std::vector<double>(10, 0)};
      double runs[2] = {0, 0};
      for (std::size_t i = 0, length; i < a.size(); i += length) {
        for (length = 1; i + length < a.size() && a[i + length] == a[i]; ++length) {
        }
        ++runs[a[i]];
        if (length < 10) ++counts[a[i]][length];
      }
      for (const int bit : {0, 1})
        for (int length = 1; length < 10; ++length) {
          const double stay = bit ? p : 1 - p, share = std::pow(stay, length - 1) * (1 - stay);
          const double want = runs[bit] * share, spread = std::sqrt(want * (1 - share)) + 1;
          EXPECT_LT(std::abs(counts[bit][static_cast<std::size_t>(length)] - want), kMost * spread)
              << bit << " x " << length << " at " << p;
        }
    }
}

// Between neighbours, lanes, halves of a word, and rows of every usual width.
TEST(DropoutMask, PairsWithinOneMask) {
  for (const double p : {0.1, 0.5}) {
    const Bits a = dropped(kSize, p, 5);
    for (std::size_t lag = 1; lag < 300; ++lag) EXPECT_LT(std::abs(correlation(a, a, lag, p)), kMost) << lag;
    for (const std::size_t width : {512, 768, 1000, 1023, 1024, 2048, 4096, 8192, 16384, 65536, 131072})
      for (const std::size_t shift : {0, 1, 16, 31}) {
        EXPECT_LT(std::abs(correlation(a, a, width + shift, p)), kMost) << width << " + " << shift;
      }
  }
}

// Between steps, layers and seeds: keys that are neighbours or differ in one bit.
TEST(DropoutMask, PairsBetweenKeys) {
  for (const double p : {0.1, 0.5}) {
    const Bits a = dropped(kSize, p, 5);
    for (std::uint64_t key = 6; key < 40; ++key) {
      const Bits b = dropped(kSize, p, key);
      for (const std::size_t lag : {0, 1, 2, 16, 32, 512}) EXPECT_LT(std::abs(correlation(a, b, lag, p)), kMost) << key;
    }
    for (int bit = 0; bit < 64; ++bit)
      EXPECT_LT(std::abs(correlation(a, dropped(kSize, p, 5 ^ (std::uint64_t{1} << bit)), 0, p)), kMost) << bit;
  }
}

TEST(DropoutMask, BothEndsAreExact) {
  const Array<float> x{1, -2, 0.5f, static_cast<float>(kInf)};
  EXPECT_EQ(xgrad::dropout(x, 0, 3), x);
  EXPECT_EQ(xgrad::dropout(x, 1, 3), xgrad::zeros<float>({4}));
  const Array<float> half = xgrad::dropout(xgrad::full<float>({64}, static_cast<float>(kNaN)), 0.5, 3);
  for (const float v : half) EXPECT_TRUE(v == 0 || std::isnan(v));
}

// Wherever an array begins and ends, in every type, instruction set and number of threads.
TEST(DropoutMask, DependsOnKeyAndPositionAlone) {
  const Bits all = dropped(3000000, 0.3, 9);
  each_instruction_set([&] {
    each_thread_count([&] { EXPECT_EQ(dropped(all.size(), 0.3, 9), all); });
    for (const std::size_t n : {0, 1, 3, 7, 15, 16, 17, 31, 32, 33, 511, 512, 513, 1023}) {
      EXPECT_EQ(dropped(n, 0.3, 9), Bits(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)));
      const Array<double> y = xgrad::dropout(xgrad::ones<double>({n}), 0.3, 9);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y(i), all[i] ? 0 : 1 / (1 - 0.3));
    }
  });
}

}  // namespace
