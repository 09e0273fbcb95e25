#pragma once

#include <cstdlib>
#include <cstring>

/// Built with a sanitizer or run under valgrind: memory that cannot be had ends the program, and freed memory is kept.
inline bool under_sanitizer() {
// g++ and clang++ say it in different ways.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
  return true;
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#endif
  const char* preload = std::getenv("LD_PRELOAD");  // valgrind's tools announce themselves here
  return preload && std::strstr(preload, "vgpreload");
}
