// Reading and writing of whole files: a crash while writing leaves the old file, and no reading passes the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace xgrad {

/// Throws FileError, as from `who`, when a path is empty; `what` it must name.
void check_path(const std::string& who, const std::string& path, const char* what = "a file");

/// Bytes that are read in order, each once.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// The next `count` bytes; throws FileError when fewer are left.
  virtual void read(void* to, std::size_t count) = 0;
  /// How many bytes are left.
  virtual std::uint64_t remaining() const = 0;
};

/// A file open for reading. `who` opens each error message: "[who] cannot read path: reason; what to do".
class InputFile final : public ByteSource {
 public:
  /// Throws FileError when the path does not name a regular file that may be read.
  InputFile(std::string who, std::string path);
  ~InputFile() override;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  void read(void* to, std::size_t count) override;
  std::uint64_t remaining() const override { return size_ - position_; }
  /// The size at opening.
  std::uint64_t size() const noexcept { return size_; }
  /// Goes to a byte counted from the start; throws FileError past the end.
  void seek(std::uint64_t position);

  /// What opens messages.
  const std::string& who() const noexcept { return who_; }
  /// The path as it was given.
  const std::string& path() const noexcept { return path_; }

 private:
  std::string who_, path_;
  int descriptor_;
  std::uint64_t size_ = 0, position_ = 0;
};

/// A file that is replaced as a whole: after a crash or a full disk at any moment, the path holds either what it held
/// before or all that was written.
///
///     OutputFile file("save", path);
///     file.write(data, bytes);
///     file.commit();
///
/// Writes go to "path.tmp" in the same folder, which `commit` flushes to the disk and renames. Without `commit`, as
/// when an exception passes, the temporary file is removed; one that a killed process left is overwritten by the next
/// writer. Writers of one path wait for each other. A link is followed, the permissions of an old file are kept. Every
/// function throws FileError, naming path and reason.
class OutputFile {
 public:
  /// Opens "path.tmp"; waits while another writer has it.
  OutputFile(std::string who, const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Appends `count` bytes.
  void write(const void* from, std::size_t count);
  /// Puts the file in its place; nothing may be written afterwards.
  void commit();

 private:
  [[noreturn]] void give_up(int error);

  std::string who_, path_, temporary_;
  int descriptor_ = -1;
};

}  // namespace xgrad
