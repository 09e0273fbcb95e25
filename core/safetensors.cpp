#include "safetensors.hpp"

#include <algorithm>

#include "safetensors_header_inline.hpp"

namespace xgrad {

SafetensorsFile::SafetensorsFile(const std::string& path, const std::string& who) : file_(who, path) {
  const auto refuse = [&](const auto&... what) { fail<FileError>(who, path, " is no safetensors file: ", what...); };
  if (file_.size() < 8) refuse("it has ", file_.size(), " bytes but needs 8 for the length of its header");
  unsigned char bytes[8];
  file_.read(bytes, 8);
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | bytes[i];
  if (length > detail::longest_header)
    refuse("its header has a length of ", length, " but at most ", detail::longest_header, " is allowed");
  if (length > file_.remaining())
    refuse("it is cut short: the header needs ", length, " bytes but ", file_.remaining(), " follow");
  std::string text(static_cast<std::size_t>(length), ' ');
  file_.read(text.data(), text.size());
  data_start_ = 8 + length;
  detail::parse_header(text, file_.remaining(), who, path, entries_, metadata_);
}

const SafetensorsFile::Entry* SafetensorsFile::find(const std::string& name) const {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
  return entry == entries_.end() ? nullptr : &*entry;
}

template <class T>
Array<T> SafetensorsFile::get(const std::string& name) {
  const Entry* entry = find(name);
  if (!entry) fail<FileError>(file_.who(), file_.path(), " has no tensor named \"", name, "\"; see entries()");
  return get<T>(*entry);
}

template <class T>
Array<T> SafetensorsFile::get(const Entry& entry) {
  Array<T> result = empty<T>(entry.shape);
  file_.seek(data_start_ + entry.begin);
  detail::read_numbers(file_, entry.type, false, result.size(), result.data(), file_.who(),
                       file_.path() + ": \"" + entry.name + '"');
  return result;
}

template <class T>
std::vector<std::pair<std::string, Array<T>>> load_safetensors(const std::string& path) {
  SafetensorsFile file(path);
  std::vector<std::pair<std::string, Array<T>>> result;
  for (const auto& entry : file.entries()) result.emplace_back(entry.name, file.get<T>(entry));
  return result;
}

void save_safetensors(const std::string& path, const std::vector<NamedArray>& tensors, const Metadata& metadata) {
  // Widest first, so that each tensor starts at a multiple of its item size, as readers that map the file like it.
  std::vector<NamedArray> ordered = tensors;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const NamedArray& a, const NamedArray& b) { return size_of(a.type) > size_of(b.type); });
  const std::string header = detail::write_header(ordered, metadata);
  unsigned char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(std::uint64_t{header.size()} >> (8 * i));
  OutputFile file("save_safetensors", path);
  file.write(length, 8);
  file.write(header.data(), header.size());
  for (const NamedArray& tensor : ordered) file.write(tensor.data, tensor.bytes());
  file.commit();
}

#define XGRAD_INSTANTIATE(T)                                  \
  template Array<T> SafetensorsFile::get(const std::string&); \
  template Array<T> SafetensorsFile::get(const Entry&);       \
  template std::vector<std::pair<std::string, Array<T>>> load_safetensors(const std::string&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
XGRAD_INSTANTIATE(std::int64_t)

}  // namespace xgrad
