// Which instruction set the kernels use: the best that the processor has, unless told otherwise.
#pragma once

namespace xgrad {

/// The sets that kernels are compiled for. Results may differ between sets in their last bits, never between numbers of
/// threads. Off x86 there is the baseline alone.
enum class InstructionSet {
  baseline,  ///< what the compiler was told to assume; SSE2 on x86-64
  avx2,      ///< AVX2 and FMA
  avx512,    ///< AVX-512 F, DQ, BW and VL
};

/// True when this processor and operating system run the set.
bool has_instruction_set(InstructionSet set) noexcept;

/// The set in use, by all threads.
InstructionSet instruction_set() noexcept;

/// Changes the set in use, to compare them; throws std::invalid_argument for one that the processor lacks. Call it
/// while no other thread computes.
void set_instruction_set(InstructionSet set);

}  // namespace xgrad
