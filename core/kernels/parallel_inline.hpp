// How a kernel runs: its loops, written once, are compiled for every instruction set and shared out to threads where
// that pays. Internal to the kernels.
//
//     parallel(n, 1, 0.2, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
//       for (std::size_t i = begin; i < end; ++i) y[i] = x[i] * x[i];
//     });
//
// XGRAD_INLINE on the lambda, and on every function it calls in its loops, is what lets them be compiled with the
// instructions of the caller; a function without it runs as the baseline has it. Capture by value: what stands behind a
// reference would be loaded again after every store.
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "../memory.hpp"
#include "dispatch.hpp"

#ifdef __clang__  // warns of every loop that it does not vectorise, such as those over the double std::exp
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#define XGRAD_INLINE __attribute__((always_inline))

namespace xgrad::detail {

#if defined(__x86_64__) || defined(__i386__)
template <class F>
__attribute__((target("avx2,fma"), noinline)) void with_avx2(F body) {
  body();
}
template <class F>
__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"), noinline)) void with_avx512(F body) {
  body();
}
#endif
template <class F>
__attribute__((noinline)) void with_baseline(F body) {
  body();
}

/// Runs body() in the instruction set in use.
template <class F>
void vectorized(F body) {
#if defined(__x86_64__) || defined(__i386__)
  const InstructionSet set = instruction_set();
  if (set == InstructionSet::avx512) return with_avx512(body);
  if (set == InstructionSet::avx2) return with_avx2(body);
#endif
  with_baseline(body);
}

/// Less work than this is done by the calling thread: waking the others costs up to 25 microseconds.
constexpr double kWorthThreads = 50e3;  // nanoseconds

/// Runs body(begin, end) on parts that make up [0, n), in the instruction set in use. Parts begin at multiples of
/// `grain`. `cost` is about what one item takes, in nanoseconds; it decides whether there is more than one part. Since
/// parts differ with the number of threads, an item's result must not depend on where its part begins or ends.
template <class F>
void parallel(std::size_t n, std::size_t grain, double cost, F body) {
  const std::size_t blocks = n / grain + (n % grain != 0);
  const auto part = [=](std::size_t index, std::size_t parts) {
    const std::size_t begin = blocks * index / parts * grain, end = std::min(n, blocks * (index + 1) / parts * grain);
    if (begin < end) vectorized([=]() XGRAD_INLINE { body(begin, end); });
  };
  if (static_cast<double>(n) * cost < kWorthThreads || blocks < 2 || omp_in_parallel()) return part(0, 1);
  const int threads = static_cast<int>(std::min<std::size_t>(blocks, static_cast<std::size_t>(omp_get_max_threads())));
  if (threads == 1) return part(0, 1);
#pragma omp parallel num_threads(threads)
  part(static_cast<std::size_t>(omp_get_thread_num()), static_cast<std::size_t>(omp_get_num_threads()));
}

/// N sums at once: of f(0) to f(n - 1), each N numbers of type T. They are taken in lanes, of every k-th number each,
/// that together fill four vectors, since an addition waits for the one before it; lanes are added up in pairs (a
/// compiler's own reduction adds them one by one). The order depends on n alone. T = double keeps a double's digits.
template <class T, std::size_t N, class F>
XGRAD_INLINE inline std::array<double, N> lane_sums(std::size_t n, F f) {
  constexpr std::size_t lanes = 256 / sizeof(T) / N;
  constexpr std::size_t block = 16 * lanes;  // a lane adds up so many numbers in T before they are added up in double
  std::array<double, N> totals{};
  for (std::size_t begin = 0; begin < n; begin += block) {
    const std::size_t end = std::min(n, begin + block);
    T sum[N][lanes] = {};
    const auto add = [&](std::size_t i, std::size_t k) XGRAD_INLINE {
      const std::array<T, N> terms = f(i + k);
      for (std::size_t s = 0; s < N; ++s) sum[s][k] += terms[s];
    };
    std::size_t i = begin;
    for (; i + lanes <= end; i += lanes) {
#pragma omp simd
      for (std::size_t k = 0; k < lanes; ++k) add(i, k);
    }
#pragma omp simd
    for (std::size_t k = 0; k < end - i; ++k) add(i, k);
#pragma GCC unroll 8
    for (std::size_t half = lanes / 2; half > 0; half /= 2)
      for (std::size_t s = 0; s < N; ++s)
        for (std::size_t k = 0; k < half; ++k) sum[s][k] += sum[s][k + half];
    for (std::size_t s = 0; s < N; ++s) totals[s] += static_cast<double>(sum[s][0]);
  }
  return totals;
}

/// f(0) + ... + f(n - 1), in the same way.
template <class T, class F>
XGRAD_INLINE inline double lane_sum(std::size_t n, F f) {
  return lane_sums<T, 1>(n, [=](std::size_t i) XGRAD_INLINE { return std::array<T, 1>{static_cast<T>(f(i))}; })[0];
}

/// lane_sum over many numbers, shared out to threads in blocks of 4096 that are then added in pairs: the error stays
/// flat, and the threads do not show.
template <class T, class F>
double parallel_sum(std::size_t n, double cost, F f) {
  constexpr std::size_t block = 4096;
  std::vector<double, memory::Allocator<double>> sums((n + block - 1) / block, 0.0);
  double* const to = sums.data();
  parallel(n, block, cost, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
    for (std::size_t i = begin; i < end; i += block)
      to[i / block] = lane_sum<T>(std::min(block, end - i), [=](std::size_t j) XGRAD_INLINE { return f(i + j); });
  });
  for (std::size_t left = sums.size(); left > 1; left = (left + 1) / 2)
    for (std::size_t i = 0; i < left / 2; ++i) sums[i] += sums[left - 1 - i];
  return sums.empty() ? 0 : sums[0];
}

/// The largest of n numbers; NaN is passed over, and -inf is what remains when there is no other.
template <class T>
XGRAD_INLINE inline T lane_max(const T* x, std::size_t n) {
  constexpr std::size_t lanes = 128 / sizeof(T);
  T best[lanes];
  for (std::size_t k = 0; k < lanes; ++k) best[k] = -std::numeric_limits<T>::infinity();
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::size_t k = 0; k < lanes; ++k) best[k] = x[i + k] > best[k] ? x[i + k] : best[k];
  for (; i < n; ++i) best[0] = x[i] > best[0] ? x[i] : best[0];
  for (std::size_t k = 1; k < lanes; ++k) best[0] = best[k] > best[0] ? best[k] : best[0];
  return best[0];
}

}  // namespace xgrad::detail
