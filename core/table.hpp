// Tables of numbers in text files.
#pragma once

#include <string>
#include <vector>

#include "array.hpp"

namespace xgrad {

struct Table {
  std::vector<std::string> columns;  ///< Names from the header; empty when there is none.
  Array<double> values;              ///< (rows, columns).
};

/// Whether the first line holds column names. `automatic`: it does when none of its fields is a number.
enum class Header { automatic, none, present };

struct TableOptions {
  char delimiter = '\0';  ///< Between fields; ' ' is any run of blanks and tabs; '\0' looks for ; , tab ' '.
  Header header = Header::automatic;  ///< See Header.
  bool allow_nonfinite = false;       ///< Take the words nan, inf and -inf for numbers.
};

/// Reads a text table of numbers. Blanks around fields, blank lines, CRLF line ends and a byte-order mark do not
/// matter, nor does the locale: the decimal sign is a point. Throws FileError, one line with file, line and column
/// (both counted from 1), for a missing, unreadable or empty file, a row with more or fewer fields than the first, and
/// a field that is empty, no number or outside the range of double.
Table read_table(const std::string& path, const TableOptions& options = {});

}  // namespace xgrad
