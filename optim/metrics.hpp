// The course of a training run: what each evaluation found, and a CSV file of that.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace xgrad {

/// What the trainer knows after an evaluation.
struct Metrics {
  std::uint64_t step = 0;   ///< Batches so far.
  std::uint64_t epoch = 0;  ///< From 1.
  double lr = 0;            ///< Of the last step.
  double train_loss = 0;    ///< Mean over the rows trained on since the evaluation before; NaN when all were skipped.
  double validation_loss = std::numeric_limits<double>::quiet_NaN();  ///< Mean over all validation rows, if any.
  std::uint64_t skipped = 0;  ///< Steps left out so far because of NaN or infinity.
};

/// A CSV file with one line for each evaluation, which a spreadsheet reads, and gnuplot:
///
///     set datafile separator ','; set key autotitle columnhead
///     plot 'metrics.csv' using 1:4 with lines, '' using 1:5 with lines
///
/// Numbers are written exactly (shortest digits that give them back), what is NaN as an empty field. Lines go out at
/// once, so that `tail -f` follows a run. Every function throws FileError when the file cannot be read or written.
class MetricsFile {
 public:
  /// Begins the file with these rows, replacing what was there as a whole.
  MetricsFile(std::string path, const std::vector<Metrics>& rows);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  /// Adds a line, or none of it when it throws.
  void append(const Metrics& row);

  /// The rows of a file up to this step, in order; the reading ends at a line that is cut short or not of this form. No
  /// file gives no rows.
  static std::vector<Metrics> read(const std::string& path, std::uint64_t last_step);

 private:
  std::string path_;
  int descriptor_;
};

}  // namespace xgrad
