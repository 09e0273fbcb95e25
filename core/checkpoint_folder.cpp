#include "checkpoint_folder.hpp"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "checkpoint.hpp"
#include "file.hpp"

namespace xgrad {

namespace {

constexpr const char* checksum_name = "CheckpointFolder.checksum";
constexpr std::string_view file_start = "checkpoint_", file_end = ".safetensors";

/// CRC-32 of a name and the bytes that belong to it.
std::uint64_t crc(const std::string& name, const void* data, std::size_t size) {
  const uLong of_name = crc32_z(0, reinterpret_cast<const Bytef*>(name.c_str()), name.size() + 1);
  return size == 0 ? of_name : crc32_z(of_name, static_cast<const Bytef*>(data), size);  // null would start it anew
}

/// A sum, since a file gives its entries back in another order; below 2^53 for up to two million entries.
template <class T>
double checksum(const State<T>& state) {
  std::uint64_t sum = 0;
  for (const auto& [name, array] : state.arrays) {
    const auto shape = to_string(Shape(array.shape()));
    sum += crc(name + ' ' + shape, array.data(), array.size() * sizeof(T));
  }
  for (const auto& [name, s] : state.generators) {
    const std::uint64_t words[] = {s.key, s.position, s.splits};
    sum += crc(name, words, sizeof words);
  }
  for (const auto& [name, number] : state.numbers)
    if (name != checksum_name) sum += crc(name, &number, sizeof number);
  return static_cast<double>(sum);
}

/// The step in "checkpoint_STEP.safetensors", or nothing for another name.
std::optional<std::uint64_t> step_in(std::string_view name) {
  if (name.size() <= file_start.size() + file_end.size() || name.substr(0, file_start.size()) != file_start ||
      name.substr(name.size() - file_end.size()) != file_end)
    return std::nullopt;
  name = name.substr(file_start.size(), name.size() - file_start.size() - file_end.size());
  std::uint64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return step;
}

}  // namespace

template <class T>
CheckpointFolder<T>::CheckpointFolder(std::string path, std::size_t keep) : path_(std::move(path)), keep_(keep) {
  if (keep_ == 0) fail<std::invalid_argument>("CheckpointFolder", "must keep at least 1 checkpoint but keep is 0");
  check_path("CheckpointFolder", path_, "a folder");
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (!std::filesystem::is_directory(path_))
    fail<FileError>("CheckpointFolder", "cannot make the folder ", path_, error ? ": " + error.message() : "");
}

template <class T>
std::string CheckpointFolder<T>::file(std::uint64_t step) const {
  std::string digits = std::to_string(step);
  if (digits.size() < 9) digits.insert(0, 9 - digits.size(), '0');  // so that they sort by name
  return path_ + '/' + std::string(file_start) + digits + std::string(file_end);
}

template <class T>
std::vector<std::uint64_t> CheckpointFolder<T>::steps() const {
  std::vector<std::uint64_t> result;
  std::error_code error;
  std::filesystem::directory_iterator entries(path_, error);
  if (error) fail<FileError>("CheckpointFolder", "cannot read the folder ", path_, ": ", error.message());
  for (const auto& entry : entries)
    if (const auto step = step_in(entry.path().filename().string()); step && entry.path() == file(*step))
      result.push_back(*step);
  std::sort(result.begin(), result.end());
  return result;
}

template <class T>
void CheckpointFolder<T>::save(std::uint64_t step, State<T> state) {
  state.numbers.emplace_back(checksum_name, checksum(state));
  save_state(file(step), state);
  // One of a later step is a damaged one that this run has come round: it must not take the place of a good one.
  std::vector<std::uint64_t> old = steps();
  old.erase(std::upper_bound(old.begin(), old.end(), step), old.end());
  std::error_code ignored;  // what cannot be removed stays
  for (std::size_t i = 0; i + keep_ < old.size(); ++i) std::filesystem::remove(file(old[i]), ignored);
}

template <class T>
State<T> CheckpointFolder<T>::read(std::uint64_t step) const {
  State<T> state = read_state<T>(file(step));
  const auto is_checksum = [](const auto& entry) { return entry.first == checksum_name; };
  const auto found = std::find_if(state.numbers.begin(), state.numbers.end(), is_checksum);
  if (found == state.numbers.end() || found->second != checksum(state))
    fail<FileError>("CheckpointFolder", file(step), " does not hold what was written: the checksum differs");
  state.numbers.erase(found);
  return state;
}

template <class T>
std::optional<typename CheckpointFolder<T>::Found> CheckpointFolder<T>::newest() const {
  std::vector<std::uint64_t> left = steps();
  std::vector<std::string> damaged;
  for (; !left.empty(); left.pop_back()) {
    try {
      return Found{left.back(), read(left.back()), std::move(damaged)};
    } catch (const FileError& error) {
      damaged.emplace_back(error.what());
    }
  }
  if (damaged.empty()) return std::nullopt;
  std::string lines;
  for (const std::string& line : damaged) lines += "\n  " + line;
  fail<FileError>("CheckpointFolder", "no checkpoint in ", path_, " can be read; remove them to begin anew:", lines);
}

template class CheckpointFolder<float>;
template class CheckpointFolder<double>;

}  // namespace xgrad
