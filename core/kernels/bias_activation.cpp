#include "bias_activation.hpp"

#include "activations_inline.hpp"
#include "columns_inline.hpp"
#include "dropout_inline.hpp"

namespace xgrad {

namespace {

using detail::cost_of;
using detail::DropMask;

// Calls run(f) with the functions of `kind`.
template <class Run>
void choose(Nonlinearity kind, Run run) {
  switch (kind) {
    case Nonlinearity::relu:
      return run(detail::Relu());
    case Nonlinearity::gelu:
      return run(detail::Gelu());
    case Nonlinearity::gelu_tanh:
      return run(detail::GeluTanh());
    case Nonlinearity::silu:
      return run(detail::Silu());
  }
}

constexpr double kDropCost = 0.1;

// The width of the rows; a bias of zeros where there is none.
template <class T>
struct Rows {
  Rows(const Array<T>& x, const T* given) : width(x.shape().back()), count(width ? x.size() / width : 0), bias(given) {
    if (bias) return;
    nothing = zeros<T>({width});
    bias = nothing.data();
  }
  std::size_t width, count;
  Array<T> nothing;
  const T* bias;
};

}  // namespace

template <class T>
Array<T> bias_activation(const Array<T>& x, const T* given, Nonlinearity f, double p, std::uint64_t key) {
  Array<T> result(x.shape());
  const Rows<T> rows(x, given);
  const std::size_t width = rows.width;
  const T *const in = x.data(), *const bias = rows.bias;
  T* const out = result.data();
  const DropMask<T> mask(p, key);
  const T kept = mask.kept();
  choose(f, [=, &rows](auto kind) {
    using F = decltype(kind);
    const double cost = (cost_of<T>(F::cost) + (p > 0 ? kDropCost : 0)) * static_cast<double>(width);
    detail::parallel(rows.count, 1, cost, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t at = i * width;
        mask.apply(at, width, [=](std::size_t j, bool keep) XGRAD_INLINE {
          const T v = F::value(in[at + j] + bias[j]) * kept;
          out[at + j] = keep ? v : T(0);
        });
      }
    });
  });
  return result;
}

template <class T>
void bias_activation_backward(const Array<T>& g, const Array<T>& saved, const T* given, Nonlinearity f, double p,
                              std::uint64_t key, T* dx, T* dbias) {
  const Rows<T> rows(saved, given);
  const std::size_t width = rows.width;
  const T *const dy = g.data(), *const from_forward = saved.data(), *const bias = rows.bias;
  const std::array<T*, 1> sums{dbias};
  if (f == Nonlinearity::relu) {
    const T kept = DropMask<T>(p, key).kept();
    const auto row = [=](std::size_t i, std::array<T*, 1> sum) XGRAD_INLINE {
      T* const total = sum[0];
      const std::size_t at = i * width;
      const auto slope = [=](std::size_t j) XGRAD_INLINE {
        const T weight = detail::Relu::slope(from_forward[at + j]) * kept;
        return weight == 0 ? T(0) : dy[at + j] * weight;
      };
#pragma omp simd
      for (std::size_t j = 0; j < width; ++j) dx[at + j] = slope(j);
      if (!total) return;
#pragma omp simd
      for (std::size_t j = 0; j < width; ++j) total[j] += dx[at + j];
    };
    return detail::each_row_with_sums(rows.count, width, cost_of<T>(detail::Relu::cost), sums, row);
  }
  const DropMask<T> mask(p, key);
  const T kept = mask.kept();
  choose(f, [=, &rows](auto kind) {
    using F = decltype(kind);
    const auto row = [=](std::size_t i, std::array<T*, 1> sum) XGRAD_INLINE {
      const std::size_t at = i * width;
      mask.apply(at, width, [=](std::size_t j, bool keep) XGRAD_INLINE {
        const T d = dy[at + j] * kept * F::slope(from_forward[at + j] + bias[j]);
        dx[at + j] = keep ? d : T(0);
      });
      T* const total = sum[0];
      if (!total) return;
#pragma omp simd
      for (std::size_t j = 0; j < width; ++j) total[j] += dx[at + j];
    };
    const double cost = cost_of<T>(1.5 * F::cost) + (p > 0 ? kDropCost : 0);
    detail::each_row_with_sums(rows.count, width, cost, sums, row);
  });
}

template <class T>
void add_bias(Array<T>& y, const T* bias) {
  const std::size_t width = y.shape().back();
  if (y.size() == 0) return;
  T* const to = y.data();
  const double cost = 0.15 * static_cast<double>(width);
  detail::parallel(y.size() / width, 1, cost, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
    for (std::size_t i = begin; i < end; ++i) {
#pragma omp simd
      for (std::size_t j = 0; j < width; ++j) to[i * width + j] += bias[j];
    }
  });
}

#define XGRAD_INSTANTIATE(T)                                                                               \
  template Array<T> bias_activation(const Array<T>&, const T*, Nonlinearity, double, std::uint64_t);       \
  template void bias_activation_backward(const Array<T>&, const Array<T>&, const T*, Nonlinearity, double, \
                                         std::uint64_t, T*, T*);                                           \
  template void add_bias(Array<T>&, const T*);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
