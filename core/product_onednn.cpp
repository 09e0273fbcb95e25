#include "kernels/dispatch.hpp"
#include "product.hpp"

#ifdef XGRAD_HAVE_ONEDNN
#include <dnnl.hpp>
#include <unordered_map>
#include <utility>

#endif

namespace xgrad::detail {

#ifdef XGRAD_HAVE_ONEDNN

namespace {

using dnnl::memory;

// oneDNN's primitives are compiled for one shape and may run only on the thread that made them (their scratch memory is
// the thread's), so each thread keeps its own.
class Matmul {
 public:
  explicit Matmul(const Product<float>& p)
      : a_(describe(p.m, p.k, p.lda, p.transpose_a), engine(), nullptr),
        b_(describe(p.k, p.n, p.ldb, p.transpose_b), engine(), nullptr),
        c_(describe(p.m, p.n, p.ldc, false), engine(), nullptr),
#if DNNL_VERSION_MAJOR < 3
        matmul_(dnnl::matmul::primitive_desc({a_.get_desc(), b_.get_desc(), c_.get_desc()}, engine())),
#else
        matmul_(dnnl::matmul::primitive_desc(engine(), a_.get_desc(), b_.get_desc(), c_.get_desc())),
#endif
        arguments_{{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}} {
  }

  void operator()(const Product<float>& p) {
    a_.set_data_handle(const_cast<float*>(p.a));
    b_.set_data_handle(const_cast<float*>(p.b));
    c_.set_data_handle(p.c);
    static thread_local dnnl::stream stream(engine());
    matmul_.execute(stream, arguments_);
  }

 private:
  static dnnl::engine& engine() {
    static thread_local dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
  }
  static memory::desc describe(std::size_t rows, std::size_t columns, std::size_t leading, bool transpose) {
    const auto size = [](std::size_t n) { return static_cast<memory::dim>(n); };
    const memory::dims strides = transpose ? memory::dims{1, size(leading)} : memory::dims{size(leading), 1};
    return {{size(rows), size(columns)}, memory::data_type::f32, strides};
  }

  memory a_, b_, c_;
  dnnl::matmul matmul_;
  std::unordered_map<int, memory> arguments_;
};

struct Shapes {
  bool transpose_a, transpose_b;
  std::size_t m, n, k, lda, ldb, ldc;
  bool operator==(const Shapes& o) const {
    return transpose_a == o.transpose_a && transpose_b == o.transpose_b && m == o.m && n == o.n && k == o.k &&
           lda == o.lda && ldb == o.ldb && ldc == o.ldc;
  }
};
struct Hash {
  std::size_t operator()(const Shapes& s) const {
    std::size_t h = s.transpose_a * 2u + s.transpose_b;
    for (const std::size_t x : {s.m, s.n, s.k, s.lda, s.ldb, s.ldc}) h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
  }
};

bool matmul(const Product<float>& p) try {
  constexpr std::size_t most = 256;  // beyond it a program has no fixed shapes, and starts over
  static thread_local std::unordered_map<Shapes, Matmul, Hash> made;
  const Shapes key{p.transpose_a, p.transpose_b, p.m, p.n, p.k, p.lda, p.ldb, p.ldc};
  auto found = made.find(key);
  if (found == made.end()) {
    if (made.size() >= most) made.clear();
    found = made.emplace(key, p).first;
  }
  found->second(p);
  return true;
} catch (const dnnl::error&) {  // a shape or machine it cannot do
  return false;
}

bool sgemm(const Product<float>& p) {
  const auto size = [](std::size_t n) { return static_cast<dnnl_dim_t>(n); };
  const auto status = dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', size(p.m), size(p.n), size(p.k),
                                 p.alpha, p.a, size(p.lda), p.b, size(p.ldb), p.beta, p.c, size(p.ldc));
  return status == dnnl_success;
}

}  // namespace

bool onednn_here() noexcept {
  // With less than AVX-512 both run the same instructions and OpenBLAS has less to do around them.
  return has_instruction_set(InstructionSet::avx512);
}

// The table, measured on one thread of an AVX-512 machine (oneDNN 2.6, OpenBLAS 0.3.21). Nothing is timed while
// running, so a product takes the same way in every run.
bool onednn_product(const Product<float>& p) {
  const double work = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  if (work < 2e6) return false;
  if (p.transpose_b) {
    // sgemm transposes all of B first, at few rows for nothing; the primitive does not, but only scales by 1.
    if (p.transpose_a || p.alpha != 1 || p.beta != 0) return false;
    return matmul(p);
  }
  return sgemm(p);
}

#else

bool onednn_here() noexcept { return false; }
bool onednn_product(const Product<float>&) { return false; }

#endif

}  // namespace xgrad::detail
