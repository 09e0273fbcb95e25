// What gradcheck found: as numbers, as a few lines of text, and as JSON.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "array.hpp"

namespace xgrad {

/// One entry of an input: its gradient by the backward pass, by differences, and how far they may be apart.
struct GradcheckEntry {
  std::string input;  ///< Its name.
  Shape index;        ///< Where in that input.
  double analytic;    ///< By the backward pass.
  double numeric;     ///< By differences.
  double allowed;     ///< How far apart the two may be.
};

/// An entry at which the function is not smooth, and that passes: `low` and `high` are the one-sided slopes.
struct GradcheckKink {
  std::string input;  ///< Its name.
  Shape index;        ///< Where in that input.
  double analytic;    ///< By the backward pass.
  double low;         ///< The smaller of the slopes on both sides, added up output by output.
  double high;        ///< The larger.
  bool beside;        ///< The kink lies beside the point, within the step; closer differences agree with `analytic`.
};

/// What was found for one input or parameter.
struct GradcheckInput {
  std::string name;         ///< Given in the options, or the dotted name of a parameter.
  std::size_t checked = 0;  ///< Entries compared.
  std::size_t wrong = 0;    ///< Entries that disagree.
  Array<double> analytic;   ///< The gradient by the backward pass.
  /// The gradient by differences; NaN where not compared, at a kink the slope between both sides nearest to `analytic`.
  Array<double> numeric;
};

/// The outcome of a check. Prints as a few lines that say what is wrong and where.
struct GradcheckReport {
  int order = 1;                          ///< 2 for gradgradcheck.
  std::string problem;                    ///< Why nothing could be compared (not deterministic, no graph); else empty.
  std::vector<GradcheckInput> inputs;     ///< One per input, then one per parameter that requires a gradient.
  std::optional<GradcheckEntry> worst;    ///< The entry furthest outside its allowed difference, if any is.
  std::vector<GradcheckKink> kinks;       ///< Entries that passed at or beside a kink.
  std::vector<std::string> hints;         ///< What the pattern of the differences points to.
  std::vector<std::string> notes;         ///< What limits the check even where it passes.
  std::vector<Array<double>> cotangents;  ///< The gradients of the outputs that the backward pass started from.
  std::uint64_t seed = 0;                 ///< The seed they, and the sample of entries, were drawn with.
  double step = 0;                        ///< The step, and the tolerances, that were used.
  double rtol = 0;                        ///< See step.
  double atol = 0;                        ///< See step.

  /// True when nothing disagrees. Of inputs without numbers nothing can; a note says so.
  /// @{
  bool ok() const { return problem.empty() && wrong() == 0; }
  explicit operator bool() const { return ok(); }
  /// @}
  std::size_t checked() const;  ///< Number of entries compared.
  std::size_t entries() const;  ///< Number of entries there are: more than `checked` when they were sampled.
  std::size_t wrong() const;    ///< Number of entries that disagree.
  /// The report in a few lines.
  std::string text() const;

  /// Everything above as one JSON object, in UTF-8, with the members' names, and `ok`, `checked`, `entries` and `wrong`
  /// beside them. An array is {"shape": [2, 3], "data": [six numbers in row-major order]}; NaN and infinities, which
  /// JSON lacks, are the strings "nan", "inf" and "-inf"; without a worst entry, `worst` is null.
  std::string json() const;
};

/// Prints the text.
std::ostream& operator<<(std::ostream& out, const GradcheckReport& report);

}  // namespace xgrad
