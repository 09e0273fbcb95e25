// A file in memory that has a path, for readers that take paths.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

inline std::string fuzz_file(const std::uint8_t* data, std::size_t size) {
  static const int descriptor = memfd_create("fuzz", 0);
  if (descriptor < 0 || ftruncate(descriptor, 0) != 0 ||
      pwrite(descriptor, data, size, 0) != static_cast<ssize_t>(size))
    std::abort();
  return "/proc/self/fd/" + std::to_string(descriptor);
}
