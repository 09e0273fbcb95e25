// Progress on one line: it rewrites itself in a terminal, and becomes about ten plain lines in a log.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

class Progress {
 public:
  explicit Progress(std::size_t steps) : steps_(steps) {}

  /// Says how far step 1, ..., steps has got.
  void show(std::size_t step, const std::string& text) {
    const bool last = step == steps_;
    if (terminal_) {
      const auto now = std::chrono::steady_clock::now();
      if (!last && now - shown_ < std::chrono::milliseconds(50)) return;
      shown_ = now;
      std::printf("\r%s\x1b[K%s", text.c_str(), last ? "\n" : "");
    } else if (last || step * 10 / steps_ != (step - 1) * 10 / steps_) {
      std::printf("%s\n", text.c_str());
    }
    std::fflush(stdout);
  }

 private:
  const std::size_t steps_;
  const bool terminal_ = isatty(STDOUT_FILENO) != 0;
  std::chrono::steady_clock::time_point shown_;
};

/// printf into a string.
template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}
