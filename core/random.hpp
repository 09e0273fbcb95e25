// Rng: a counter-based generator. Every number is a pure function of (key, position), so results do not depend on
// threads, machines or what was drawn before, and a generator's whole state is three integers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "array.hpp"

namespace xgrad {

/// One block of Philox 4x32-10: 128 random bits from a counter and a key.
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  std::uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  std::uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0;
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {c0, c1, c2, c3};
}

/// A stream of random numbers, fixed by its seed: the same on every machine and for any number of threads (normals
/// to 2 ulp). A copy repeats the numbers of the original; `split()` gives a stream of its own.
///
/// Position p of the stream with key k is the block philox({p low, p high, 0, 0}, {k low, k high}). A float array
/// takes one block per four numbers, a double array one per two, bernoulli one per four for either type, integers,
/// permutation steps and single draws one each. Every call starts a new block.
class Rng {
 public:
  /// All that a generator is; a checkpoint keeps these three integers.
  struct State {
    std::uint64_t key;       ///< the seed, or what split() derived
    std::uint64_t position;  ///< blocks used so far
    std::uint64_t splits;    ///< children made so far
    /// Equal states give equal numbers.
    /// @{
    friend bool operator==(const State& a, const State& b) {
      return a.key == b.key && a.position == b.position && a.splits == b.splits;
    }
    friend bool operator!=(const State& a, const State& b) { return !(a == b); }
    /// @}
  };

  /// The stream of this seed, from its start.
  explicit Rng(std::uint64_t seed = 0) : state_{seed, 0, 0} {}

  /// Where the stream is, and going on from there.
  /// @{
  State state() const { return state_; }
  void set_state(State state) { state_ = state; }
  /// @}

  /// An independent stream. Splitting leaves the parent's numbers as they were, and drawing leaves later splits.
  Rng split();

  /// 64 random bits.
  std::uint64_t next();

  /// One number in [0, 1), with 53 bits.
  double uniform();

  /// Numbers in [low, high), from 24 random bits for float and 53 for double; low == high gives low. Throws
  /// std::invalid_argument unless low <= high and both and their difference are finite.
  template <class T>
  Array<T> uniform(const Shape& shape, T low = T(0), T high = T(1));

  /// Normal numbers mean + std * z, z by Box and Muller (1958), |z| < 9, always finite. Throws std::invalid_argument
  /// for a negative std, or where mean +- 9 std is not finite.
  template <class T>
  Array<T> normal(const Shape& shape, T mean = T(0), T std = T(1));

  /// 1 with probability p (rounded to a multiple of 2^-32), else 0; float and double give the same pattern. Throws
  /// std::invalid_argument unless p is in [0, 1].
  template <class T>
  Array<T> bernoulli(const Shape& shape, double p);

  /// Integers in [low, high), each equally likely; throws std::invalid_argument unless low < high.
  Index integers(std::int64_t low, std::int64_t high, const Shape& shape);

  /// 0, 1, ..., n - 1 in random order, each order equally likely (Fisher and Yates); uses max(n - 1, 0) blocks.
  Index permutation(std::size_t n);

 private:
  State state_;
};

}  // namespace xgrad
