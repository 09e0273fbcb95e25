// NumPy's files: .npy holds one array, .npz several by name.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "file.hpp"
#include "number_type.hpp"

namespace xgrad {

/// Reads a .npy file as float, double or std::int64_t. Versions 1 to 3, row- and column-major, either byte order.
/// Booleans, integers and floats (f2, f4, f8) are converted: rounded to nearest where T holds less (too large gives
/// infinity), booleans to 0 and 1; floats do not convert to integers. Throws FileError, before it takes memory for the
/// array, for a malformed file, one with more or fewer bytes than its shape needs, and for other types (structured,
/// objects, text, complex).
/// Source: the description in numpy.lib.format.
template <class T>
Array<T> load_npy(const std::string& path);

/// Writes a .npy file (version 1, row-major, f4, f8 or i8), replacing the file as a whole or not at all. Throws
/// FileError when it cannot be written.
/// @{
void save_npy(const std::string& path, const Array<float>& a);
void save_npy(const std::string& path, const Array<double>& a);
void save_npy(const std::string& path, const Index& a);
/// @}

/// A .npz file open for reading: the list of its arrays is checked at once, numbers are read when asked for.
///
///     xgrad::NpzFile file("data.npz");
///     auto x = file.get<float>("x");
///     auto labels = file.get<std::int64_t>("labels");
///
/// Arrays may be stored or compressed, as `numpy.savez` and `numpy.savez_compressed` write them.
class NpzFile {
 public:
  /// Throws FileError for a file that is no zip archive, is cut short or damaged, has one name twice, or needs features
  /// that NumPy does not use (encryption, several disks, 4 GiB and more).
  explicit NpzFile(const std::string& path);
  ~NpzFile();
  /// Moves the open file; what is left may only be assigned to or destroyed.
  /// @{
  NpzFile(NpzFile&&) noexcept;
  NpzFile& operator=(NpzFile&&) noexcept;
  /// @}

  /// The names of the arrays, in the order of the file.
  const std::vector<std::string>& names() const noexcept;

  /// One array; converts as `load_npy`. Throws FileError for a name that is not there, for damaged bytes (a CRC is
  /// checked before memory is taken), and as `load_npy`.
  template <class T>
  Array<T> get(const std::string& name);

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

/// Writes a .npz file (stored, not compressed), replacing the file as a whole or not at all.
///
///     xgrad::save_npz("data.npz", {{"x", x}, {"labels", labels}});
///
/// Throws std::invalid_argument for two arrays of one name, for a name over 65,000 bytes and for more than 4 GiB in all
/// (use safetensors there); FileError when the file cannot be written.
void save_npz(const std::string& path, const std::vector<NamedArray>& arrays);

}  // namespace xgrad
