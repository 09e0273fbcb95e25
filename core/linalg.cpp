#include "linalg.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <limits>
// The cblas declarations that come with xtensor-blas, called directly: cxxblas::gemm turns into a plain loop, silently
// and 20 times slower, wherever HAVE_CBLAS is not defined before its header.
#include <xflens/cxxblas/drivers/cblas.h>

extern "C" int openblas_get_parallel(void);

namespace xgrad {
namespace {

// Measured on two cores with OpenBLAS 0.3.21: below the first number of multiplications a plain loop is faster than a
// call, below the second one thread is faster than two.
constexpr double kDirect = 128;
constexpr double kOneThread = 1e6;

std::atomic<std::uint64_t> product_count{0};

// OpenBLAS's OpenMP build asks OpenMP for the calling thread's own number of threads, so this is safe beside other
// threads, where openblas_set_num_threads would change them all. The other builds decide for themselves.
class OneThread {
 public:
  explicit OneThread(bool wanted) : before_(omp_get_max_threads()), changed_(wanted && before_ > 1) {
    if (changed_) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (changed_) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
  bool changed_;
};

void blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, float alpha, const float* a, int lda,
          const float* b, int ldb, float beta, float* c, int ldc) {
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, double alpha, const double* a, int lda,
          const double* b, int ldb, double beta, double* c, int ldc) {
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <class T>
void scale(std::size_t m, std::size_t n, T beta, T* c, std::size_t ldc) {
  if (beta == T(1)) return;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) c[i * ldc + j] = beta == T(0) ? T(0) : beta * c[i * ldc + j];
}

template <class T>
void direct(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a,
            std::size_t lda, const T* b, std::size_t ldb, T beta, T* c, std::size_t ldc) {
  const std::size_t a_row = transpose_a ? 1 : lda, a_column = transpose_a ? lda : 1;
  scale(m, n, beta, c, ldc);
  for (std::size_t i = 0; i < m; ++i) {
    T* const row = c + i * ldc;
    if (transpose_b) {
      for (std::size_t j = 0; j < n; ++j) {
        T sum = 0;
        for (std::size_t p = 0; p < k; ++p) sum += a[i * a_row + p * a_column] * b[j * ldb + p];
        row[j] += alpha * sum;
      }
    } else {
      for (std::size_t p = 0; p < k; ++p) {
        const T factor = alpha * a[i * a_row + p * a_column];
        for (std::size_t j = 0; j < n; ++j) row[j] += factor * b[p * ldb + j];
      }
    }
  }
}

void check_leading(const char* name, std::size_t leading, std::size_t row) {
  if (leading < row)
    fail<ShapeError>("gemm", "leading dimension of ", name, " must be at least ", row, " but is ", leading);
}

// How many numbers to skip in an operand with leading axes `own` to reach product number `index` of `all`.
std::size_t batch_offset(std::size_t index, const Shape& all, const Shape& own, std::size_t matrix) {
  std::size_t offset = 0, stride = matrix;
  for (std::size_t i = 1; i <= own.size(); ++i) {
    const std::size_t extent = own[own.size() - i];
    if (extent != 1) offset += index % all[all.size() - i] * stride;
    index /= all[all.size() - i];
    stride *= extent;
  }
  return offset;
}

// One operand of matmul: its leading axes and its last two as rows x columns, after the flag.
struct Operand {
  Shape lead;
  std::size_t rows, columns, stored_columns;

  Operand(const Shape& shape, bool transpose, bool left) {
    const std::size_t rank = shape.size();
    if (rank == 1) {
      rows = left ? 1 : shape[0];
      columns = left ? shape[0] : 1;
      stored_columns = columns;
      return;
    }
    lead = Shape(shape.begin(), shape.end() - 2);
    rows = shape[rank - 2];
    columns = stored_columns = shape[rank - 1];
    if (transpose) std::swap(rows, columns);
  }
};

Shape broadcast_lead(const Operand& a, const Operand& b, const std::string& shapes) {
  for (std::size_t i = 1; i <= std::min(a.lead.size(), b.lead.size()); ++i) {
    const std::size_t x = a.lead[a.lead.size() - i], y = b.lead[b.lead.size() - i];
    if (x != y && x != 1 && y != 1)
      fail<ShapeError>("matmul", "leading axes do not broadcast: ", shapes, ", ", x, " vs ", y);
  }
  return broadcast_shape("matmul", a.lead, b.lead);
}

}  // namespace

std::uint64_t products() noexcept { return product_count.load(std::memory_order_relaxed); }

int openblas_parallel() noexcept { return openblas_get_parallel(); }

template <class T>
void gemm(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a,
          std::size_t lda, const T* b, std::size_t ldb, T beta, T* c, std::size_t ldc) {
  product_count.fetch_add(1, std::memory_order_relaxed);
  if (m == 0 || n == 0) return;
  check_leading("c", ldc, n);
  if (k == 0 || alpha == T(0)) return scale(m, n, beta, c, ldc);
  check_leading("a", lda, transpose_a ? m : k);
  check_leading("b", ldb, transpose_b ? k : n);
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  if (work <= kDirect) return direct(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);

  constexpr int limit = std::numeric_limits<int>::max();
  const std::size_t largest = std::max({m, n, k, lda, ldb, ldc});
  if (largest > static_cast<std::size_t>(limit))
    fail<ShapeError>("gemm", "sizes and leading dimensions must be at most ", limit, " but got ", largest,
                     "; split the product");
  const auto narrow = [](std::size_t size) { return static_cast<int>(size); };
  const OneThread guard(work < kOneThread);
  blas(transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans, narrow(m), narrow(n),
       narrow(k), alpha, a, narrow(lda), b, narrow(ldb), beta, c, narrow(ldc));
}

template <class T>
Array<T> matmul(const Array<T>& a, const Array<T>& b, bool transpose_a, bool transpose_b) {
  const std::string shapes = "lhs " + to_string(a.shape()) + " x rhs " + to_string(b.shape());
  if (a.dimension() == 0 || b.dimension() == 0)
    fail<ShapeError>("matmul", "needs at least one axis on each side: ", shapes, "; multiply by a number with *");
  if ((transpose_a && a.dimension() == 1) || (transpose_b && b.dimension() == 1))
    fail<ShapeError>("matmul", "an operand with one axis cannot be transposed: ", shapes);
  const Operand lhs(a.shape(), transpose_a, true), rhs(b.shape(), transpose_b, false);
  if (lhs.columns != rhs.rows)
    fail<ShapeError>("matmul", "inner sizes differ: ", shapes, ", ", lhs.columns, " vs ", rhs.rows);
  const Shape lead = broadcast_lead(lhs, rhs, shapes);

  Shape shape = lead;
  if (a.dimension() > 1) shape.push_back(lhs.rows);
  if (b.dimension() > 1) shape.push_back(rhs.columns);
  auto out = empty<T>(shape);
  if (out.size() == 0) return out;

  std::size_t count = element_count(lead), m = lhs.rows;
  const std::size_t n = rhs.columns, k = lhs.columns;
  if (element_count(rhs.lead) == 1 && !transpose_a) {  // every row meets the same matrix: one tall product
    m *= count;
    count = 1;
  }
  for (std::size_t i = 0; i < count; ++i)
    gemm(transpose_a, transpose_b, m, n, k, T(1), a.data() + batch_offset(i, lead, lhs.lead, lhs.rows * k),
         lhs.stored_columns, b.data() + batch_offset(i, lead, rhs.lead, k * n), rhs.stored_columns, T(0),
         out.data() + i * m * n, n);
  return out;
}

#define XGRAD_INSTANTIATE(T)                                                                                \
  template void gemm(bool, bool, std::size_t, std::size_t, std::size_t, T, const T*, std::size_t, const T*, \
                     std::size_t, T, T*, std::size_t);                                                      \
  template Array<T> matmul(const Array<T>&, const Array<T>&, bool, bool);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
