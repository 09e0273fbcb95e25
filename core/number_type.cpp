#include "number_type.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "xgrad writes files as the machine holds numbers, and they must be little-endian"
#endif

namespace xgrad {

std::size_t size_of(NumberType type) noexcept {
  switch (type) {
    case NumberType::boolean:
    case NumberType::u8:
    case NumberType::i8:
      return 1;
    case NumberType::u16:
    case NumberType::i16:
    case NumberType::f16:
    case NumberType::bf16:
      return 2;
    case NumberType::u32:
    case NumberType::i32:
    case NumberType::f32:
      return 4;
    default:
      return 8;
  }
}

bool is_floating(NumberType type) noexcept {
  return type == NumberType::f16 || type == NumberType::bf16 || type == NumberType::f32 || type == NumberType::f64;
}

std::string to_string(NumberType type) {
  // In the order of the enumeration.
  constexpr const char* names[] = {"BOOL", "U8",  "I8",  "U16",  "I16", "U32", "I32",
                                   "U64",  "I64", "F16", "BF16", "F32", "F64"};
  return names[static_cast<int>(type)];
}

namespace {

float float_from_bits(std::uint32_t bits) {
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

/// IEEE 754 binary16: 1 sign bit, 5 exponent bits (bias 15), 10 fraction bits.
struct Half {
  std::uint16_t bits;
  explicit operator float() const {
    const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16, exponent = (bits >> 10) & 31u,
                        fraction = bits & 1023u;
    if (exponent == 31) return float_from_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0) return float_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // zero and subnormals
    return sign ? -magnitude : magnitude;
  }
};

/// bfloat16: the upper half of a float.
struct Brain {
  std::uint16_t bits;
  explicit operator float() const { return float_from_bits(std::uint32_t{bits} << 16); }
};

struct Boolean {
  std::uint8_t byte;
};

template <class T, class S>
bool convert(S from, T& to) {
  if constexpr (std::is_same_v<S, Half> || std::is_same_v<S, Brain>) {
    to = static_cast<T>(static_cast<float>(from));
  } else if constexpr (std::is_same_v<S, Boolean>) {
    to = static_cast<T>(from.byte != 0);
  } else {
    if constexpr (std::is_integral_v<T> && std::is_same_v<S, std::uint64_t>)
      if (from > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return false;
    to = static_cast<T>(from);  // NOLINT(bugprone-signed-char-misuse): a signed char is a number here
  }
  return true;
}

/// Bytes pass through a buffer of this size, so a conversion needs no second copy of the array.
constexpr std::size_t block_bytes = std::size_t{1} << 16;

template <class S, class T>
bool read_as(ByteSource& source, bool swapped, std::size_t count, T* to) {
  unsigned char block[block_bytes];
  bool fits = true;
  for (std::size_t done = 0; done < count;) {
    const std::size_t n = std::min(count - done, block_bytes / sizeof(S));
    source.read(block, n * sizeof(S));
    for (std::size_t i = 0; i < n; ++i) {
      unsigned char* bytes = block + i * sizeof(S);
      if (swapped) std::reverse(bytes, bytes + sizeof(S));
      S number;
      std::memcpy(&number, bytes, sizeof(S));  // the file aligns nothing
      fits = convert(number, to[done + i]) && fits;
    }
    done += n;
  }
  return fits;
}

template <class T>
bool read_any(ByteSource& source, NumberType type, bool swapped, std::size_t count, T* to) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (type) {
      case NumberType::f16:
        return read_as<Half>(source, swapped, count, to);
      case NumberType::bf16:
        return read_as<Brain>(source, swapped, count, to);
      case NumberType::f32:
        return read_as<float>(source, swapped, count, to);
      case NumberType::f64:
        return read_as<double>(source, swapped, count, to);
      default:
        break;
    }
  }
  switch (type) {
    case NumberType::boolean:
      return read_as<Boolean>(source, swapped, count, to);
    case NumberType::u8:
      return read_as<std::uint8_t>(source, swapped, count, to);
    case NumberType::i8:
      return read_as<std::int8_t>(source, swapped, count, to);
    case NumberType::u16:
      return read_as<std::uint16_t>(source, swapped, count, to);
    case NumberType::i16:
      return read_as<std::int16_t>(source, swapped, count, to);
    case NumberType::u32:
      return read_as<std::uint32_t>(source, swapped, count, to);
    case NumberType::i32:
      return read_as<std::int32_t>(source, swapped, count, to);
    case NumberType::u64:
      return read_as<std::uint64_t>(source, swapped, count, to);
    case NumberType::i64:
      return read_as<std::int64_t>(source, swapped, count, to);
    default:
      return false;
  }
}

}  // namespace

bool detail::stored_bytes(const Shape& shape, NumberType type, std::uint64_t& bytes) {
  // Axes of extent 0 are left out of the bound: the strides of (0, 2^63) would overflow all the same.
  std::uint64_t bound = 8;
  bytes = size_of(type);
  for (const std::size_t extent : shape) {
    if (extent > std::numeric_limits<std::int64_t>::max() / bound) return false;
    if (extent != 0) bound *= extent;
    bytes *= extent;
  }
  return true;
}

template <class T>
void detail::read_numbers(ByteSource& source, NumberType type, bool swapped, std::size_t count, T* to,
                          const std::string& who, const std::string& where) {
  if (!converts<T>(type))
    fail<FileError>(who, where, " holds real numbers but integers are asked for; read it as float or double");
  if (!read_any(source, type, swapped, count, to))
    fail<FileError>(who, where, " holds an integer above 2^63 - 1, which does not fit; read it as float or double");
}

#define XGRAD_INSTANTIATE(T)                                                                             \
  template void detail::read_numbers(ByteSource&, NumberType, bool, std::size_t, T*, const std::string&, \
                                     const std::string&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
XGRAD_INSTANTIATE(std::int64_t)

}  // namespace xgrad
