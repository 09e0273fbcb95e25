#include "table.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string_view>

namespace xgrad {

namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trim(std::string_view s) {
  const std::size_t first = s.find_first_not_of(blanks);
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(blanks) - first + 1);
}

struct Line {
  std::size_t number;
  std::string_view text;
};

/// The lines that are not blank.
std::vector<Line> lines_of(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.substr(0, 3) == byte_order_mark) text.remove_prefix(3);
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!trim(line).empty()) lines.push_back({number, trim(line)});
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return lines;
}

/// Semicolon before comma, since a comma may be a decimal sign beside it.
char find_delimiter(std::string_view line) {
  for (const char c : {';', ',', '\t'})
    if (line.find(c) != line.npos) return c;
  return ' ';
}

std::vector<std::string_view> split(std::string_view line, char delimiter) {
  std::vector<std::string_view> fields;
  const std::string_view separators = delimiter == ' ' ? blanks : std::string_view(&delimiter, 1);
  while (true) {
    const std::string_view field = line.substr(0, line.find_first_of(separators));
    fields.push_back(trim(field));
    if (field.size() == line.size()) return fields;
    line.remove_prefix(field.size() + 1);
    if (delimiter == ' ') line = trim(line);
  }
}

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

}  // namespace

Table read_table(const std::string& path, const TableOptions& options) {
  const std::string text = read_all(path);
  const std::vector<Line> lines = lines_of(text);
  if (lines.empty()) fail<FileError>("read_table", path, " is empty");
  // A header may hold any sign within its names, so a row of numbers decides when there is one.
  const char delimiter =
      options.delimiter != '\0' ? options.delimiter : find_delimiter(lines[lines.size() > 1 ? 1 : 0].text);

  Table table;
  const auto first = split(lines[0].text, delimiter);
  bool header = options.header == Header::present;
  if (options.header == Header::automatic) {
    header = true;
    double ignored;
    for (const std::string_view field : first) header = header && parse(field, ignored) == Parsed::not_a_number;
  }
  if (header) {
    for (std::string_view name : first) {
      if (name.size() > 1 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
      table.columns.emplace_back(name);
    }
    if (lines.size() == 1)
      fail<FileError>("read_table", path, ", line ", lines[0].number, ", column 1: ", quoted(first[0]),
                      " is no number, and no row of numbers follows");
  }

  const std::size_t skipped = header, width = first.size();
  table.values = empty<double>({lines.size() - skipped, width});
  double* value = table.values.data();
  for (std::size_t i = skipped; i < lines.size(); ++i) {
    const auto fields = split(lines[i].text, delimiter);
    const auto reject = [&](std::size_t column, const auto&... what) {
      fail<FileError>("read_table", path, ", line ", lines[i].number, ", column ", column + 1, ": ", what...);
    };
    for (std::size_t j = 0; j < std::min(width, fields.size()); ++j, ++value) {
      const std::string_view field = fields[j];
      const Parsed parsed = parse(field, *value);
      if (field.empty()) reject(j, "a number is missing");
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

}  // namespace xgrad
