#include "dropout.hpp"

#include "dropout_inline.hpp"

namespace xgrad {

template <class T>
Array<T> dropout(const Array<T>& x, double p, std::uint64_t key) {
  using Mask = detail::DropMask<T>;
  Array<T> result(x.shape());
  const Mask mask(p, key);
  const T* const in = x.data();
  T* const out = result.data();
  detail::parallel(x.size(), Mask::kBlock, 0.3, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
    T buffer[Mask::kChunk + 2 * Mask::kBlock];
    for (std::size_t at = begin; at < end; at += Mask::kChunk) {
      const std::size_t n = std::min(Mask::kChunk, end - at);
      const T* const factor = mask.factors(at, n, buffer);
#pragma omp simd
      for (std::size_t i = 0; i < n; ++i) out[at + i] = detail::masked(in[at + i], factor[i]);
    }
  });
  return result;
}

template Array<float> dropout(const Array<float>&, double, std::uint64_t);
template Array<double> dropout(const Array<double>&, double, std::uint64_t);

}  // namespace xgrad
