// Columns of text, for reports that people read.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace xgrad::detail {

/// Rows of cells as lines, each column as wide as its widest cell and two blanks; no blanks at the end of a line.
inline std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size() + 2);
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] - row[i].size(), ' ');
    text += line.erase(line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace xgrad::detail
