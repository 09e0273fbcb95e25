#include "random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace xgrad {
namespace {

using Block = std::array<std::uint32_t, 4>;

// Last word of the counter of the blocks that become keys of children; numbers have 0 there.
constexpr std::uint32_t kSplit = 1;

Block block(std::uint64_t key, std::uint64_t position, std::uint32_t attempt = 0, std::uint32_t purpose = 0) {
  return philox({static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32), attempt, purpose},
                {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
}

std::uint64_t low_bits(const Block& b) { return b[0] | std::uint64_t{b[1]} << 32; }
std::uint64_t high_bits(const Block& b) { return b[2] | std::uint64_t{b[3]} << 32; }

double unit(std::uint32_t bits) { return (bits >> 8) * 0x1p-24; }                      // [0, 1), 24 bits
double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }  // [0, 1), 53 bits

// The numbers in [0, 1) that one block gives: four of 24 bits for float, two of 53 for double.
template <class T>
std::array<double, 16 / sizeof(T)> units(const Block& b) {
  if constexpr (sizeof(T) == 4) return {unit(b[0]), unit(b[1]), unit(b[2]), unit(b[3])};
  else return {unit(low_bits(b)), unit(high_bits(b))};
}

// Calls numbers(block), an array of results, for as many blocks as the array needs and advances the position.
template <class T, class F>
Array<T> fill(const Shape& shape, Rng::State& state, F numbers) {
  auto out = empty<T>(shape);
  const std::size_t n = out.size();
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < n; ++blocks) {
    const auto values = numbers(block(state.key, state.position + blocks));
    const std::size_t count = std::min(values.size(), n - i);
    std::copy_n(values.begin(), count, out.data() + i);
    i += count;
  }
  state.position += blocks;
  return out;
}

// Uniform in [0, n) for n > 0, without bias: the lowest 2^64 mod n of the 2^64 draws are refused, so that what is
// left is a multiple of n. Refused draws go on to further attempts at the same position.
std::uint64_t bounded(std::uint64_t key, std::uint64_t position, std::uint64_t n) {
  const std::uint64_t refused = (0 - n) % n;
  for (std::uint32_t attempt = 0;; ++attempt) {
    const Block b = block(key, position, attempt);
    if (low_bits(b) >= refused) return low_bits(b) % n;
    if (high_bits(b) >= refused) return high_bits(b) % n;
  }
}

}  // namespace

Rng Rng::split() { return Rng(low_bits(block(state_.key, state_.splits++, 0, kSplit))); }

std::uint64_t Rng::next() { return low_bits(block(state_.key, state_.position++)); }

double Rng::uniform() { return unit(next()); }

// std::fma below fixes the rounding: a plain a * b + c is rounded once or twice depending on the processor.
template <class T>
Array<T> Rng::uniform(const Shape& shape, T low, T high) {
  if (!(low <= high) || !std::isfinite(high - low))
    fail<std::invalid_argument>("uniform", "needs finite low <= high but got low ", low, ", high ", high);
  const double width = static_cast<double>(high) - static_cast<double>(low);
  const T below = high > low ? std::nextafter(high, low) : low;
  return fill<T>(shape, state_, [&](const Block& b) {
    std::array<T, 16 / sizeof(T)> out;
    const auto u = units<T>(b);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = std::min(static_cast<T>(std::fma(width, u[i], static_cast<double>(low))), below);
    return out;
  });
}

template <class T>
Array<T> Rng::normal(const Shape& shape, T mean, T std) {
  if (!(std >= T(0)) || !std::isfinite(std::abs(mean) + T(9) * std))
    fail<std::invalid_argument>("normal", "needs std >= 0 and finite mean +- 9 std but got mean ", mean, ", std ", std);
  constexpr double two_pi = 6.283185307179586476925;
  // The smallest step of `units`; adding it moves [0, 1) to (0, 1], where the logarithm is finite.
  constexpr double step = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  return fill<T>(shape, state_, [&](const Block& b) {
    std::array<T, 16 / sizeof(T)> out;
    const auto u = units<T>(b);
    for (std::size_t i = 0; i < out.size(); i += 2) {
      const double radius = std::sqrt(-2 * std::log(u[i] + step));
      const double angle = two_pi * u[i + 1];
      out[i] = static_cast<T>(std::fma(static_cast<double>(std), radius * std::cos(angle), static_cast<double>(mean)));
      out[i + 1] =
          static_cast<T>(std::fma(static_cast<double>(std), radius * std::sin(angle), static_cast<double>(mean)));
    }
    return out;
  });
}

template <class T>
Array<T> Rng::bernoulli(const Shape& shape, double p) {
  if (!(p >= 0 && p <= 1)) fail<std::invalid_argument>("bernoulli", "p must be in [0, 1] but is ", p);
  const auto threshold = static_cast<std::uint64_t>(std::llround(p * 0x1p32));
  return fill<T>(shape, state_, [&](const Block& b) {
    std::array<T, 4> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = b[i] < threshold ? T(1) : T(0);
    return out;
  });
}

Index Rng::integers(std::int64_t low, std::int64_t high, const Shape& shape) {
  if (low >= high) fail<std::invalid_argument>("integers", "needs low < high but got low ", low, ", high ", high);
  const auto start = static_cast<std::uint64_t>(low);
  const std::uint64_t range = static_cast<std::uint64_t>(high) - start;
  auto out = empty<std::int64_t>(shape);
  for (std::size_t i = 0; i < out.size(); ++i)
    out.data()[i] = static_cast<std::int64_t>(start + bounded(state_.key, state_.position + i, range));
  state_.position += out.size();
  return out;
}

Index Rng::permutation(std::size_t n) {
  auto out = empty<std::int64_t>({n});
  std::iota(out.data(), out.data() + n, std::int64_t{0});
  for (std::size_t left = n; left > 1; --left)
    std::swap(out.data()[left - 1], out.data()[bounded(state_.key, state_.position++, left)]);
  return out;
}

#define XGRAD_INSTANTIATE(T)                          \
  template Array<T> Rng::uniform(const Shape&, T, T); \
  template Array<T> Rng::normal(const Shape&, T, T);  \
  template Array<T> Rng::bernoulli(const Shape&, double);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
