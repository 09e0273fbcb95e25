// The header of a .npy file, apart from the file around it.
#pragma once

#include "npy.hpp"

namespace xgrad::detail {

struct NpyHeader {
  NumberType type;
  bool swapped;  ///< the other byte order than the machine's
  bool column_major;
  Shape shape;
};

/// Reads magic string, version and header; what remains in the source are the numbers, and their bytes are exactly what
/// the shape needs. `where` names the file or archive member in messages.
NpyHeader read_npy_header(ByteSource& source, const std::string& who, const std::string& where);

/// Everything before the numbers.
std::string write_npy_header(const NamedArray& a);

/// Header and numbers.
template <class T>
Array<T> read_npy(ByteSource& source, const std::string& who, const std::string& where);

}  // namespace xgrad::detail
