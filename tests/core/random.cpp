#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <thread>
#include <vector>
#include <xgrad/core/random.hpp>

namespace {

using xgrad::Array;
using xgrad::Rng;
using xgrad::Shape;
using Words = std::array<std::uint32_t, 4>;

constexpr std::uint64_t kSeed = 0x123456789abcdef0;

// Vectors of the paper's reference implementation, known before the program runs.
static_assert(xgrad::philox({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5, "usable in constant expressions");

TEST(Philox, KnownVectors) {
  EXPECT_EQ(xgrad::philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t f = 0xffffffff;
  EXPECT_EQ(xgrad::philox({f, f, f, f}, {f, f}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(xgrad::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

template <class T>
void expect_near(const Array<T>& got, const std::vector<double>& want, double rel) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(double(got.data()[i]), want[i], rel * std::abs(want[i])) << "entry " << i;
}

// All golden numbers come from a separate Python program with integers of its own.
TEST(Rng, GoldenNumbers) {
  Rng bits(kSeed);
  EXPECT_EQ(bits.next(), 0x78384bc0092c9b44u);
  EXPECT_EQ(bits.next(), 0x609cf517389d999au);
  EXPECT_EQ(bits.next(), 0x3153794f85099817u);
  EXPECT_EQ(Rng(kSeed).uniform(), 0.4696090072476856);
  expect_near(Rng(kSeed).uniform<float>({6}),
              {0.035836875438690186, 0.46960896253585815, 0.7889938354492188, 0.1688826084136963, 0.22115474939346313,
               0.37739497423171997},
              0);
  expect_near(Rng(kSeed).uniform<double>({3}), {0.4696090072476856, 0.16888266005297048, 0.37739497963831636}, 0);
  expect_near(Rng(kSeed).normal<double>({2, 2}),
              {0.59987327379729127, 1.0732482076978236, -1.1275416446156918, -0.82314988727451532}, 5e-16);
  expect_near(Rng(kSeed).normal<float>({4}), {-2.53332493, 0.489711391, 0.335901323, 0.600968961}, 1.2e-7);
  expect_near(Rng(kSeed).bernoulli<float>({12}, 0.3), {1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0}, 0);
  EXPECT_EQ(Rng(kSeed).integers(-5, 12, {8}), (xgrad::Index{0, -2, -2, -4, 1, -3, -1, 5}));
  EXPECT_EQ(Rng(kSeed).permutation(10), (xgrad::Index{5, 9, 8, 1, 0, 3, 6, 7, 2, 4}));
  Rng parent(kSeed);
  EXPECT_EQ(parent.split().state().key, 0x967b1a774104f73au);
  EXPECT_EQ(parent.split().state().key, 0x1f08a35c3a19528du);
}

// A range of 2^63 + 1 refuses almost half of all draws; entries 0, 2, 3, 8, 9, 10 need one to three more attempts.
TEST(Rng, GoldenIntegersAfterRefusedDraws) {
  const std::int64_t half = std::int64_t{1} << 62;
  const auto got = Rng(kSeed).integers(-half, half + 1, {12});
  const std::vector<std::int64_t> want{2587285492286342968, 1851382813089118975, 7801694688702233041,
                                       8650180257788958513, 5939206071472928232, 4400713507259500931,
                                       1683720910109668067, 344120777691608696,  7126953179774490516,
                                       242313262775241919,  6270371735573292132, 1835303943870821612};
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got(i), want[i] - half) << i;
}

TEST(Rng, SameSeedSameNumbersOtherSeedOthers) {
  EXPECT_EQ(Rng(7).normal<float>({100}), Rng(7).normal<float>({100}));
  EXPECT_NE(Rng(7).normal<float>({100}), Rng(8).normal<float>({100}));
  EXPECT_NE(Rng(7).next(), Rng(7 + (std::uint64_t{1} << 32)).next());
  EXPECT_EQ(Rng().next(), Rng(0).next());
  Array<float> elsewhere;
  std::thread([&] { elsewhere = Rng(7).normal<float>({100}); }).join();
  EXPECT_EQ(elsewhere, Rng(7).normal<float>({100}));
}

TEST(Rng, EntriesDoNotDependOnTheLengthOfTheArray) {
  const auto lengthy = Rng(3).normal<double>({1001});
  for (const std::size_t n : {1, 2, 3, 5, 64}) {
    const auto prefix = Rng(3).normal<double>({n});
    EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), lengthy.begin())) << n;
  }
}

TEST(Rng, PositionCountsBlocks) {
  Rng rng(1);
  auto used = [&, before = std::uint64_t{0}]() mutable {
    const auto blocks = rng.state().position - before;
    before += blocks;
    return blocks;
  };
  rng.uniform<float>({5});
  EXPECT_EQ(used(), 2u);
  rng.normal<double>({5});
  EXPECT_EQ(used(), 3u);
  rng.bernoulli<double>({2, 4}, 0.5);
  EXPECT_EQ(used(), 2u);
  rng.integers(0, 3, {2, 4});
  EXPECT_EQ(used(), 8u);
  rng.permutation(5);
  EXPECT_EQ(used(), 4u);
  rng.permutation(0), rng.permutation(1), rng.uniform<float>({0, 3});
  EXPECT_EQ(used(), 0u);
  rng.uniform(), rng.next();
  EXPECT_EQ(used(), 2u);
}

TEST(Rng, StateIsSavedAndRestoredMidStream) {
  Rng rng(5);
  rng.uniform<float>({7});
  rng.split();
  const Rng::State saved = rng.state();
  const auto numbers = rng.normal<float>({9});
  const auto child = rng.split().next();
  EXPECT_NE(rng.state(), saved);
  Rng other(99);
  other.set_state(saved);
  EXPECT_EQ(other.state(), saved);
  EXPECT_EQ(other.normal<float>({9}), numbers);
  EXPECT_EQ(other.split().next(), child);
  EXPECT_EQ(other.state(), rng.state());
}

TEST(Rng, SplittingAndDrawingLeaveEachOtherAlone) {
  Rng plain(11), splitting(11), drawing(11);
  const auto child = splitting.split();
  EXPECT_EQ(plain.next(), splitting.next());
  drawing.uniform<double>({1000});
  EXPECT_EQ(drawing.split().state(), child.state());
  EXPECT_EQ(child.state().position, 0u);
  EXPECT_EQ(child.state().splits, 0u);
}

TEST(Rng, StreamsOfAFamilyAllDiffer) {
  std::set<std::uint64_t> first;
  std::size_t count = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng parent(seed);
    first.insert(parent.next()), ++count;
    for (int i = 0; i < 20; ++i) {
      Rng child = parent.split();
      first.insert(child.next()), ++count;
      for (int j = 0; j < 3; ++j) first.insert(child.split().next()), ++count;
    }
  }
  EXPECT_EQ(first.size(), count);
}

double mean_of(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / double(x.size());
}

template <class T>
std::vector<double> doubles(const Array<T>& a) {
  return {a.begin(), a.end()};
}

template <class T>
class RngOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(RngOf, Types, );  // the comma: clang in C++17 wants the last argument

// Bounds below are five standard deviations of the statistic for n independent draws.
TYPED_TEST(RngOf, UniformMomentsFrequenciesRunsAndPairs) {
  const std::size_t n = 200000;
  const auto u = doubles(Rng(21).uniform<TypeParam>({n}));
  const double root = std::sqrt(double(n));
  EXPECT_NEAR(mean_of(u), 0.5, 5 * std::sqrt(1 / 12.) / root);
  double square = 0, chi = 0;
  std::vector<double> bins(64);
  std::size_t up = 0;
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_GE(u[i], 0);
    ASSERT_LT(u[i], 1);
    square += (u[i] - 0.5) * (u[i] - 0.5) / double(n);
    ++bins[std::size_t(u[i] * 64)];
    up += (u[i] > 0.5) != (u[i ? i - 1 : 0] > 0.5);
  }
  EXPECT_NEAR(square, 1 / 12., 5 * std::sqrt(1 / 180.) / root);
  for (const double count : bins) chi += (count - n / 64.) * (count - n / 64.) / (n / 64.);
  EXPECT_NEAR(chi, 63, 5 * std::sqrt(2 * 63.));
  EXPECT_NEAR(double(up), double(n - 1) / 2, 5 * root / 2);  // a run ends at every second draw
  for (const std::size_t lag : {1, 2, 3, 4, 8, 100}) {
    double product = 0;
    for (std::size_t i = 0; i + lag < n; ++i) product += (u[i] - 0.5) * (u[i + lag] - 0.5);
    EXPECT_NEAR(product / double(n - lag) * 12, 0, 5 / root) << "lag " << lag;
  }
}

TYPED_TEST(RngOf, UniformStaysInsideItsBounds) {
  using T = TypeParam;
  const auto shifted = Rng(4).uniform<T>({10000}, T(-3), T(5));
  EXPECT_NEAR(mean_of(doubles(shifted)), 1, 5 * 8 / std::sqrt(12 * 10000.));
  // Rounding onto so coarse a grid reaches the upper bound in half of all draws unless it is kept out.
  const T low = T(1), high = std::nextafter(T(1), T(2));
  for (const T v : Rng(4).uniform<T>({1000}, low, high)) ASSERT_EQ(v, low);
  for (const T v : Rng(4).uniform<T>({10}, T(2), T(2))) ASSERT_EQ(v, T(2));
}

TYPED_TEST(RngOf, NormalMomentsAndTails) {
  const std::size_t n = 200000;
  const auto z = doubles(Rng(22).normal<TypeParam>({n}));
  const double root = std::sqrt(double(n));
  double m2 = 0, m3 = 0, m4 = 0, pair = 0;
  std::size_t inside = 0;
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_TRUE(std::abs(z[i]) < 9);
    m2 += z[i] * z[i], m3 += std::pow(z[i], 3), m4 += std::pow(z[i], 4);
    pair += z[i] * z[i ^ 1];
    inside += std::abs(z[i]) < 1;
  }
  EXPECT_NEAR(mean_of(z), 0, 5 / root);
  EXPECT_NEAR(m2 / double(n), 1, 5 * std::sqrt(2.) / root);
  EXPECT_NEAR(m3 / double(n), 0, 5 * std::sqrt(15.) / root);
  EXPECT_NEAR(m4 / double(n), 3, 5 * std::sqrt(96.) / root);
  EXPECT_NEAR(pair / double(n), 0, 5 * std::sqrt(2.) / root);
  EXPECT_NEAR(double(inside), 0.6826894921 * double(n), 5 * 0.4654 * root);
  const auto moved = doubles(Rng(22).normal<TypeParam>({n}, TypeParam(3), TypeParam(0.5)));
  for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(moved[i], 3 + 0.5 * z[i], 1e-6);
  for (const auto v : Rng(22).normal<TypeParam>({5}, TypeParam(3), TypeParam(0))) EXPECT_EQ(v, TypeParam(3));
}

TYPED_TEST(RngOf, BernoulliFrequency) {
  using T = TypeParam;
  for (const double p : {0.1, 0.5, 0.75}) {
    double kept = 0;
    for (const T v : Rng(23).bernoulli<T>({100000}, p)) {
      ASSERT_TRUE(v == T(0) || v == T(1));
      kept += double(v);
    }
    EXPECT_NEAR(kept, p * 1e5, 5 * std::sqrt(1e5 * p * (1 - p))) << p;
  }
  EXPECT_EQ(Rng(1).bernoulli<T>({1000}, 1), xgrad::ones<T>({1000}));
  EXPECT_EQ(Rng(1).bernoulli<T>({1000}, 0), xgrad::zeros<T>({1000}));
  EXPECT_EQ(doubles(Rng(1).bernoulli<T>({99}, 0.4)), doubles(Rng(1).bernoulli<double>({99}, 0.4)));
}

TEST(Rng, ShapesIncludingEmptyAndZeroAxes) {
  Rng rng(2);
  EXPECT_EQ(rng.uniform<float>({2, 3, 5}).shape(), (Shape{2, 3, 5}));
  EXPECT_EQ(rng.normal<double>(Shape{}).size(), 1u);
  EXPECT_EQ(rng.integers(0, 2, {0, 4}).shape(), (Shape{0, 4}));
}

TEST(Rng, IntegersAreUniformOverTheirRange) {
  std::vector<double> counts(7);
  for (const auto v : Rng(24).integers(-3, 4, {70000})) {
    ASSERT_TRUE(v >= -3 && v < 4);
    ++counts[std::size_t(v + 3)];
  }
  for (const double c : counts) EXPECT_NEAR(c, 10000, 5 * std::sqrt(70000 * 6. / 49));
  EXPECT_EQ(Rng(1).integers(9, 10, {3}), (xgrad::Index{9, 9, 9}));
  const auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  std::size_t negative = 0;
  for (const auto v : Rng(25).integers(least, most, {10000})) negative += v < 0;
  EXPECT_NEAR(double(negative), 5000, 250);
}

TEST(Rng, PermutationsHoldEveryNumberOnce) {
  Rng rng(26);
  EXPECT_EQ(rng.permutation(0).shape(), Shape{0});
  EXPECT_EQ(rng.permutation(1), xgrad::Index{0});
  for (const std::size_t n : {2, 3, 17, 1000}) {
    auto p = rng.permutation(n);
    std::sort(p.begin(), p.end());
    EXPECT_EQ(p, xgrad::arange<std::int64_t>(std::int64_t(n))) << n;
  }
}

TEST(Rng, PermutationsAreUniform) {
  Rng rng(27);
  const int trials = 24000;
  std::vector<double> orders(256);  // each of the 24 orders of four, by its digits in base 4
  for (int t = 0; t < trials; ++t) {
    const auto p = rng.permutation(4);
    ++orders[std::size_t(((p(0) * 4 + p(1)) * 4 + p(2)) * 4 + p(3))];
  }
  double chi = 0;
  int seen = 0;
  for (const double c : orders)
    if (c > 0) chi += (c - 1000) * (c - 1000) / 1000, ++seen;
  EXPECT_EQ(seen, 24);
  EXPECT_NEAR(chi, 23, 5 * std::sqrt(2 * 23.));
}

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "no error";
}

TEST(Rng, ImpossibleArgumentsAreRefusedAndUseNoNumber) {
  Rng rng(1);
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_of([&] { rng.bernoulli<float>({2}, 1.1); }), "[bernoulli] p must be in [0, 1] but is 1.1");
  EXPECT_EQ(error_of([&] { rng.bernoulli<float>({2}, -0.1); }), "[bernoulli] p must be in [0, 1] but is -0.1");
  EXPECT_EQ(error_of([&] { rng.bernoulli<float>({2}, nan); }), "[bernoulli] p must be in [0, 1] but is nan");
  EXPECT_EQ(error_of([&] { rng.uniform<double>({2}, 1, 0); }),
            "[uniform] needs finite low <= high but got low 1, high 0");
  EXPECT_EQ(error_of([&] { rng.uniform<double>({2}, nan, 0); }),
            "[uniform] needs finite low <= high but got low nan, high 0");
  EXPECT_EQ(error_of([&] { rng.uniform<double>({2}, 0, inf); }),
            "[uniform] needs finite low <= high but got low 0, high inf");
  EXPECT_NE(error_of([&] { rng.uniform<double>({2}, -1.7e308, 1.7e308); }), "no error");
  EXPECT_EQ(error_of([&] { rng.normal<double>({2}, 0, -1); }),
            "[normal] needs std >= 0 and finite mean +- 9 std but got mean 0, std -1");
  EXPECT_NE(error_of([&] { rng.normal<double>({2}, nan, 1); }), "no error");
  EXPECT_NE(error_of([&] { rng.normal<float>({2}, 0, 1e38f); }), "no error");
  EXPECT_EQ(error_of([&] { rng.integers(3, 3, {2}); }), "[integers] needs low < high but got low 3, high 3");
  EXPECT_EQ(rng.state(), Rng(1).state());
}

}  // namespace
