// libFuzzer on tables: any bytes, read with any options, give either an error or numbers that a table written of them
// gives back to the last bit.
#include <xgrad/core/table.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz_file.hpp"

namespace {

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b)); }

xgrad::TableOptions options_of(std::uint8_t bits) {
  constexpr char delimiters[] = {'\0', ',', ';', '\t', ' ', '|', '\0', '\0'};
  xgrad::TableOptions options;
  options.delimiter = delimiters[bits & 7];
  options.header = static_cast<xgrad::Header>((bits >> 3 & 3) % 3);
  options.allow_nonfinite = (bits & 32) != 0;
  options.missing = (bits & 64) != 0 ? xgrad::Missing::nan : xgrad::Missing::error;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  xgrad::TableOptions options = options_of(data[0]);
  xgrad::Table table;
  try {
    table = xgrad::read_table(fuzz_file(data + 1, size - 1), options);
  } catch (const xgrad::FileError&) {
    return 0;
  }
  if (table.values.dimension() != 2 || table.values.size() > size) std::abort();  // each number has a byte
  if (!table.columns.empty() && table.columns.size() != table.values.shape()[1]) std::abort();

  static const std::string copy =
      (std::filesystem::temp_directory_path() / "xgrad_fuzz_table_").string() + std::to_string(getpid()) + ".txt";
  const char delimiter = options.delimiter == '\0' ? ',' : options.delimiter;
  bool ends_line = false;  // no name may
  for (const std::string& name : table.columns) ends_line = ends_line || name.find_first_of("\r\n") != name.npos;
  if (ends_line) table.columns.clear();
  xgrad::write_table(copy, table.values, table.columns, delimiter);
  options.header = table.columns.empty() ? xgrad::Header::none : xgrad::Header::present;
  options.allow_nonfinite = true;
  for (const char sought : {delimiter, delimiter == '|' ? '|' : '\0'}) {  // given, and found
    options.delimiter = sought;
    const xgrad::Table again = xgrad::read_table(copy, options);
    if (again.columns != table.columns || again.values.shape() != table.values.shape()) std::abort();
    for (std::size_t i = 0; i < again.values.size(); ++i)
      if (!same_bits(again.values.data()[i], table.values.data()[i])) std::abort();
  }
  std::filesystem::remove(copy);
  return 0;
}
