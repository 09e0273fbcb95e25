// What .npz needs of the zip format: reading stored and deflated members, writing stored ones.
#pragma once

#include <string>
#include <vector>

#include "file.hpp"

namespace xgrad::detail {

/// A member, as the archive's directory describes it.
struct ZipEntry {
  std::string name;
  bool deflated;
  std::uint32_t crc;
  std::uint64_t stored_size, size;  ///< bytes in the archive, and once inflated
  std::uint64_t start;              ///< of its own header
};

/// Reads the directory of an archive. Throws FileError for anything malformed or beyond what .npz uses.
/// Source: PKWARE's APPNOTE 6.3, sections 4.3.7, 4.3.12 and 4.3.16.
std::vector<ZipEntry> read_zip_directory(InputFile& file);

/// The bytes of one member, inflated. One at a time for each file, since it moves the file's position.
class ZipSource final : public ByteSource {
 public:
  ZipSource(InputFile& file, const ZipEntry& entry);
  ~ZipSource() override;
  ZipSource(const ZipSource&) = delete;
  ZipSource& operator=(const ZipSource&) = delete;

  void read(void* to, std::size_t count) override;
  std::uint64_t remaining() const override { return left_; }
  /// Reads all that is left and throws FileError unless the bytes are those that were saved.
  void check();

 private:
  struct Inflater;
  [[noreturn]] void damaged(const char* what) const;

  InputFile& file_;
  const ZipEntry& entry_;
  std::uint64_t left_, stored_left_;
  std::uint32_t crc_ = 0;
  Inflater* inflater_ = nullptr;
};

/// A member to be stored: some bytes, then some more.
struct ZipPart {
  std::string name;
  std::string first;
  const void* second;
  std::uint64_t second_size;
};

/// Writes an archive of stored members. The whole must stay below 4 GiB, each name below 64 KiB.
void write_zip(OutputFile& file, const std::vector<ZipPart>& parts);

}  // namespace xgrad::detail
