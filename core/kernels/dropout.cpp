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
  const T kept = mask.kept();
  detail::parallel(x.size(), Mask::kBlock, 0.2, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
    mask.apply(begin, end - begin, [=](std::size_t i, bool keep) XGRAD_INLINE {
      const T v = in[begin + i] * kept;
      out[begin + i] = keep ? v : T(0);
    });
  });
  return result;
}

template Array<float> dropout(const Array<float>&, double, std::uint64_t);
template Array<double> dropout(const Array<double>&, double, std::uint64_t);

}  // namespace xgrad
