// Progress of a long run: a bar in a terminal, about ten plain lines in a log.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace xgrad {

/// Says how far a run of `steps` steps has got.
///
///     xgrad::Progress progress(epochs);
///     for (std::size_t epoch = 1; epoch <= epochs; ++epoch) { ...; progress.show(epoch, "loss 0.25"); }
///
/// In a terminal one line rewrites itself, at most 20 times a second, with a bar, the rate and the time left behind
/// the text. Elsewhere each tenth of the way is a line of the text alone, so that logs of equal runs are equal.
class Progress {
 public:
  /// `done` steps of an earlier run are not counted in the rate. Without `out` it is silent. A run of 0 steps counts as
  /// one of 1.
  explicit Progress(std::uint64_t steps, std::uint64_t done = 0, std::FILE* out = stdout);
  /// Ends a line that is not finished.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Whether `show` would print for this step, for texts that cost something to make.
  bool due(std::uint64_t step) const;
  /// Step 1, ..., steps is done; one beyond counts as the last.
  void show(std::uint64_t step, const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  std::string bar(std::uint64_t step) const;
  void rewrite(const std::string& text, const std::string& bar);

  const std::uint64_t steps_, done_;
  std::FILE* const out_;
  const bool terminal_;
  bool open_ = false;  // the line in the terminal is not ended
  const Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_ - std::chrono::hours(1);
};

}  // namespace xgrad
