#include <charconv>
#include <optional>

#include "npy_header_inline.hpp"

namespace xgrad::detail {

namespace {

constexpr std::size_t longest_header = std::size_t{1} << 20;
constexpr std::size_t highest_rank = 64;

/// Reads the header's text, a Python dict of string, bool and tuple of int. The format's rule: "readers must not depend
/// on the order of keys".
class DictReader {
 public:
  DictReader(const std::string& text, const std::string& who, const std::string& where)
      : at_(text.data()), end_(text.data() + text.size()), who_(who), where_(where) {}

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail<FileError>(who_, where_, " is no .npy file that can be read: ", parts...);
  }

  NpyHeader read() {
    expect('{');
    while (!take('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !descr_) descr_ = descr();
      else if (key == "fortran_order" && !column_major_) column_major_ = boolean();
      else if (key == "shape" && !shape_) shape_ = tuple();
      else refuse("its header has the key \"", printable(key), "\", unknown or for the second time");
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ != end_) refuse("its header goes on after the dict");
    if (!descr_ || !column_major_ || !shape_) refuse("its header needs the keys descr, fortran_order and shape");
    NpyHeader header{NumberType::f64, false, *column_major_, *shape_};
    set_type(header, *descr_);
    return header;
  }

 private:
  static std::string printable(const std::string& text) {
    std::string result;
    for (const char c : text.substr(0, 40)) result += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
    return result;
  }
  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse("its header lacks a '", c, "' before \"", printable(std::string(at_, end_)), '"');
  }
  std::string string() {
    const char quote = take('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const char* begin = at_;
    while (at_ != end_ && *at_ != quote && *at_ != '\\') ++at_;
    if (at_ == end_ || *at_ != quote) refuse("its header has a string that does not end or holds a backslash");
    return {begin, at_++};
  }
  std::string descr() {
    skip_blanks();
    if (at_ != end_ && (*at_ == '[' || *at_ == '('))
      refuse("its type is structured; save each field as an array of its own");
    return string();
  }
  bool boolean() {
    skip_blanks();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    refuse("fortran_order is neither True nor False");
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!take(')')) {
      skip_blanks();
      std::uint64_t extent = 0;
      const auto [next, error] = std::from_chars(at_, end_, extent);
      if (error != std::errc()) refuse("shape must be a tuple of integers from 0 to 2^64 - 1");
      if (shape.size() == highest_rank) refuse("shape has more than ", highest_rank, " axes");
      shape.push_back(extent);
      at_ = next;
      if (at_ != end_ && *at_ == 'L') ++at_;  // Python 2 wrote long integers so
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  void set_type(NpyHeader& header, const std::string& descr) const {
    struct Known {
      std::string_view code;
      NumberType type;
    };
    static constexpr Known known[] = {{"b1", NumberType::boolean}, {"u1", NumberType::u8},  {"i1", NumberType::i8},
                                      {"u2", NumberType::u16},     {"i2", NumberType::i16}, {"u4", NumberType::u32},
                                      {"i4", NumberType::i32},     {"u8", NumberType::u64}, {"i8", NumberType::i64},
                                      {"f2", NumberType::f16},     {"f4", NumberType::f32}, {"f8", NumberType::f64}};
    const char order = descr.empty() ? '\0' : descr[0];
    for (const Known& k : known) {
      if (order == '\0' || descr.substr(1) != k.code) continue;
      // '=' is the byte order of the machine that wrote, which the file does not tell: taken as little-endian.
      if (order != '<' && order != '>' && order != '=' && !(order == '|' && size_of(k.type) == 1)) break;
      header.type = k.type;
      header.swapped = order == '>';
      return;
    }
    refuse("its type is '", printable(descr), "' but only b1, i1 to i8, u1 to u8, f2, f4 and f8 are read",
           descr.find('O') != std::string::npos ? "; Python objects never are, since reading them runs code" : "");
  }

  const char* at_;
  const char* end_;
  const std::string& who_;
  const std::string& where_;
  std::optional<std::string> descr_;
  std::optional<bool> column_major_;
  std::optional<Shape> shape_;
};

/// Reads column-major numbers into row-major places: `read` delivers them one after the other.
template <class T>
void read_column_major(ByteSource& source, const NpyHeader& header, Array<T>& to, const std::string& who,
                       const std::string& where) {
  const std::size_t rank = header.shape.size(), count = to.size();
  std::vector<std::size_t> index(rank, 0), stride(rank, 1);
  for (std::size_t k = rank; k-- > 1;) stride[k - 1] = stride[k] * header.shape[k];
  std::vector<T> block(std::min<std::size_t>(count, 4096));
  std::size_t place = 0;
  for (std::size_t done = 0; done < count;) {
    const std::size_t n = std::min(count - done, block.size());
    read_numbers(source, header.type, header.swapped, n, block.data(), who, where);
    for (std::size_t i = 0; i < n; ++i) {
      to.data()[place] = block[i];
      // One on, the first axis fastest.
      for (std::size_t k = 0; k < rank; ++k) {
        place += stride[k];
        if (++index[k] < header.shape[k]) break;
        place -= stride[k] * index[k];
        index[k] = 0;
      }
    }
    done += n;
  }
}

}  // namespace

NpyHeader read_npy_header(ByteSource& source, const std::string& who, const std::string& where) {
  const auto refuse = [&](const auto&... what) {
    fail<FileError>(who, where, " is no .npy file that can be read: ", what...);
  };
  if (source.remaining() < 10) refuse("it has only ", source.remaining(), " bytes");
  unsigned char start[12];
  source.read(start, 8);
  if (std::string(start, start + 6) != "\x93NUMPY") refuse("it does not start with \\x93NUMPY");
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0)
    refuse("its version is ", version, '.', int{start[7]}, " but 1.0, 2.0 and 3.0 are known");
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (source.remaining() < length_bytes) refuse("it is cut short in its header");
  source.read(start + 8, length_bytes);
  std::size_t length = start[8] | std::size_t{start[9]} << 8;
  if (version > 1) length |= std::size_t{start[10]} << 16 | std::size_t{start[11]} << 24;
  if (length > longest_header) refuse("its header has ", length, " bytes but at most ", longest_header, " are read");
  if (length > source.remaining())
    refuse("it is cut short: the header needs ", length, " bytes but ", source.remaining(), " follow");
  std::string text(length, ' ');
  source.read(text.data(), length);

  NpyHeader header = DictReader(text, who, where).read();
  std::uint64_t bytes;
  if (!stored_bytes(header.shape, header.type, bytes))
    refuse("shape ", to_string(header.shape), " is larger than any memory");
  if (bytes > source.remaining())
    refuse("it is cut short: shape ", to_string(header.shape), " needs ", bytes, " bytes but ", source.remaining(),
           " follow the header");
  if (bytes < source.remaining())
    refuse(source.remaining() - bytes, " bytes follow after the numbers of shape ", to_string(header.shape));
  return header;
}

std::string write_npy_header(const NamedArray& a) {
  const char* descr = a.type == NumberType::f32 ? "<f4" : a.type == NumberType::f64 ? "<f8" : "<i8";
  std::string dict = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (";
  for (const std::size_t extent : a.shape) dict += std::to_string(extent) + ", ";
  if (a.shape.size() > 1) dict.resize(dict.size() - 2);
  if (a.shape.size() == 1) dict.pop_back();
  dict += "), }";
  constexpr std::size_t before = 10,
                        alignment = 64;  // magic, version and length; the numbers start at a multiple of 64
  dict.append(alignment - 1 - (before + dict.size()) % alignment, ' ');
  dict += '\n';
  std::string text = "\x93NUMPY";
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, dict.size() & 255, dict.size() >> 8})
    text += static_cast<char>(byte);
  return text + dict;
}

template <class T>
Array<T> read_npy(ByteSource& source, const std::string& who, const std::string& where) {
  const NpyHeader header = read_npy_header(source, who, where);
  if (!converts<T>(header.type))
    fail<FileError>(who, where, " holds real numbers but integers are asked for; read it as float or double");
  Array<T> result = empty<T>(header.shape);
  if (header.column_major && header.shape.size() > 1) read_column_major(source, header, result, who, where);
  else read_numbers(source, header.type, header.swapped, result.size(), result.data(), who, where);
  return result;
}

#define XGRAD_INSTANTIATE(T) template Array<T> read_npy(ByteSource&, const std::string&, const std::string&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
XGRAD_INSTANTIATE(std::int64_t)

}  // namespace xgrad::detail
