// The safetensors format: named tensors in one file, as PyTorch and Hugging Face tools read and write it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "file.hpp"
#include "number_type.hpp"

namespace xgrad {

/// The strings that a file holds beside its tensors, by name.
using Metadata = std::map<std::string, std::string>;

/// A safetensors file open for reading: its header is checked at once, numbers are read when asked for.
///
///     xgrad::SafetensorsFile file("model.safetensors");
///     for (const auto& entry : file.entries()) std::cout << entry.name << to_string(entry.shape) << '\n';
///     xgrad::Array<float> weight = file.get<float>("linear1.weight");
///
/// Source: the format description of the safetensors project (8 bytes of header length, little-endian, at most
/// 100,000,000; a JSON object that starts with "{" and may be padded with spaces; tensors that fill the rest without
/// gap or overlap).
class SafetensorsFile {
 public:
  /// One tensor, as the header describes it.
  struct Entry {
    std::string name;     ///< Its key in the header.
    NumberType type;      ///< As it is stored.
    Shape shape;          ///< Empty for one number.
    std::uint64_t begin;  ///< Its first byte, counted from the end of the header.
    std::uint64_t end;    ///< The byte after its last.
  };

  /// Throws FileError, before it takes memory for tensors, for a file that breaks any rule of the format: cut short,
  /// with bytes that belong to no tensor, names given twice, sizes that contradict each other, types it does not know.
  /// `who` opens the messages.
  explicit SafetensorsFile(const std::string& path, const std::string& who = "load_safetensors");

  /// All tensors, in the order of their bytes.
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  /// The strings under "__metadata__".
  const Metadata& metadata() const noexcept { return metadata_; }
  /// The entry of this name, or nullptr.
  const Entry* find(const std::string& name) const;

  /// The numbers of one tensor as float, double or std::int64_t: rounded to nearest where T holds less (too large
  /// gives infinity); booleans give 0 and 1. Throws FileError for a name that is not there, for real numbers asked for
  /// as integers, and for a u64 that does not fit.
  /// @{
  template <class T>
  Array<T> get(const std::string& name);
  template <class T>
  Array<T> get(const Entry& entry);
  /// @}

 private:
  InputFile file_;
  std::uint64_t data_start_ = 0;
  std::vector<Entry> entries_;
  Metadata metadata_;
};

/// All tensors of a file by name, as float, double or std::int64_t, in the order of their bytes. Throws FileError as
/// SafetensorsFile does.
template <class T>
std::vector<std::pair<std::string, Array<T>>> load_safetensors(const std::string& path);

/// Writes tensors (F32, F64 or I64, as the arrays are) and strings, replacing the file as a whole or not at all.
///
///     xgrad::save_safetensors("pair.safetensors", {{"x", x}, {"y", y}}, {{"made by", "me"}});
///
/// Throws std::invalid_argument for two tensors of one name, for the name "__metadata__", and for text that is not
/// UTF-8; FileError when the file cannot be written.
void save_safetensors(const std::string& path, const std::vector<NamedArray>& tensors, const Metadata& metadata = {});

}  // namespace xgrad
