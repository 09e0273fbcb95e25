#include "file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "check.hpp"

namespace xgrad {

namespace {

// One call moves at most this much: the kernel's own limit lies just above.
constexpr std::size_t most_at_once = std::size_t{1} << 30;

/// Repeats a system call that a signal broke off.
template <class F>
auto uninterrupted(F call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

std::string current_folder() {
  std::error_code none;
  return std::filesystem::current_path(none).string();
}

std::string advice(int error, const std::string& path, bool reading) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      if (!reading) return "; does the folder exist?";
      return path.front() == '/' ? "; check the path" : "; check the path, which begins at " + current_folder();
    case EACCES:
    case EPERM:
    case EROFS:
      return "; check the permissions of file and folder, or choose another path";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "; make room or choose another disk";
    default:
      return "";
  }
}

[[noreturn]] void fail_system(const std::string& who, const char* what, const std::string& path, int error,
                              bool reading = false) {
  fail<FileError>(who, "cannot ", what, " ", path, ": ", std::strerror(error), advice(error, path, reading));
}

/// Where a link leads, though nothing may be there yet, so that the link stays and its target is replaced.
std::string resolved(std::filesystem::path path) {
  std::error_code none;
  for (int links = 0; links < 40 && std::filesystem::is_symlink(path, none); ++links)
    path = path.parent_path() / std::filesystem::read_symlink(path, none);
  return path.string();
}

/// Makes a rename in the folder of this path last through a power cut; returns 0 or an error number.
int sync_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder may be writable but not readable, and some file systems do not sync folders: then nothing more can be
  // done.
  if (descriptor < 0) return errno == EACCES ? 0 : errno;
  const int error = uninterrupted([&] { return ::fsync(descriptor); }) == 0 || errno == EINVAL ? 0 : errno;
  ::close(descriptor);
  return error;
}

}  // namespace

void check_path(const std::string& who, const std::string& path, const char* what) {
  if (path.empty()) fail<FileError>(who, "needs the path of ", what, " but it is empty");
}

InputFile::InputFile(std::string who, std::string path) : who_(std::move(who)), path_(std::move(path)) {
  check_path(who_, path_);
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  descriptor_ = uninterrupted([&] { return ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  if (descriptor_ < 0) fail_system(who_, "open", path_, errno, true);
  struct stat status;
  const int error = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (error != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    if (error != 0) fail_system(who_, "read", path_, error);
    fail<FileError>(who_, "cannot read ", path_, ": it is ",
                    S_ISDIR(status.st_mode) ? "a folder" : "not a regular file", "; give the path of a file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read(void* to, std::size_t count) {
  if (count > remaining())
    fail<FileError>(who_, path_, " is cut short: byte ", position_ + count, " is needed but the file has ", size_,
                    "; copy or save it again");
  char* next = static_cast<char*>(to);
  while (count > 0) {
    const auto got = uninterrupted([&] { return ::read(descriptor_, next, std::min(count, most_at_once)); });
    if (got < 0) fail_system(who_, "read", path_, errno);
    if (got == 0) fail<FileError>(who_, path_, " became shorter while it was read; is another program writing it?");
    next += got;
    position_ += static_cast<std::uint64_t>(got);
    count -= static_cast<std::size_t>(got);
  }
}

void InputFile::seek(std::uint64_t position) {
  if (position > size_)
    fail<FileError>(who_, path_, " is cut short: byte ", position, " is needed but the file has ", size_,
                    "; copy or save it again");
  if (::lseek(descriptor_, static_cast<off_t>(position), SEEK_SET) < 0) fail_system(who_, "read", path_, errno);
  position_ = position;
}

OutputFile::OutputFile(std::string who, const std::string& path)
    : who_(std::move(who)), path_(resolved(path)), temporary_(path_ + ".tmp") {
  check_path(who_, path);
  struct stat old;
  const bool replaces = ::stat(path_.c_str(), &old) == 0;
  if (replaces && !S_ISREG(old.st_mode))
    fail<FileError>(who_, "cannot write ", path_, ": it is ", S_ISDIR(old.st_mode) ? "a folder" : "not a regular file",
                    "; give the path of a file");
  // A rename would replace a write-protected file just as well.
  if (replaces && ::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) fail_system(who_, "write", path_, errno);
  for (;;) {
    descriptor_ = uninterrupted(
        [&] { return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666); });
    if (descriptor_ < 0) fail_system(who_, "write", temporary_, errno);
    // The lock ends with the process, however that ends, so a left-over file never locks anyone out.
    if (uninterrupted([&] { return ::flock(descriptor_, LOCK_EX); }) != 0) give_up(errno);
    struct stat opened, named;
    if (::fstat(descriptor_, &opened) != 0) give_up(errno);
    if (!S_ISREG(opened.st_mode)) {
      ::close(std::exchange(descriptor_, -1));
      fail<FileError>(who_, "cannot write ", temporary_, ": it is not a regular file; remove it");
    }
    if (::stat(temporary_.c_str(), &named) == 0 && named.st_ino == opened.st_ino && named.st_dev == opened.st_dev)
      break;
    ::close(descriptor_);  // who held the lock before has renamed or removed this file
  }
  if (::ftruncate(descriptor_, 0) != 0) give_up(errno);
  if (replaces && ::fchmod(descriptor_, old.st_mode & 07777) != 0) give_up(errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::unlink(temporary_.c_str());
  ::close(descriptor_);
}

void OutputFile::give_up(int error) {
  ::unlink(temporary_.c_str());
  ::close(std::exchange(descriptor_, -1));
  fail_system(who_, "write", path_, error);
}

void OutputFile::write(const void* from, std::size_t count) {
  const char* next = static_cast<const char*>(from);
  while (count > 0) {
    const auto done = uninterrupted([&] { return ::write(descriptor_, next, std::min(count, most_at_once)); });
    if (done < 0) give_up(errno);
    next += done;
    count -= static_cast<std::size_t>(done);
  }
}

void OutputFile::commit() {
  if (uninterrupted([&] { return ::fsync(descriptor_); }) != 0) give_up(errno);
  // Renamed while it is still locked: a writer that waits must not meet a file that looks like its own.
  // So a second descriptor is closed first, since some file systems report a failed write only there.
  const int copy = ::dup(descriptor_);
  if (copy < 0 || ::close(copy) != 0) give_up(errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) give_up(errno);
  const int close_error = ::close(std::exchange(descriptor_, -1)) == 0 ? 0 : errno;
  const int sync_error = sync_folder(path_);
  if (close_error != 0 || sync_error != 0)
    fail<FileError>(who_, path_, " is written, but may not outlast a power cut: ",
                    std::strerror(close_error != 0 ? close_error : sync_error));
}

}  // namespace xgrad
