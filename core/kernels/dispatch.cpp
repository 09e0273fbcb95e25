#include "dispatch.hpp"

#include <atomic>
#include <stdexcept>

#include "../check.hpp"

namespace xgrad {

namespace {

InstructionSet best() noexcept {
  for (const InstructionSet set : {InstructionSet::avx512, InstructionSet::avx2})
    if (has_instruction_set(set)) return set;
  return InstructionSet::baseline;
}

std::atomic<InstructionSet>& current() noexcept {
  static std::atomic<InstructionSet> set{best()};
  return set;
}

}  // namespace

bool has_instruction_set([[maybe_unused]] InstructionSet set) noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (set == InstructionSet::avx2) return avx2;
  if (set == InstructionSet::avx512)
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#endif
  return set == InstructionSet::baseline;
}

InstructionSet instruction_set() noexcept { return current().load(std::memory_order_relaxed); }

void set_instruction_set(InstructionSet set) {
  if (!has_instruction_set(set))
    fail<std::invalid_argument>("set_instruction_set", "this processor does not have instruction set number ",
                                static_cast<int>(set));
  current().store(set, std::memory_order_relaxed);
}

}  // namespace xgrad
