#include "linalg.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <limits>
#include <type_traits>
// The cblas declarations that come with xtensor-blas, called directly: cxxblas::gemm turns into a plain loop, silently
// and 20 times slower, wherever HAVE_CBLAS is not defined before its header.
#include <xflens/cxxblas/drivers/cblas.h>

#include "product.hpp"

extern "C" {
int openblas_get_parallel(void);
int openblas_get_num_threads(void);
}

namespace xgrad {
namespace {

// Measured on two cores with OpenBLAS 0.3.21: below the first number of multiplications a plain loop is faster than a
// call, below the second (about 50 us) one thread, since waking others can cost half of that.
constexpr double kDirect = 128;
constexpr double kOneThread = 3e6;

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

std::atomic<bool> use_onednn{detail::onednn_here()};

// True when several of our threads may call OpenBLAS at once: not when it runs threads of its own, of which it tells
// the user once, since nothing else would say why every step takes several times as long.
bool may_split() {
  static const bool may = [] {
    if (openblas_get_parallel() != 1 || openblas_get_num_threads() == 1) return true;
    if (omp_get_max_threads() > 1)
      std::fputs(
          "xgrad: this program runs a pthread build of OpenBLAS, whose threads and xgrad's get in each other's way; a "
          "training step can take several times as long. Install libopenblas-openmp-dev and build again, or set "
          "OPENBLAS_NUM_THREADS=1 (xgrad then divides large products itself).\n",
          stderr);
    return false;
  }();
  return may;
}

// The product on one thread, or on as many as OpenBLAS takes.
template <class T>
void library_product(const detail::Product<T>& p) {
  if constexpr (std::is_same_v<T, float>) {
    const bool onednn = use_onednn.load(std::memory_order_relaxed);
    if (onednn && p.transpose_a && detail::onednn_product(p)) return;  // better at weight gradients of few rows
    if (detail::few_rows_product(p)) return;
    if (onednn && detail::onednn_product(p)) return;
  }
  const auto narrow = [](std::size_t size) { return static_cast<int>(size); };
  blas(p.transpose_a ? CblasTrans : CblasNoTrans, p.transpose_b ? CblasTrans : CblasNoTrans, narrow(p.m), narrow(p.n),
       narrow(p.k), p.alpha, p.a, narrow(p.lda), p.b, narrow(p.ldb), p.beta, p.c, narrow(p.ldc));
}

// Where slab number `slab` of `slabs` begins on an axis: at a multiple of 16, since inner kernels want whole vectors.
struct Slabs {
  static constexpr std::size_t step = 16;
  Slabs(std::size_t length, int threads)
      : extent(length),
        steps((length + step - 1) / step),
        count(static_cast<int>(std::min<std::size_t>(steps, static_cast<std::size_t>(threads)))) {}
  std::size_t edge(int slab) const {
    return std::min(extent, steps * static_cast<std::size_t>(slab) / static_cast<std::size_t>(count) * step);
  }

  std::size_t extent, steps;
  int count;
};

// Splits the sums among threads and adds up the parts.
template <class T>
void split_terms(const detail::Product<T>& p, int threads) {
  const Slabs slabs(p.k, threads);
  const std::size_t apart = p.m * p.n + 4096 / sizeof(T);  // no two threads write to one page
  auto parts = empty<T>({static_cast<std::size_t>(slabs.count - 1) * apart});
  T* const other = parts.data();
#pragma omp parallel num_threads(slabs.count)
  {
    const OneThread guard(true);  // OpenMP may give a team of one, in which OpenBLAS would take threads, and hang
#pragma omp for schedule(static, 1)
    for (int slab = 0; slab < slabs.count; ++slab) {
      auto part = p.terms(slabs.edge(slab), slabs.edge(slab + 1));
      if (slab > 0) {
        part.c = other + static_cast<std::size_t>(slab - 1) * apart;
        part.ldc = p.n;
        part.beta = 0;
      }
      library_product(part);
    }
    const Slabs columns(p.n, slabs.count);
#pragma omp for schedule(static, 1)
    for (int slab = 0; slab < columns.count; ++slab)
      for (std::size_t i = 0; i < p.m; ++i)
        for (int from = 0; from + 1 < slabs.count; ++from) {
          const T* const row = other + static_cast<std::size_t>(from) * apart + i * p.n;
          for (std::size_t j = columns.edge(slab); j < columns.edge(slab + 1); ++j) p.c[i * p.ldc + j] += row[j];
        }
  }
}

// Splits a product among threads, each slab a product of its own for the library: their own ways to split lose up to
// half of the second core where C is long or A has few rows. A thread takes the same rows of a large row-major matrix
// whether it reads it (transposed or not) or makes it, since cores may be far apart: a weight matrix, its gradient and
// its update then stay where they are.
template <class T>
void split_product(const detail::Product<T>& p, int threads) {
  if (!p.transpose_a && !p.transpose_b && p.k >= 128 && 4 * p.m <= p.k) return split_terms(p, threads);
  const bool by_columns = p.n > 4 * p.m;
  const Slabs slabs(by_columns ? p.n : p.m, threads);
#pragma omp parallel num_threads(slabs.count)
  {
    const OneThread guard(true);
#pragma omp for schedule(static, 1)
    for (int slab = 0; slab < slabs.count; ++slab) {
      const std::size_t begin = slabs.edge(slab), end = slabs.edge(slab + 1);
      library_product(by_columns ? p.columns(begin, end) : p.rows(begin, end));
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

template <class Text>
Shape broadcast_lead(const Operand& a, const Operand& b, const Text& shapes) {
  for (std::size_t i = 1; i <= std::min(a.lead.size(), b.lead.size()); ++i) {
    const std::size_t x = a.lead[a.lead.size() - i], y = b.lead[b.lead.size() - i];
    if (x != y && x != 1 && y != 1)
      fail<ShapeError>("matmul", "leading axes do not broadcast: ", shapes(), ", ", x, " vs ", y);
  }
  return broadcast_shape("matmul", a.lead, b.lead);
}

}  // namespace

std::uint64_t products() noexcept { return product_count.load(std::memory_order_relaxed); }

GemmProvider gemm_provider() noexcept { return use_onednn ? GemmProvider::onednn : GemmProvider::openblas; }

bool set_gemm_provider(GemmProvider provider) noexcept {
  if (provider == GemmProvider::onednn && !detail::onednn_here()) return false;
  use_onednn = provider == GemmProvider::onednn;
  return true;
}

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
  const detail::Product<T> product{transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  if (work <= kDirect) return detail::direct_product(product);

  constexpr int limit = std::numeric_limits<int>::max();
  const std::size_t largest = std::max({m, n, k, lda, ldb, ldc});
  if (largest > static_cast<std::size_t>(limit))
    fail<ShapeError>("gemm", "sizes and leading dimensions must be at most ", limit, " but got ", largest,
                     "; split the product");
  const int threads = omp_in_parallel() ? 1 : omp_get_max_threads();
  if (may_split() && threads > 1 && work >= kOneThread) return split_product(product, threads);
  const OneThread guard(work < kOneThread);
  library_product(product);
}

template <class T>
Array<T> matmul(const Array<T>& a, const Array<T>& b, bool transpose_a, bool transpose_b) {
  const auto shapes = [&] { return "lhs " + to_string(a.shape()) + " x rhs " + to_string(b.shape()); };
  if (a.dimension() == 0 || b.dimension() == 0)
    fail<ShapeError>("matmul", "needs at least one axis on each side: ", shapes(), "; multiply by a number with *");
  if ((transpose_a && a.dimension() == 1) || (transpose_b && b.dimension() == 1))
    fail<ShapeError>("matmul", "an operand with one axis cannot be transposed: ", shapes());
  const Operand lhs(a.shape(), transpose_a, true), rhs(b.shape(), transpose_b, false);
  if (lhs.columns != rhs.rows)
    fail<ShapeError>("matmul", "inner sizes differ: ", shapes(), ", ", lhs.columns, " vs ", rhs.rows);
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
