#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "check.hpp"
#include "zip_inline.hpp"

namespace xgrad::detail {

namespace {

constexpr std::size_t member_header = 30, directory_header = 46, end_header = 22;
constexpr std::uint32_t member_mark = 0x04034b50, directory_mark = 0x02014b50, end_mark = 0x06054b50;
constexpr std::uint32_t in_zip64 = 0xffffffff;  // "see the zip64 extension", which files under 4 GiB do not use

std::uint32_t number(const unsigned char* bytes, std::size_t size) {
  std::uint32_t result = 0;
  for (std::size_t i = size; i-- > 0;) result = result << 8 | bytes[i];
  return result;
}

void put(std::string& to, std::size_t size, std::uint64_t value) {
  for (std::size_t i = 0; i < size; ++i) to += static_cast<char>(value >> (8 * i) & 255);
}

std::uint32_t extend_crc(std::uint32_t crc, const void* bytes, std::uint64_t size) {
  const unsigned char* next = static_cast<const unsigned char*>(bytes);
  while (size > 0) {
    const auto n = static_cast<uInt>(std::min<std::uint64_t>(size, std::uint64_t{1} << 30));
    crc = static_cast<std::uint32_t>(crc32(crc, next, n));
    next += n;
    size -= n;
  }
  return crc;
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(InputFile& file) {
  const auto refuse = [&](const auto&... what) {
    fail<FileError>(file.who(), file.path(), " is no .npz file that can be read: ", what...);
  };
  // The end record is the last thing in the file; a comment of up to 64 KiB may stand in it.
  if (file.size() < end_header) refuse("it has only ", file.size(), " bytes");
  std::vector<unsigned char> tail(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), end_header + 65535)));
  file.seek(file.size() - tail.size());
  file.read(tail.data(), tail.size());
  std::size_t at = tail.size() - end_header + 1;
  do {
    if (at == 0) refuse("it is cut short, or no zip archive: the directory at its end is missing");
    --at;
  } while (number(&tail[at], 4) != end_mark || at + end_header + number(&tail[at + 20], 2) != tail.size());
  const unsigned char* end = &tail[at];
  const std::uint64_t end_start = file.size() - tail.size() + at;
  const std::uint32_t count = number(end + 10, 2), size = number(end + 12, 4), start = number(end + 16, 4);
  if (number(end + 4, 2) != 0 || number(end + 6, 2) != 0 || number(end + 8, 2) != count)
    refuse("it is spread over several disks");
  if (count == 0xffff || size == in_zip64 || start == in_zip64)
    refuse("it has 4 GiB or more; save its arrays one by one with numpy.save");
  if (std::uint64_t{start} + size != end_start) refuse("its directory is not where it should be");

  std::vector<unsigned char> directory(size);
  file.seek(start);
  file.read(directory.data(), size);
  std::vector<ZipEntry> entries;
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (size - next < directory_header) refuse("its directory is cut short");
    const unsigned char* header = &directory[next];
    const std::size_t name_size = number(header + 28, 2);
    const std::size_t entry_size = directory_header + name_size + number(header + 30, 2) + number(header + 32, 2);
    if (number(header, 4) != directory_mark || size - next < entry_size) refuse("its directory is malformed");
    const std::uint32_t flags = number(header + 8, 2), method = number(header + 10, 2);
    ZipEntry entry{std::string(header + directory_header, header + directory_header + name_size),
                   method == 8,
                   number(header + 16, 4),
                   number(header + 20, 4),
                   number(header + 24, 4),
                   number(header + 42, 4)};
    if (flags & 1) refuse("a member is encrypted");
    if (method != 0 && method != 8) refuse("a member is compressed by method ", method, "; 0 and 8 are known");
    if (entry.stored_size == in_zip64 || entry.size == in_zip64 || entry.start == in_zip64)
      refuse("a member has 4 GiB or more; save it alone with numpy.save");
    if (!entry.deflated && entry.stored_size != entry.size) refuse("a member has two sizes");
    if (entry.start + member_header + name_size + entry.stored_size > start)
      refuse("a member reaches past the directory");
    entries.push_back(std::move(entry));
    next += entry_size;
  }
  if (next != size) refuse("its directory has more entries than it says");
  return entries;
}

struct ZipSource::Inflater {
  z_stream stream{};
  unsigned char input[1 << 14];
};

ZipSource::ZipSource(InputFile& file, const ZipEntry& entry)
    : file_(file), entry_(entry), left_(entry.size), stored_left_(entry.stored_size) {
  unsigned char header[member_header];
  file.seek(entry.start);
  file.read(header, member_header);
  if (number(header, 4) != member_mark) damaged("its header is not where the directory says");
  // The extra field may differ from the directory's, so its size is read here.
  file.seek(entry.start + member_header + number(header + 26, 2) + number(header + 28, 2));
  if (file.remaining() < stored_left_) damaged("it is cut short");
  if (entry.deflated) {
    auto inflater = std::make_unique<Inflater>();
    if (inflateInit2(&inflater->stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    inflater_ = inflater.release();
  }
}

ZipSource::~ZipSource() {
  if (!inflater_) return;
  inflateEnd(&inflater_->stream);
  delete inflater_;
}

void ZipSource::damaged(const char* what) const {
  fail<FileError>(file_.who(), file_.path(), ": \"", entry_.name, "\" is damaged: ", what, "; copy or save it again");
}

void ZipSource::read(void* to, std::size_t count) {
  if (count > left_) damaged("it ends too early");
  left_ -= count;
  if (!inflater_) {
    file_.read(to, count);
    crc_ = extend_crc(crc_, to, count);
    return;
  }
  unsigned char* next = static_cast<unsigned char*>(to);
  z_stream& stream = inflater_->stream;
  while (count > 0) {
    if (stream.avail_in == 0 && stored_left_ > 0) {
      const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(stored_left_, sizeof inflater_->input));
      file_.read(inflater_->input, n);
      stored_left_ -= n;
      stream.next_in = inflater_->input;
      stream.avail_in = static_cast<uInt>(n);
    }
    const auto wanted = static_cast<uInt>(std::min<std::size_t>(count, std::size_t{1} << 30));
    stream.next_out = next;
    stream.avail_out = wanted;
    const int status = inflate(&stream, Z_NO_FLUSH);
    const uInt got = wanted - stream.avail_out;
    crc_ = extend_crc(crc_, next, got);
    next += got;
    count -= got;
    if (status == Z_STREAM_END ? count > 0 : status != Z_OK) damaged("its bytes do not inflate to its size");
  }
}

void ZipSource::check() {
  std::vector<unsigned char> block(1 << 16);
  while (left_ > 0) read(block.data(), static_cast<std::size_t>(std::min<std::uint64_t>(left_, block.size())));
  if (crc_ != entry_.crc) damaged("its checksum is wrong");
}

void write_zip(OutputFile& file, const std::vector<ZipPart>& parts) {
  std::string directory;
  std::uint64_t position = 0;
  for (const ZipPart& part : parts) {
    const std::uint32_t crc =
        extend_crc(extend_crc(0, part.first.data(), part.first.size()), part.second, part.second_size);
    const std::uint64_t size = part.first.size() + part.second_size;
    // Version needed 2.0, flag 11 (names are UTF-8), stored, 1 January 1980, so that equal arrays give equal files.
    std::string common;
    for (const unsigned field : {20u, 1u << 11, 0u, 0u, 0x21u}) put(common, 2, field);
    put(common, 4, crc);
    put(common, 4, size);
    put(common, 4, size);
    put(common, 2, part.name.size());
    put(common, 2, 0);  // no extra field

    put(directory, 4, directory_mark);
    put(directory, 2, 20);
    directory += common;
    for (int i = 0; i < 3; ++i) put(directory, 2, 0);  // no comment, first disk, no attributes
    put(directory, 4, 0);
    put(directory, 4, position);
    directory += part.name;

    std::string header;
    put(header, 4, member_mark);
    header += common + part.name + part.first;
    file.write(header.data(), header.size());
    file.write(part.second, part.second_size);
    position += header.size() + part.second_size;
  }
  const std::size_t size = directory.size();
  put(directory, 4, end_mark);
  put(directory, 4, 0);
  put(directory, 2, parts.size());
  put(directory, 2, parts.size());
  put(directory, 4, size);
  put(directory, 4, position);
  put(directory, 2, 0);
  file.write(directory.data(), directory.size());
}

}  // namespace xgrad::detail
