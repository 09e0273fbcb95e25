// The one door to matrix products. Only linalg.cpp knows BLAS. T is float or double.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array.hpp"

namespace xgrad {

/// C = alpha op(A) op(B) + beta C on row-major memory, op being the identity or the transpose.
///
/// op(A) is m x k, op(B) is k x n, C is m x n; `lda`, `ldb`, `ldc` are the distances between rows in memory. C must
/// not overlap A or B. With beta = 0 the old C is never read, with alpha = 0 neither are A and B. Any extent may be 0.
/// Throws ShapeError, before it writes, for a leading dimension shorter than its row or a size over 2^31 - 1.
/// Safe to call from several threads at once.
template <class T>
void gemm(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a,
          std::size_t lda, const T* b, std::size_t ldb, T beta, T* c, std::size_t ldc);

/// The matrix product of NumPy's `matmul`: (..., m, k) x (..., k, n) gives (..., m, n), leading axes broadcast.
///
/// A flag takes the last two axes of its operand as transposed. An operand with one axis is a row on the left, a column
/// on the right, and that axis is missing in the result; it takes no flag. Throws ShapeError for a 0-d operand, a flag
/// on one axis, and sizes that do not fit.
template <class T>
Array<T> matmul(const Array<T>& a, const Array<T>& b, bool transpose_a = false, bool transpose_b = false);

/// The same for lazy xtensor expressions on either side (one copy each).
template <class A, class B,
          class = std::enable_if_t<!(std::is_same_v<A, Array<typename A::value_type>> &&
                                     std::is_same_v<B, Array<typename B::value_type>>)>>
auto matmul(const xt::xexpression<A>& a, const xt::xexpression<B>& b, bool transpose_a = false,
            bool transpose_b = false) {
  return xgrad::matmul(evaluated(a.derived_cast()), evaluated(b.derived_cast()), transpose_a, transpose_b);
}

/// How many calls of `gemm` this process has made, from all threads; for tests that count products.
std::uint64_t products() noexcept;

/// The library behind `gemm`. OpenBLAS does every product, or all that a fixed table of shapes leaves it: with oneDNN
/// built in (CMake: XGRAD_ONEDNN) and AVX-512, float products large enough go there.
enum class GemmProvider { openblas, onednn };

/// What products run on now; at first oneDNN where that is built in and pays.
GemmProvider gemm_provider() noexcept;

/// Chooses for the whole process, for tests and benchmarks: results of the two differ in the last bits. Returns false,
/// and changes nothing, when oneDNN is asked for and is not built in or would not pay on this processor.
bool set_gemm_provider(GemmProvider provider) noexcept;

/// Which build of OpenBLAS runs: 0 sequential, 1 its own threads, 2 OpenMP (shares the pool with our kernels).
int openblas_parallel() noexcept;

}  // namespace xgrad
