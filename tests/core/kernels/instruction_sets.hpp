// Runs a test in every instruction set that the processor has, or with several numbers of threads.
#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <xgrad/core/kernels/dispatch.hpp>

namespace reference {

template <class F>
void each_instruction_set(F f) {
  using xgrad::InstructionSet;
  const InstructionSet before = xgrad::instruction_set();
  for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    if (!xgrad::has_instruction_set(set)) continue;
    SCOPED_TRACE("instruction set " + std::to_string(static_cast<int>(set)));
    xgrad::set_instruction_set(set);
    f();
  }
  xgrad::set_instruction_set(before);
}

template <class F>
void each_thread_count(F f) {
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 8}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    omp_set_num_threads(threads);
    f();
  }
  omp_set_num_threads(before);
}

/// Checks that make() gives the same bits with 1, 2 and 8 threads.
template <class F>
void expect_same_for_all_threads(F make) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto alone = make();
  each_thread_count([&] { EXPECT_TRUE(alone == make()); });
  omp_set_num_threads(before);
}

}  // namespace reference
