// The mask of dropout.hpp, for the kernels that apply it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "../random.hpp"
#include "parallel_inline.hpp"

namespace xgrad::detail {

/// Which positions of an array are kept, and the factor they get.
template <class T>
class DropMask {
 public:
  /// Positions that share the words of random bits; parts of an array had better begin at a multiple.
  static constexpr std::size_t kBlock = 32;

  DropMask(double p, std::uint64_t key)
      : words_(philox({0, 0, 0, 2}, {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)})),
        threshold_(static_cast<std::uint64_t>(std::lround(p * 65536)) << 16),
        kept_(p < 1 ? static_cast<T>(1 / (1 - p)) : T(0)) {}

  T kept() const { return kept_; }

  /// Calls f(i, keep) for i in [0, n), keep being true where position begin + i is kept.
  template <class F>
  XGRAD_INLINE void apply(std::size_t begin, std::size_t n, F f) const {
    if (threshold_ == 0) {
#pragma omp simd
      for (std::size_t i = 0; i < n; ++i) f(i, true);
      return;
    }
    const auto last_dropped = static_cast<std::uint32_t>(threshold_ - 1);
    std::size_t i = 0, ragged = std::min(n, (kBlock - begin % kBlock) % kBlock);  // before the first whole block
    for (;;) {
      for (; i < ragged; ++i) {
        const std::size_t at = (begin + i) % kBlock;
        const std::uint32_t h = Words(*this, (begin + i) / kBlock)(static_cast<std::uint32_t>(at % 16));
        f(i, (at < 16 ? h << 16 : h) > last_dropped);
      }
      for (; i + kBlock <= n; i += kBlock) {
        const Words words(*this, (begin + i) / kBlock);
#pragma omp simd
        for (std::uint32_t l = 0; l < 16; ++l) {
          const std::uint32_t h = words(l);
          f(i + l, h << 16 > last_dropped);
          f(i + 16 + l, h > last_dropped);
        }
      }
      if (i == n) return;
      ragged = n;
    }
  }

 private:
  /// The 16 words of a block.
  struct Words {
    XGRAD_INLINE Words(const DropMask& mask, std::size_t block)
        : counter(static_cast<std::uint32_t>(block * 16)),
          k0(mask.words_[0]),
          k1(mask.words_[1] + static_cast<std::uint32_t>(block >> 28) * 0x9e3779b9u),
          k2(mask.words_[2]) {}
    XGRAD_INLINE std::uint32_t operator()(std::uint32_t l) const {
      std::uint32_t h = (counter + l) ^ k0;
      h = (h ^ (h >> 16)) * 0x7feb352du + k1;
      h = (h ^ (h >> 15)) * 0x846ca68bu + k2;
      return h ^ (h >> 16);
    }
    std::uint32_t counter, k0, k1, k2;
  };

  std::array<std::uint32_t, 4> words_;
  std::uint64_t threshold_;  // on the upper half of a word: what lies below is dropped
  T kept_;
};

}  // namespace xgrad::detail
