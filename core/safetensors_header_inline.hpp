// The JSON header of a safetensors file, apart from the file around it.
#pragma once

#include "safetensors.hpp"

namespace xgrad::detail {

inline constexpr std::uint64_t longest_header = 100'000'000;

/// Reads a header and checks every rule that concerns it alone, and that its tensors fill `data_bytes` exactly. `where`
/// (the path) opens the text of the FileError that is thrown otherwise. Entries come out in the order of their bytes.
void parse_header(const std::string& text, std::uint64_t data_bytes, const std::string& who, const std::string& where,
                  std::vector<SafetensorsFile::Entry>& entries, Metadata& metadata);

/// The header that describes tensors laid out in this order, padded with spaces to a multiple of 8 bytes.
std::string write_header(const std::vector<NamedArray>& tensors, const Metadata& metadata);

}  // namespace xgrad::detail
