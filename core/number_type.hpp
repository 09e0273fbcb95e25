// The types that numbers have in files, and their conversion.
#pragma once

#include <string>

#include "array.hpp"
#include "file.hpp"

namespace xgrad {

/// The types of numbers in .npy and safetensors files: boolean (one byte), unsigned and signed integers, and floats of
/// so many bits (bf16: bfloat16).
enum class NumberType { boolean, u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64 };

/// Bytes of one number.
std::size_t size_of(NumberType type) noexcept;
/// True for f16, bf16, f32 and f64.
bool is_floating(NumberType type) noexcept;
/// Its name in safetensors files: "F32".
std::string to_string(NumberType type);

/// A named array on its way to a file: any Array<float>, Array<double> or Index. It holds a pointer, so the array must
/// outlive it.
struct NamedArray {
  /// Refers to the numbers of an array.
  /// @{
  NamedArray(std::string name_, const Array<float>& a)
      : name(std::move(name_)), type(NumberType::f32), shape(a.shape()), data(a.data()) {}
  NamedArray(std::string name_, const Array<double>& a)
      : name(std::move(name_)), type(NumberType::f64), shape(a.shape()), data(a.data()) {}
  NamedArray(std::string name_, const Index& a)
      : name(std::move(name_)), type(NumberType::i64), shape(a.shape()), data(a.data()) {}

  template <class T>
  explicit NamedArray(const std::pair<std::string, Array<T>>& entry) : NamedArray(entry.first, entry.second) {}
  /// @}

  /// What the numbers take in a file.
  std::size_t bytes() const { return element_count(shape) * size_of(type); }

  std::string name;  ///< In the file.
  NumberType type;   ///< f32, f64 or i64.
  Shape shape;       ///< Of the array.
  const void* data;  ///< Its numbers, row-major.
};

namespace detail {

/// count * size_of(type) for a shape from a file, false when that or a stride does not fit in memory at all.
bool stored_bytes(const Shape& shape, NumberType type, std::uint64_t& bytes);

/// True when numbers of `type` may become T: any to float and double (rounded to nearest, too large gives infinity),
/// integers and booleans alone to std::int64_t.
template <class T>
bool converts(NumberType type) {
  return std::is_floating_point_v<T> || !is_floating(type);
}

/// Reads `count` numbers and converts them; `swapped` says that the file has the other byte order than the machine.
/// Throws FileError as `source` does, and "[who] where ..." for what does not convert or for a u64 too large for T.
template <class T>
void read_numbers(ByteSource& source, NumberType type, bool swapped, std::size_t count, T* to, const std::string& who,
                  const std::string& where);

}  // namespace detail

}  // namespace xgrad
