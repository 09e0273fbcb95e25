#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "safetensors_header_inline.hpp"

namespace xgrad::detail {

namespace {

using Entry = SafetensorsFile::Entry;
using Json = nlohmann::json;

constexpr std::size_t highest_rank = 64;

/// Text from a file for a message: short, printable.
std::string shown(const std::string& text) {
  std::string result;
  for (const char c : text.substr(0, 80)) result += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
  return '"' + result + (text.size() > 80 ? "...\"" : "\"");
}

/// Follows the parser's events. No tree is built, so a hostile header costs no more than what it names.
class Handler final : public nlohmann::json_sax<Json> {
 public:
  Handler(std::uint64_t budget, const std::string& who, const std::string& where)
      : budget_(budget), who_(who), where_(where) {}

  std::vector<Entry> entries;
  Metadata metadata;

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail<FileError>(who_, where_, " is no safetensors file: ", parts...);
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::start) place_ = Place::names;
    else if (place_ == Place::tensor && !inside_) inside_ = true;
    else if (place_ == Place::metadata && !inside_) inside_ = true;
    else refuse("the header has an object where none belongs", of_current());
    return true;
  }
  bool key(string_t& key) override {
    if (place_ == Place::names) {
      spend(3 * sizeof(Entry) + 2 * key.size() + 96);  // a growing vector holds up to three times its content
      if (!names_.insert(key).second) refuse("the name ", shown(key), " is given twice");
      current_ = key;
      place_ = key == "__metadata__" ? Place::metadata : Place::tensor;
      inside_ = false;
      field_.clear();
      type_.reset();
      shape_.reset();
      offsets_.reset();
    } else {
      field_ = key;
      if (place_ == Place::metadata) {
        spend(2 * key.size() + 96);
        if (metadata.count(key)) refuse("the metadata key ", shown(key), " is given twice");
      } else {
        const bool again =
            (key == "dtype" && type_) || (key == "shape" && shape_) || (key == "data_offsets" && offsets_);
        if (again) refuse(shown(key), " is given twice", of_current());
        if (key != "dtype" && key != "shape" && key != "data_offsets")
          refuse("unknown field ", shown(key), of_current());
      }
    }
    return true;
  }
  bool string(string_t& value) override {
    if (place_ == Place::metadata && inside_) {
      spend(value.size());
      metadata.emplace(field_, std::move(value));
    } else if (place_ == Place::tensor && inside_ && field_ == "dtype") {
      for (int i = 0; i <= static_cast<int>(NumberType::f64) && !type_; ++i)
        if (to_string(static_cast<NumberType>(i)) == value) type_ = static_cast<NumberType>(i);
      if (!type_) refuse("dtype ", shown(value), of_current(), " is not one of BOOL, U8 to I64, F16, BF16, F32, F64");
    } else {
      misplaced("a string");
    }
    return true;
  }
  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || !inside_ || list_ || (field_ != "shape" && field_ != "data_offsets"))
      misplaced("a list");
    list_ = true;
    (field_ == "shape" ? shape_ : offsets_).emplace();
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!list_) misplaced("a number");
    auto& list = field_ == "shape" ? *shape_ : *offsets_;
    if (list.size() == (field_ == "shape" ? highest_rank : 2))
      refuse(shown(field_), of_current(), " has too many numbers (at most ", list.size(), ")");
    list.push_back(value);
    return true;
  }
  bool end_array() override {
    list_ = false;
    return true;
  }
  bool end_object() override {
    if (place_ == Place::names) {
      place_ = Place::end;
    } else {
      if (place_ == Place::tensor) add_entry();
      place_ = Place::names;
    }
    return true;
  }
  bool null() override { misplaced("null"); }
  bool boolean(bool) override { misplaced("true or false"); }
  bool number_integer(number_integer_t value) override { misplaced(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { misplaced(text); }
  bool binary(binary_t&) override { misplaced("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    // The parser's text repeats the header's last token, however long; its end says what was wrong.
    std::string text = e.what();
    text.resize(std::min({text.find("; last read"), text.size(), std::size_t(200)}));
    refuse("the header is not JSON at byte ", position, ": ", text.substr(text.find("] ") + 1));
  }

 private:
  enum class Place { start, names, tensor, metadata, end };

  std::string of_current() const { return current_.empty() ? "" : " (in " + shown(current_) + ")"; }

  [[noreturn]] void misplaced(const std::string& what) const {
    if (place_ == Place::metadata)
      refuse("__metadata__ must be an object of strings but ", inside_ ? shown(field_) : "it", " is ",
             what.substr(0, 40));
    refuse("the header has ", what.substr(0, 40), " where it does not belong", of_current(),
           "; a tensor needs a dtype, a shape and data_offsets of integers >= 0");
  }

  /// Counts memory that the header makes us take.
  void spend(std::size_t bytes) {
    if (bytes > budget_) refuse("the header names more than a file of this size can hold");
    budget_ -= bytes;
  }

  void add_entry() {
    const char* missing = !type_                               ? "dtype"
                          : !shape_                            ? "shape"
                          : !offsets_ || offsets_->size() != 2 ? "data_offsets"
                                                               : nullptr;
    if (missing) refuse("\"", missing, "\" is missing or incomplete", of_current());
    Entry entry{current_, *type_, Shape(shape_->begin(), shape_->end()), (*offsets_)[0], (*offsets_)[1]};
    if (entry.begin > entry.end) refuse("data_offsets end before they begin", of_current());
    std::uint64_t bytes;
    if (!stored_bytes(entry.shape, entry.type, bytes))
      refuse("shape ", to_string(entry.shape), of_current(), " is larger than any memory");
    if (bytes != entry.end - entry.begin)
      refuse("shape ", to_string(entry.shape), of_current(), " needs ", bytes, " bytes but data_offsets span ",
             entry.end - entry.begin);
    entries.push_back(std::move(entry));
  }

  std::uint64_t budget_;
  const std::string& who_;
  const std::string& where_;
  Place place_ = Place::start;
  bool inside_ = false;  // the braces of a tensor or of the metadata
  bool list_ = false;    // the brackets of a list
  std::set<std::string> names_;
  std::string current_, field_;
  std::optional<NumberType> type_;
  std::optional<std::vector<std::uint64_t>> shape_, offsets_;
};

/// The longest string, number or run of blanks. The parser holds the one it is in several times over.
std::size_t longest_token(const char* begin, const char* end) {
  std::ptrdiff_t longest = 0;
  const char* start = begin;
  bool inside = false;
  for (const char* c = begin; c != end; ++c) {
    if (inside && *c == '\\' && c + 1 != end) {
      ++c;
    } else if (*c == '"' || (!inside && std::strchr("{}[],:", *c))) {
      longest = std::max(longest, c - start);
      start = c;
      inside = inside != (*c == '"');
    }
  }
  return static_cast<std::size_t>(std::max(longest, end - start));
}

}  // namespace

void parse_header(const std::string& text, std::uint64_t data_bytes, const std::string& who, const std::string& where,
                  std::vector<Entry>& entries, Metadata& metadata) {
  // What the header names may take as much memory as the file, and 16 MiB (some 30,000 names) in any case.
  const std::uint64_t file_bytes = text.size() + data_bytes, mebibyte = std::uint64_t{1} << 20;
  Handler handler(file_bytes + 16 * mebibyte, who, where);
  if (text.empty() || text[0] != '{') handler.refuse("the header must start with \"{\"");
  const std::size_t last = text.find_last_not_of(' ');
  if (text[last] != '}') handler.refuse("the header must end with \"}\" and spaces");
  const char* const begin = text.data();
  const char* const end = begin + last + 1;
  const std::size_t longest = longest_token(begin, end);
  if (longest > file_bytes / 8 + mebibyte)
    handler.refuse("its header has a string of ", longest, " bytes; at most an eighth of the file and 1 MiB are read");
  Json::sax_parse(begin, end, &handler);

  // All or nothing: what is handed out was checked to the end.
  std::sort(handler.entries.begin(), handler.entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t filled = 0;
  for (const Entry& entry : handler.entries) {
    if (entry.begin != filled)
      handler.refuse("tensor ", shown(entry.name), " begins at byte ", entry.begin, " of the data but ",
                     entry.begin > filled ? "the one before it ends at " : "it is taken up to ", filled);
    filled = entry.end;
  }
  if (filled > data_bytes)
    handler.refuse("it is cut short: the tensors need ", filled, " bytes but ", data_bytes, " follow the header");
  if (filled < data_bytes) handler.refuse(data_bytes - filled, " bytes at its end belong to no tensor");
  entries = std::move(handler.entries);
  metadata = std::move(handler.metadata);
}

std::string write_header(const std::vector<NamedArray>& tensors, const Metadata& metadata) {
  std::set<std::string> names;
  const auto quoted = [](const std::string& text) {
    try {
      return Json(text).dump();
    } catch (const Json::type_error&) {
      fail<std::invalid_argument>("save_safetensors", "names and metadata must be UTF-8 but one is not: ", shown(text));
    }
  };
  std::string text = "{";
  if (!metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) text += quoted(key) + ':' + quoted(value) + ',';
    text.back() = '}';
    text += ',';
  }
  std::uint64_t offset = 0;
  for (const NamedArray& tensor : tensors) {
    if (tensor.name == "__metadata__")
      fail<std::invalid_argument>("save_safetensors", "no tensor may be named \"__metadata__\"; the format keeps it");
    if (!names.insert(tensor.name).second)
      fail<std::invalid_argument>("save_safetensors", "two tensors are named ", shown(tensor.name),
                                  "; give each a name of its own");
    text += quoted(tensor.name) + ":{\"dtype\":\"" + to_string(tensor.type) + "\",\"shape\":[";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) text += (i ? "," : "") + std::to_string(tensor.shape[i]);
    text += "],\"data_offsets\":[" + std::to_string(offset) + ',' + std::to_string(offset + tensor.bytes()) + "]},";
    offset += tensor.bytes();
  }
  if (text.size() > 1) text.pop_back();
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > longest_header)
    fail<std::invalid_argument>("save_safetensors", "names and metadata take ", text.size(),
                                " bytes but the format allows ", longest_header, "; save in several files");
  return text;
}

}  // namespace xgrad::detail
