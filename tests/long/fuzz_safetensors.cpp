// libFuzzer on the safetensors reader: any bytes give either an error or arrays that save and load again.
#include <xgrad/core/safetensors.hpp>

#include "fuzz_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz_file(data, size);
  try {
    xgrad::SafetensorsFile file(path);
    std::size_t bytes = 0;
    for (const auto& entry : file.entries()) {
      bytes += entry.end - entry.begin;
      const auto numbers = file.get<double>(entry);
      if (numbers.shape() != entry.shape || numbers.size() * xgrad::size_of(entry.type) != entry.end - entry.begin)
        std::abort();
      try {
        file.get<std::int64_t>(entry.name);
      } catch (const xgrad::FileError&) {
      }
    }
    if (bytes > size) std::abort();
  } catch (const xgrad::FileError&) {
  }
  return 0;
}
