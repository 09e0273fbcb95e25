#include "table.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string_view>

#include "file.hpp"

namespace xgrad {

namespace {

constexpr std::string_view blanks = " \t", delimiters = ",;\t |";

std::string_view trim(std::string_view s) {
  const std::size_t first = s.find_first_not_of(blanks);
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(blanks) - first + 1);
}

struct Line {
  std::size_t number;
  std::string_view text;
};

/// The length of a field in quotes (a quote within it is doubled) that stands at the front of a line up to a separator
/// or the end; 0 when none does.
std::size_t quoted_length(std::string_view line, std::string_view separators) {
  if (line.empty() || line[0] != '"') return 0;
  for (std::size_t at = 1; (at = line.find('"', at)) != line.npos; ++at) {
    if (line.substr(at, 2) == "\"\"") {
      ++at;
      continue;
    }
    const std::size_t next = line.find_first_not_of(' ', at + 1);
    const bool ends = next == line.npos || separators.find(line[next]) != separators.npos ||
                      separators.find(line[at + 1]) != separators.npos;
    return ends ? at + 1 : 0;
  }
  return 0;
}

/// The length of a text without LF up to the first CR that is not within a field in quotes.
std::size_t length_to_cr(std::string_view text) {
  const std::string separators = std::string(delimiters) + '\r';
  std::size_t end = text.find('\r'), at = 0;
  while (end != text.npos && (at = text.substr(0, end).find('"', at)) != text.npos) {
    const bool opens = at == 0 || separators.find(text[at - 1]) != separators.npos;
    at += std::max<std::size_t>(1, opens ? quoted_length(text.substr(at), separators) : 0);
    if (at > end) end = text.find('\r', at);
  }
  return std::min(end, text.size());
}

/// The lines that are not blank.
std::vector<Line> lines_of(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.substr(0, 3) == byte_order_mark) text.remove_prefix(3);
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty();) {
    std::string_view rest = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), rest.size() + 1));
    do {
      const std::string_view line = rest.substr(0, length_to_cr(rest));
      if (!trim(line).empty()) lines.push_back({number, line});
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      ++number;
    } while (!rest.empty());
  }
  return lines;
}

/// What parts the fields: the first line after the header that shows it decides, since a header may hold any sign
/// within its names. Semicolon before comma, since a comma may be a decimal sign beside it.
char find_delimiter(const std::vector<Line>& lines) {
  for (std::size_t i = 1; i <= lines.size(); ++i) {
    const std::string_view line = trim(lines[i % lines.size()].text);
    for (const char c : {';', ',', '\t', ' '})
      if (line.find(c) != line.npos) return c;
  }
  return ' ';
}

/// The fields of a line, without the blanks around them, in quotes where they are.
std::vector<std::string_view> split(std::string_view line, char delimiter) {
  std::vector<std::string_view> fields;
  const std::string_view separators = delimiter == ' ' ? blanks : std::string_view(&delimiter, 1);
  if (delimiter == ' ') line = trim(line);
  while (true) {
    while (delimiter != ' ' && !line.empty() && line[0] == ' ') line.remove_prefix(1);
    const std::size_t length = quoted_length(line, separators);
    const std::string_view field = line.substr(0, line.find_first_of(separators, length));
    fields.push_back(trim(field));
    if (field.size() == line.size()) return fields;
    line.remove_prefix(field.size() + 1);
    if (delimiter == ' ') line = trim(line);
  }
}

/// A field without the quotes around it.
std::string_view unquoted(std::string_view field) {
  const bool quotes = field.size() > 1 && field.front() == '"' && field.back() == '"';
  return quotes ? field.substr(1, field.size() - 2) : field;
}

bool is_missing(std::string_view field) { return field.empty() || field == "NA" || field == "?"; }

enum class Parsed { number, not_a_number, out_of_range };

/// Reads all of the field; std::from_chars does not look at the locale.
Parsed parse(std::string_view field, double& value) {
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error == std::errc::invalid_argument || end != field.data() + field.size()) return Parsed::not_a_number;
  return error == std::errc::result_out_of_range ? Parsed::out_of_range : Parsed::number;
}

/// A field for a message: short, in quotes, on one line.
std::string quoted(std::string_view field) {
  std::string text(field.substr(0, 24));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  return '"' + text + (field.size() > 24 ? "...\"" : "\"");
}

std::string read_all(const std::string& path) {
  check_path("read_table", path);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail<FileError>("read_table", "cannot open ", path, ": ", std::strerror(errno));
  std::string text;
  std::vector<char> block(1 << 16);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0)
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  if (file.bad()) fail<FileError>("read_table", "cannot read ", path, ": ", std::strerror(errno));
  return text;
}

/// The column name that a header field holds: a doubled quote within quotes is one.
std::string name_of(std::string_view field) {
  std::string name(unquoted(field));
  if (name.size() == field.size()) return name;
  for (auto at = name.find("\"\""); at != name.npos; at = name.find("\"\"", at + 1)) name.erase(at, 1);
  return name;
}

/// A name as a header field: in quotes where it would be cut or vanish, as a byte-order mark would (it begins with EF).
/// Any delimiter counts, since that of a single column is looked for in its name.
std::string header_field(const std::string& name) {
  const auto plain = [](char c) { return c != '"' && delimiters.find(c) == delimiters.npos; };
  if (!name.empty() && name[0] != '\xef' && std::all_of(name.begin(), name.end(), plain)) return name;
  std::string field = "\"";
  for (const char c : name) field += c == '"' ? "\"\"" : std::string(1, c);
  return field + '"';
}

}  // namespace

std::size_t Table::column(const std::string& name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  const auto count = std::count(columns.begin(), columns.end(), name);
  if (count != 1)
    fail<std::invalid_argument>("Table", count == 0 ? "no column" : std::to_string(count) + " columns", " named ",
                                quoted(name), " among ", columns.size());
  return static_cast<std::size_t>(found - columns.begin());
}

Table read_table(const std::string& path, const TableOptions& options) {
  const std::string text = read_all(path);
  const std::vector<Line> lines = lines_of(text);
  if (lines.empty()) fail<FileError>("read_table", path, " is empty");
  const char delimiter = options.delimiter != '\0' ? options.delimiter : find_delimiter(lines);

  Table table;
  const auto first = split(lines[0].text, delimiter);
  bool header = options.header == Header::present;
  if (options.header == Header::automatic) {
    bool numbers = false, words = false;  // missing values are neither
    double ignored;
    for (const std::string_view field : first) {
      const std::string_view bare = trim(unquoted(field));
      (parse(bare, ignored) != Parsed::not_a_number ? numbers : words) |= !is_missing(bare);
    }
    header = words && !numbers;
  }
  if (header) {
    for (const std::string_view field : first) table.columns.push_back(name_of(field));
    if (lines.size() == 1)
      fail<FileError>("read_table", path, ", line ", lines[0].number, ", column 1: ", quoted(first[0]),
                      " is no number, and no row of numbers follows");
  }

  const std::size_t skipped = header, width = first.size();
  // The reading ends at a row with fewer bytes than delimiters at the latest, so numbers are not more than bytes.
  const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(skipped);
  const auto cut = std::find_if(begin, lines.end(), [&](const Line& line) { return line.text.size() + 1 < width; });
  const auto rows = static_cast<std::size_t>(cut - begin) + (cut != lines.end());
  table.values = empty<double>({rows, width});
  double* value = table.values.data();
  for (std::size_t i = skipped; i < lines.size(); ++i) {
    const auto fields = split(lines[i].text, delimiter);
    const auto reject = [&](std::size_t column, const auto&... what) {
      fail<FileError>("read_table", path, ", line ", lines[i].number, ", column ", column + 1, ": ", what...);
    };
    for (std::size_t j = 0; j < std::min(width, fields.size()); ++j, ++value) {
      const std::string_view field = trim(unquoted(fields[j]));
      if (is_missing(field)) {
        if (options.missing == Missing::error) reject(j, "a number is missing; set missing to read NaN");
        *value = std::numeric_limits<double>::quiet_NaN();
        continue;
      }
      const Parsed parsed = parse(field, *value);
      if (parsed == Parsed::not_a_number) reject(j, quoted(field), " is not a number");
      if (parsed == Parsed::out_of_range) reject(j, quoted(field), " is outside the range of double");
      if (!std::isfinite(*value) && !options.allow_nonfinite)
        reject(j, quoted(field), " is not finite; set allow_nonfinite to read it");
    }
    if (fields.size() != width)
      reject(std::min(width, fields.size()), "the row has ", fields.size(), " fields but line ", lines[0].number,
             " has ", width);
  }
  return table;
}

template <class T>
void write_table(const std::string& path, const Array<T>& values, const std::vector<std::string>& columns,
                 char delimiter) {
  if (values.dimension() != 2 || values.size() == 0)
    fail<ShapeError>("write_table", "needs (rows, columns), at least one of each, but got ", to_string(values.shape()));
  const std::size_t width = values.shape()[1];
  if (!columns.empty() && columns.size() != width)
    fail<ShapeError>("write_table", "needs a name for each of ", width, " columns but got ", columns.size());
  if (delimiters.find(delimiter) == delimiters.npos)
    fail<std::invalid_argument>("write_table", "the delimiter must be one of , ; | tab and blank but is ",
                                quoted({&delimiter, 1}));
  std::string text;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (columns[j].find_first_of("\r\n") != std::string::npos)
      fail<std::invalid_argument>("write_table", "a name must not hold a line end but ", quoted(columns[j]), " does");
    text += header_field(columns[j]);
    text += j + 1 < width ? delimiter : '\n';
  }

  OutputFile file("write_table", path);
  for (std::size_t i = 0; i < values.size(); ++i) {
    char digits[32];  // the longest has 24
    text.append(digits, std::to_chars(digits, digits + sizeof digits, static_cast<double>(values.data()[i])).ptr);
    text += (i + 1) % width != 0 ? delimiter : '\n';
    if (text.size() < (1 << 16)) continue;
    file.write(text.data(), text.size());
    text.clear();
  }
  file.write(text.data(), text.size());
  file.commit();
}

template void write_table(const std::string&, const Array<float>&, const std::vector<std::string>&, char);
template void write_table(const std::string&, const Array<double>&, const std::vector<std::string>&, char);

}  // namespace xgrad
