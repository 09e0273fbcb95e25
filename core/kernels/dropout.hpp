// Dropout on arrays: which numbers are kept follows from a key and the position alone, so that no mask is stored.
#pragma once

#include <cstdint>

#include "../array.hpp"

namespace xgrad {

/// x / (1 - p) where the mask of `key` keeps, else 0, whatever x is there; p = 1 gives zeros.
///
/// A number is dropped when its 16 random bits are below p 2^16, rounded: so p counts to a multiple of 2^-16, while the
/// factor is 1 / (1 - p) as it stands. The mask depends on key, p and row-major position, not on type, instruction set
/// or threads. p must be in [0, 1].
///
/// Bits: for positions 32 b + l and 32 b + 16 + l, l < 16, the low and the high half of one word, a hash of 16 b + l in
/// the manner of Wellons' "Hash Function Prospector" (multiply and xor-shift), with words of key between its steps,
/// which a block of Philox makes of `key`.
template <class T>
Array<T> dropout(const Array<T>& x, double p, std::uint64_t key);

}  // namespace xgrad
