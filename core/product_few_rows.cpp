// Products with few rows or small matrices, where the libraries spend their time on rearranging what is read only once
// or is in the cache anyway.
#include "kernels/dispatch.hpp"
#include "product.hpp"

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)  // g++ 12 warns of undefined lanes in its own header (GCC bug 105593)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#endif

namespace xgrad::detail {

#if defined(__x86_64__)

namespace {

#define XGRAD_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define XGRAD_UNROLL _Pragma("GCC unroll 16")  // or g++ keeps the arrays of sums in memory

constexpr std::size_t kLanes = 16;

/// The first `count` of 16 lanes.
constexpr __mmask16 lanes(std::size_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xFFFF : (1 << count) - 1);
}

/// c = alpha sum + beta c on some lanes; with beta = 0 c is not read.
XGRAD_AVX512 inline void put(float alpha, float beta, float* c, __m512 sum, __mmask16 mask) {
  sum = _mm512_mul_ps(_mm512_set1_ps(alpha), sum);
  if (beta != 0) sum = _mm512_fmadd_ps(_mm512_set1_ps(beta), _mm512_maskz_loadu_ps(mask, c), sum);
  _mm512_mask_storeu_ps(c, mask, sum);
}

/// C[i .. i + R)[j .. j + 16 V), the last vector with its masked lanes only: numbers of A times pieces of rows of B.
template <int R, int V>
XGRAD_AVX512 inline void outer_tile(const Product<float>& p, std::size_t i, std::size_t j, __mmask16 mask) {
  const std::size_t a_row = p.transpose_a ? 1 : p.lda, a_column = p.transpose_a ? p.lda : 1;
  const std::size_t k = p.k, ldb = p.ldb, ldc = p.ldc;  // else read again after every store
  const float *a = p.a + i * a_row, *b = p.b + j;
  __m512 sum[R][V];
  XGRAD_UNROLL for (auto& row : sum) XGRAD_UNROLL for (auto& x : row) x = _mm512_setzero_ps();
  for (std::size_t q = 0; q < k; ++q, a += a_column, b += ldb) {
    __m512 x[V];
    XGRAD_UNROLL for (int v = 0; v < V; ++v) x[v] =
        v + 1 < V ? _mm512_loadu_ps(b + v * kLanes) : _mm512_maskz_loadu_ps(mask, b + v * kLanes);
    XGRAD_UNROLL for (int r = 0; r < R; ++r) {
      const __m512 factor = _mm512_set1_ps(a[r * a_row]);
      XGRAD_UNROLL for (int v = 0; v < V; ++v) sum[r][v] = _mm512_fmadd_ps(factor, x[v], sum[r][v]);
    }
  }
  const float alpha = p.alpha, beta = p.beta;
  float* c = p.c + i * ldc + j;
  XGRAD_UNROLL for (int r = 0; r < R; ++r, c += ldc) {
    XGRAD_UNROLL for (int v = 0; v < V; ++v)
        put(alpha, beta, c + v * kLanes, sum[r][v], v + 1 < V ? lanes(kLanes) : mask);
  }
}

/// Rows from i on in tiles of R, then of R / 2 ... 1.
template <int R, int V>
XGRAD_AVX512 inline void outer_strip(const Product<float>& p, std::size_t i, std::size_t j, __mmask16 mask) {
  for (; i + R <= p.m; i += R) outer_tile<R, V>(p, i, j, mask);
  if constexpr (R > 1) outer_strip<R / 2, V>(p, i, j, mask);
}

template <int R, int V>
XGRAD_AVX512 void outer_products(const Product<float>& p) {
  std::size_t j = 0;
  for (; j + V * kLanes <= p.n; j += V * kLanes) outer_strip<R, V>(p, 0, j, lanes(kLanes));
  for (; j < p.n; j += kLanes) outer_strip<R, 1>(p, 0, j, lanes(p.n - j));
}

constexpr std::size_t kPacked = 256;  // terms that fit into the copy below

/// A times the transpose of B, at most kPacked terms: 32 rows of B at a time are copied as columns.
XGRAD_AVX512 void packed_products(const Product<float>& p) {
  constexpr std::size_t width = 2 * kLanes;
  alignas(64) float copy[kPacked * width];
  for (std::size_t j = 0; j < p.n; j += width) {
    Product<float> part = p.columns(j, std::min(p.n, j + width));
    for (std::size_t q = 0; q < p.k; q += 4)
      for (std::size_t s = 0; s < part.n; s += 4) {
        const __mmask8 mask = static_cast<__mmask8>(lanes(std::min<std::size_t>(4, p.k - q)));
        const auto row = [&](std::size_t t) XGRAD_AVX512 {
          return _mm_maskz_loadu_ps(mask, part.b + std::min(s + t, part.n - 1) * p.ldb + q);
        };
        __m128 a = row(0), b = row(1), c = row(2), d = row(3);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        float* const to = copy + q * width + s;
        _mm_store_ps(to, a), _mm_store_ps(to + width, b), _mm_store_ps(to + 2 * width, c),
            _mm_store_ps(to + 3 * width, d);
      }
    part.b = copy;
    part.ldb = width;
    outer_products<8, 2>(part);
  }
}

/// The sums of four vectors.
XGRAD_AVX512 inline __m128 sums(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const __m512 all = _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xEE));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

/// C[i .. i + R)[j .. j + columns), at most four columns: rows of A times rows of B, both as they lie in memory.
template <int R>
XGRAD_AVX512 inline void dot_tile(const Product<float>& p, std::size_t i, std::size_t j, std::size_t columns) {
  const std::size_t k = p.k, lda = p.lda, ldc = p.ldc;
  const float* a = p.a + i * lda;
  const float* b[4];
  for (std::size_t s = 0; s < 4; ++s) b[s] = p.b + (j + std::min(s, columns - 1)) * p.ldb;
  __m512 sum[R][4];
  XGRAD_UNROLL for (auto& row : sum) XGRAD_UNROLL for (auto& x : row) x = _mm512_setzero_ps();
  for (std::size_t q = 0; q < k; q += kLanes) {
    const __mmask16 mask = lanes(k - q);
    __m512 x[4];
    XGRAD_UNROLL for (int s = 0; s < 4; ++s) x[s] = _mm512_maskz_loadu_ps(mask, b[s] + q);
    XGRAD_UNROLL for (int r = 0; r < R; ++r) {
      const __m512 y = _mm512_maskz_loadu_ps(mask, a + r * lda + q);
      XGRAD_UNROLL for (int s = 0; s < 4; ++s) sum[r][s] = _mm512_fmadd_ps(y, x[s], sum[r][s]);
    }
  }
  const float alpha = p.alpha, beta = p.beta;
  float* c = p.c + i * ldc + j;
  XGRAD_UNROLL for (int r = 0; r < R; ++r, c += ldc)
      put(alpha, beta, c, _mm512_castps128_ps512(sums(sum[r][0], sum[r][1], sum[r][2], sum[r][3])), lanes(columns));
}

template <int R>
XGRAD_AVX512 inline void dot_strip(const Product<float>& p, std::size_t i, std::size_t j, std::size_t columns) {
  for (; i + R <= p.m; i += R) dot_tile<R>(p, i, j, columns);
  if constexpr (R > 1) dot_strip<R / 2>(p, i, j, columns);
}

XGRAD_AVX512 void dot_products(const Product<float>& p) {
  for (std::size_t j = 0; j < p.n; j += 4) dot_strip<4>(p, 0, j, std::min<std::size_t>(4, p.n - j));
}

}  // namespace

bool few_rows_product(const Product<float>& p) {
  if (instruction_set() != InstructionSet::avx512) return false;
  // Where A and B stay in the second-level cache as they are, copying them pays for no one.
  const bool in_cache = p.n % kLanes == 0 && p.k * p.n <= 32768 && p.k * p.m <= 32768 && p.m * p.n * p.k < 2000000;
  if (p.transpose_b) {
    if (p.transpose_a || (p.k > kPacked ? p.m > 32 : p.m > 64 && !in_cache)) return false;
    // With a short k, adding up the lanes would be most of the work of dot products.
    p.k > kPacked ? dot_products(p) : packed_products(p);
  } else if (in_cache || (p.transpose_a ? p.k <= 32 : p.m <= 32)) {
    p.m < 8 ? outer_products<4, 4>(p) : outer_products<8, 2>(p);
  } else {
    return false;
  }
  return true;
}

#else

bool few_rows_product(const Product<float>&) { return false; }

#endif

}  // namespace xgrad::detail
