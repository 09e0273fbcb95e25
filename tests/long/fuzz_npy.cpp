// libFuzzer on the .npy and .npz readers: any bytes give either an error or arrays.
#include <xgrad/core/npy.hpp>

#include "fuzz_file.hpp"

namespace {

template <class F>
void refused_or_read(F read) {
  try {
    read();
  } catch (const xgrad::FileError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz_file(data, size);
  refused_or_read([&] { xgrad::load_npy<double>(path); });
  refused_or_read([&] { xgrad::load_npy<std::int64_t>(path); });
  refused_or_read([&] {
    xgrad::NpzFile file(path);
    for (const auto& name : file.names()) refused_or_read([&] { file.get<float>(name); });
  });
  return 0;
}
