// What stands behind gemm's door besides OpenBLAS; nothing for users.
#pragma once

#include <cstddef>

namespace xgrad::detail {

/// C = alpha op(A) op(B) + beta C as gemm describes it: checked, no extent is 0, alpha is not 0.
template <class T>
struct Product {
  bool transpose_a, transpose_b;
  std::size_t m, n, k;
  T alpha;
  const T* a;
  std::size_t lda;
  const T* b;
  std::size_t ldb;
  T beta;
  T* c;
  std::size_t ldc;

  /// The same for rows [begin, end) of C.
  Product rows(std::size_t begin, std::size_t end) const {
    Product part = *this;
    part.m = end - begin;
    part.a += begin * (transpose_a ? 1 : lda);
    part.c += begin * ldc;
    return part;
  }

  /// The part of the sums over terms [begin, end) of k, into C as it is.
  Product terms(std::size_t begin, std::size_t end) const {
    Product part = *this;
    part.k = end - begin;
    part.a += begin * (transpose_a ? lda : 1);
    part.b += begin * (transpose_b ? 1 : ldb);
    return part;
  }

  /// The same for columns [begin, end) of C.
  Product columns(std::size_t begin, std::size_t end) const {
    Product part = *this;
    part.n = end - begin;
    part.b += begin * (transpose_b ? ldb : 1);
    part.c += begin;
    return part;
  }
};

/// A plain loop, for products so small that a call to a library costs more.
template <class T>
void direct_product(const Product<T>& p);

/// The product on one thread where few rows, few terms or small matrices let it do without rearranging them; false,
/// with C untouched, for other shapes and without AVX-512.
bool few_rows_product(const Product<float>& p);

/// True when oneDNN is built in and this processor is one where it is faster than OpenBLAS.
bool onednn_here() noexcept;

/// The product on one thread by oneDNN; false, with C untouched, when the table of shapes leaves it to OpenBLAS.
bool onednn_product(const Product<float>& p);

}  // namespace xgrad::detail
