// printf into a string.
#pragma once

#include <cstdio>
#include <string>

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}
