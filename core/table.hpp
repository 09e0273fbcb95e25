// Tables of numbers in text files.
#pragma once

#include <string>
#include <vector>

#include "array.hpp"

namespace xgrad {

/// A table of numbers, as `read_table` gives it.
struct Table {
  std::vector<std::string> columns;  ///< Names from the header; empty when there is none.
  Array<double> values;              ///< (rows, columns).

  /// The number of the column of this name, from 0; throws std::invalid_argument when there is none, or several.
  std::size_t column(const std::string& name) const;
};

/// Whether the first line holds column names. `automatic`: it does when none of its fields is a number.
enum class Header { automatic, none, present };

/// What becomes of a missing value: an empty field, or one that holds NA or ? alone.
enum class Missing { error, nan };

/// Options of `read_table`.
struct TableOptions {
  char delimiter = '\0';  ///< Between fields; ' ' is any run of blanks and tabs; '\0' looks for ; , tab ' '.
  Header header = Header::automatic;  ///< See Header.
  bool allow_nonfinite = false;       ///< Take the words nan, inf and -inf for numbers.
  Missing missing = Missing::error;   ///< See Missing.
};

/// Reads a text table of numbers. Blanks around fields, quotes around whole fields, blank lines and a byte-order mark
/// do not matter, nor does the locale: the decimal sign is a point. Lines end at LF, CRLF or, outside quotes, CR. Names
/// keep blanks in quotes. Every double is read to the last bit, subnormal ones included. Throws FileError, one line
/// with file, line and column (both counted from 1), for a missing, unreadable or empty file, a row with more or fewer
/// fields than the first, and a field that is missing, no number or outside the range of double (1e400, 1e-400).
Table read_table(const std::string& path, const TableOptions& options = {});

/// Writes rows of numbers, with a header when `columns` names them, so that `read_table` gives back the same bits: each
/// number has the fewest digits that do (at most 17). NaN and infinities are the words nan, inf and -inf. The file is
/// replaced as a whole or not at all. Names come back as they are, in quotes where they hold a delimiter; a header in
/// which one looks like a number, or all like missing values, is only found with Header::present. Throws ShapeError
/// unless values is (rows, columns) with at least one of each and a name for each column (or none),
/// std::invalid_argument for a line end in a name or a delimiter that may stand in a number, FileError when it cannot
/// be written.
template <class T>
void write_table(const std::string& path, const Array<T>& values, const std::vector<std::string>& columns = {},
                 char delimiter = ',');

}  // namespace xgrad
