// What tests of files share: a folder that goes away, bytes in and out, and a measure of memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sanitizer.hpp"

/// A folder of its own for each test, removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "xgrad_XXXXXX";
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot make a temporary folder");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string str() const { return path_.string(); }
  /// Names of the files in it, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) result.push_back(entry.path().filename());
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Files of a corpus folder whose name starts and ends so, sorted.
inline std::vector<std::string> corpus(const std::string& folder, const std::string& start, const std::string& end) {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(XGRAD_SOURCE_DIR "/tests/corpus/" + folder)) {
    const std::string name = entry.path().filename();
    if (name.rfind(start, 0) == 0 && name.size() > end.size() && name.substr(name.size() - end.size()) == end)
      result.push_back(entry.path());
  }
  std::sort(result.begin(), result.end());
  return result;
}

inline bool memory_is_measurable() { return !under_sanitizer(); }

/// By how many bytes the process grew at most while f ran: the peak of its resident set, which Linux resets on request.
template <class F>
std::size_t peak_growth(F f) {
  const auto field = [](const std::string& name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.rfind(name, 0) == 0) return std::stoul(line.substr(name.size())) * 1024;
    throw std::runtime_error("no " + name + " in /proc/self/status");
  };
  std::ofstream("/proc/self/clear_refs") << 5;
  const std::size_t before = field("VmRSS:");
  f();
  const std::size_t peak = field("VmHWM:");
  return peak > before ? peak - before : 0;
}
