#include "progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace xgrad {

namespace {

std::size_t terminal_width(std::FILE* out) {
  struct winsize size;
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// "0:07", "12:34" or "1:02:03".
std::string clock_text(double seconds) {
  if (!(seconds < 360000)) return "100 hours and more";
  const int s = static_cast<int>(std::lround(seconds));
  char text[32];
  if (s >= 3600) std::snprintf(text, sizeof text, "%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
  else std::snprintf(text, sizeof text, "%d:%02d", s / 60, s % 60);
  return text;
}

}  // namespace

Progress::Progress(std::uint64_t steps, std::uint64_t done, std::FILE* out)
    : steps_(std::max<std::uint64_t>(steps, 1)),
      done_(done),
      out_(out),
      terminal_(out && ::isatty(::fileno(out)) != 0) {}

Progress::~Progress() {
  if (!open_) return;
  std::fputc('\n', out_);
  std::fflush(out_);
}

bool Progress::due(std::uint64_t step) const {
  if (!out_) return false;
  if (step >= steps_) return true;
  if (terminal_) return Clock::now() - shown_ >= std::chrono::milliseconds(50);
  return step * 10 / steps_ != (step - 1) * 10 / steps_;
}

void Progress::show(std::uint64_t step, const std::string& text) {
  if (!due(step)) return;
  if (terminal_) {
    shown_ = Clock::now();
    rewrite(text, bar(std::min(step, steps_)));
    open_ = step < steps_;
    if (!open_) std::fputc('\n', out_);
  } else {
    std::fprintf(out_, "%s\n", text.c_str());
  }
  std::fflush(out_);
}

/// "  [#####     ] 50%  12.5/s  0:40 left"; at the end the time that it took.
std::string Progress::bar(std::uint64_t step) const {
  constexpr std::uint64_t width = 20;
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const double rate = static_cast<double>(step - std::min(step, done_)) / seconds;
  const auto filled = static_cast<std::size_t>(step * width / steps_);
  char numbers[64];
  std::snprintf(numbers, sizeof numbers, "] %d%%  %.3g/s  ", static_cast<int>(step * 100 / steps_), rate);
  return "  [" + std::string(filled, '#') + std::string(width - filled, ' ') + numbers +
         (step < steps_ ? clock_text(static_cast<double>(steps_ - step) / rate) + " left" : clock_text(seconds));
}

/// The text is shortened to what the bar leaves of the line, since a line that wraps could not be rewritten.
void Progress::rewrite(const std::string& text, const std::string& bar) {
  const std::size_t width = terminal_width(out_);
  const std::size_t left = width > bar.size() + 1 ? width - bar.size() - 1 : 0;
  const std::string line = (text.substr(0, left) + bar).substr(0, width - 1);
  std::fprintf(out_, "\r%s\x1b[K", line.c_str());
}

}  // namespace xgrad
