// The mask of dropout.hpp, for the kernels that apply it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "../random.hpp"
#include "parallel_inline.hpp"

namespace xgrad::detail {

/// What is dropped, and the factor of the rest.
template <class T>
class DropMask {
 public:
  /// Positions that belong together; parts of an array should begin at a multiple.
  static constexpr std::size_t kBlock = 32;
  /// Most positions for one call of `factors`.
  static constexpr std::size_t kChunk = 512;

  DropMask(double p, std::uint64_t key)
      : words_(philox({0, 0, 0, 2}, {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)})),
        threshold_(static_cast<std::uint32_t>(std::lround(p * 65536))),
        kept_(p < 1 ? static_cast<T>(1 / (1 - p)) : T(0)) {}

  T kept() const { return kept_; }

  /// The factors, kept() or 0, of n <= kChunk positions from `begin` on, written into `buffer`, which holds kChunk + 64
  /// numbers; returns where they start.
  XGRAD_INLINE const T* factors(std::size_t begin, std::size_t n, T* buffer) const {
    const std::uint32_t k0 = words_[0], k1 = words_[1], k2 = words_[2], threshold = threshold_;
    const T kept = kept_;
    const std::size_t first = begin / kBlock, last = (begin + n + kBlock - 1) / kBlock;
    for (std::size_t block = first; block < last; ++block) {
      T* const out = buffer + (block - first) * kBlock;
      const auto counter = static_cast<std::uint32_t>(block * 16);
      const auto high = k1 + static_cast<std::uint32_t>(block >> 28) * 0x9e3779b9u;
#pragma omp simd
      for (std::uint32_t l = 0; l < 16; ++l) {
        std::uint32_t h = (counter + l) ^ k0;
        h = (h ^ (h >> 16)) * 0x7feb352du + high;
        h = (h ^ (h >> 15)) * 0x846ca68bu + k2;
        h ^= h >> 16;
        out[l] = (h & 0xffffu) < threshold ? T(0) : kept;
        out[16 + l] = (h >> 16) < threshold ? T(0) : kept;
      }
    }
    return buffer + begin % kBlock;
  }

 private:
  std::array<std::uint32_t, 4> words_;
  std::uint32_t threshold_;
  T kept_;
};

/// x times a factor of the mask; a dropped number is 0, whatever it was.
template <class T>
XGRAD_INLINE inline T masked(T x, T factor) {
  return factor == 0 ? T(0) : x * factor;
}

}  // namespace xgrad::detail
