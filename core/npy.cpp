#include "npy.hpp"

#include <algorithm>
#include <set>

#include "npy_header_inline.hpp"
#include "zip_inline.hpp"

namespace xgrad {

template <class T>
Array<T> load_npy(const std::string& path) {
  InputFile file("load_npy", path);
  return detail::read_npy<T>(file, "load_npy", path);
}

namespace {

void save_one(const std::string& path, const NamedArray& a) {
  const std::string header = detail::write_npy_header(a);
  OutputFile file("save_npy", path);
  file.write(header.data(), header.size());
  file.write(a.data, a.bytes());
  file.commit();
}

/// "x.npy" is the array "x"; other members are none.
std::string array_name(const std::string& member) {
  const std::string ending = ".npy";
  if (member.size() < ending.size() || member.compare(member.size() - ending.size(), ending.size(), ending) != 0)
    return member;
  return member.substr(0, member.size() - ending.size());
}

}  // namespace

void save_npy(const std::string& path, const Array<float>& a) { save_one(path, {"", a}); }
void save_npy(const std::string& path, const Array<double>& a) { save_one(path, {"", a}); }
void save_npy(const std::string& path, const Index& a) { save_one(path, {"", a}); }

struct NpzFile::Content {
  explicit Content(const std::string& path) : file("NpzFile", path), entries(detail::read_zip_directory(file)) {
    std::set<std::string> seen;
    for (const auto& entry : entries) {
      names.push_back(array_name(entry.name));
      if (!seen.insert(names.back()).second)
        fail<FileError>("NpzFile", path, " is no .npz file that can be read: two arrays are named \"", names.back(),
                        '"');
    }
  }

  InputFile file;
  std::vector<detail::ZipEntry> entries;
  std::vector<std::string> names;
};

NpzFile::NpzFile(const std::string& path) : content_(std::make_unique<Content>(path)) {}
NpzFile::~NpzFile() = default;
NpzFile::NpzFile(NpzFile&&) noexcept = default;
NpzFile& NpzFile::operator=(NpzFile&&) noexcept = default;

const std::vector<std::string>& NpzFile::names() const noexcept { return content_->names; }

template <class T>
Array<T> NpzFile::get(const std::string& name) {
  Content& c = *content_;
  const auto found = std::find(c.names.begin(), c.names.end(), name);
  if (found == c.names.end()) fail<FileError>("NpzFile", c.file.path(), " has no array \"", name, "\"; see names()");
  const detail::ZipEntry& entry = c.entries[static_cast<std::size_t>(found - c.names.begin())];
  // Once to check, once to keep: a false size in a damaged archive takes no memory.
  detail::ZipSource(c.file, entry).check();
  detail::ZipSource source(c.file, entry);
  return detail::read_npy<T>(source, "NpzFile", c.file.path() + ": \"" + name + '"');
}

void save_npz(const std::string& path, const std::vector<NamedArray>& arrays) {
  std::vector<detail::ZipPart> parts;
  std::set<std::string> names;
  std::uint64_t total = 0;
  for (const NamedArray& a : arrays) {
    if (!names.insert(a.name).second)
      fail<std::invalid_argument>("save_npz", "two arrays are named \"", a.name, "\"; give each a name of its own");
    if (a.name.size() > 65'000)
      fail<std::invalid_argument>("save_npz", "a name may have 65000 bytes but one has ", a.name.size());
    parts.push_back({a.name + ".npy", detail::write_npy_header(a), a.data, a.bytes()});
    total += parts.back().first.size() + parts.back().second_size + 2 * a.name.size() + 100;
  }
  if (total >= 0xffffffff || parts.size() >= 0xffff)
    fail<std::invalid_argument>("save_npz", "a .npz file may have 65534 arrays and 4 GiB but these are ", parts.size(),
                                " arrays and ", total, " bytes; use save_safetensors");
  OutputFile file("save_npz", path);
  detail::write_zip(file, parts);
  file.commit();
}

#define XGRAD_INSTANTIATE(T)                           \
  template Array<T> load_npy(const std::string& path); \
  template Array<T> NpzFile::get(const std::string&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
XGRAD_INSTANTIATE(std::int64_t)

}  // namespace xgrad
