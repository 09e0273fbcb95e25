// libFuzzer on the arguments of ops: the properties of tests/core/properties, drawn from its bytes. Any arguments give
// what a plain loop gives, or are refused by an error of ours.
#include <cstdio>
#include <cstdlib>

#include "core/properties/joining.hpp"
#include "core/properties/movement.hpp"
#include "core/properties/product.hpp"
#include "core/properties/reduction.hpp"

namespace {

class Bytes final : public property::Draw {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size) {}
  std::size_t below(std::size_t n) override { return n < 2 ? 0 : (byte() + (n > 256 ? 256 * byte() : 0)) % n; }

 private:
  std::size_t byte() { return next_ < end_ ? *next_++ : 0; }

  const std::uint8_t *next_, *end_;
};

constexpr void (*properties[])(property::Draw&) = {
    property::slice<double>,
    property::add_to_slice<double>,
    property::take<double>,
    property::add_rows<double>,
    property::reshape<double>,
    property::permute<double>,
    property::concatenate<float>,
    property::stack<double>,
    property::split<double>,
    property::reductions<float>,
    property::squeeze_and_expand<double>,
    property::matmul<double>,
    property::broadcasting<double>,
    property::special_reductions<double>,
    property::argmax<float>,
    property::too_large<double>,
    property::softmax<double>,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Bytes draw(data + 1, size - 1);
  try {
    properties[data[0] % std::size(properties)](draw);
  } catch (const property::Mismatch& mismatch) {
    std::fprintf(stderr, "%s\n", mismatch.what());
    std::abort();
  }
  return 0;
}
