// What the pattern of wrong gradients points to, for gradcheck's report.
#pragma once

#include <string>
#include <vector>

#include "gradcheck.hpp"

namespace xgrad::detail {

/// An input, and what differences say about its gradient when it is wrong. Gradients are NaN at other entries.
struct Suspect {
  std::size_t input;                              // its number in the report
  bool reached;                                   // the graph leads to it
  std::vector<std::size_t> entries;               // that were compared
  double doubt;                                   // how far rounding may have moved a numeric gradient
  Array<double> of_ones;                          // numeric gradient for a cotangent of ones (when parts is not empty)
  std::vector<std::vector<Array<double>>> parts;  // [axis][k]: from the part k along that axis of the output alone
};

/// One line for each pattern found; inputs with the same pattern share a line.
std::vector<std::string> hints(const GradcheckReport& report, const std::vector<Suspect>& suspects,
                               const std::vector<Array<double>>& outputs);

}  // namespace xgrad::detail
