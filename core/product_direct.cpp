#include "product.hpp"

namespace xgrad::detail {

template <class T>
void direct_product(const Product<T>& p) {
  const std::size_t a_row = p.transpose_a ? 1 : p.lda, a_column = p.transpose_a ? p.lda : 1;
  for (std::size_t i = 0; i < p.m; ++i) {
    T* const row = p.c + i * p.ldc;
    const T* const a = p.a + i * a_row;
    if (p.beta != T(1))
      for (std::size_t j = 0; j < p.n; ++j) row[j] = p.beta == T(0) ? T(0) : p.beta * row[j];
    if (p.transpose_b) {
      for (std::size_t j = 0; j < p.n; ++j) {
        T sum = 0;
        for (std::size_t q = 0; q < p.k; ++q) sum += a[q * a_column] * p.b[j * p.ldb + q];
        row[j] += p.alpha * sum;
      }
    } else {
      for (std::size_t q = 0; q < p.k; ++q) {
        const T factor = p.alpha * a[q * a_column];
        for (std::size_t j = 0; j < p.n; ++j) row[j] += factor * p.b[q * p.ldb + j];
      }
    }
  }
}

template void direct_product(const Product<float>&);
template void direct_product(const Product<double>&);

}  // namespace xgrad::detail
