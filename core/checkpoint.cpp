#include "checkpoint.hpp"

#include <charconv>
#include <map>
#include <set>
#include <string_view>

namespace xgrad {

namespace {

constexpr std::string_view generator_key = "xgrad.generator:", number_key = "xgrad.number:";

template <class N>
std::string to_text(N number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

/// Takes a number off the front of a text; false when there is none.
template <class N>
bool take(std::string_view& text, N& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text[0] == ' ') text.remove_prefix(1);
  return true;
}

Metadata to_metadata(const std::vector<std::pair<std::string, Rng::State>>& generators,
                     const std::vector<std::pair<std::string, double>>& numbers) {
  Metadata result{{"format", "pt"}};  // Hugging Face's tools ask for this key
  const auto add = [&](std::string_view kind, const std::string& name, std::string text) {
    if (!result.emplace(std::string(kind) + name, std::move(text)).second)
      fail<std::invalid_argument>("save_state", "two entries are named \"", name, "\"; give each a name of its own");
  };
  for (const auto& [name, s] : generators)
    add(generator_key, name, to_text(s.key) + ' ' + to_text(s.position) + ' ' + to_text(s.splits));
  for (const auto& [name, number] : numbers) add(number_key, name, to_text(number));
  return result;
}

/// The generators and numbers among a file's metadata; other keys are other tools' business.
template <class T>
void from_metadata(const Metadata& metadata, const std::string& path, State<T>& state) {
  for (const auto& [key, value] : metadata) {
    std::string_view text = value;
    bool good = true;
    if (key.compare(0, generator_key.size(), generator_key) == 0) {
      Rng::State s{};
      good = take(text, s.key) && take(text, s.position) && take(text, s.splits) && text.empty();
      state.generators.emplace_back(key.substr(generator_key.size()), s);
    } else if (key.compare(0, number_key.size(), number_key) == 0) {
      double number = 0;
      good = take(text, number) && text.empty();
      state.numbers.emplace_back(key.substr(number_key.size()), number);
    }
    if (!good) fail<FileError>("load", path, ": metadata \"", key, "\" is malformed; was the file edited?");
  }
}

/// The tensors of a file under the names that the module gives them.
std::vector<std::pair<std::string, const SafetensorsFile::Entry*>> renamed(const SafetensorsFile& file,
                                                                           const LoadOptions& options) {
  std::vector<std::pair<std::string, const SafetensorsFile::Entry*>> result;
  for (const auto& entry : file.entries()) {
    if (entry.name.compare(0, options.prefix.size(), options.prefix) != 0) continue;
    std::string name = entry.name.substr(options.prefix.size());
    if (options.rename) name = options.rename(name);
    if (!name.empty()) result.emplace_back(std::move(name), &entry);
  }
  return result;
}

/// What of `a` is not in `b`.
std::vector<std::string> without(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::vector<std::string> result;
  for (const auto& name : a)
    if (!b.count(name)) result.push_back(name);
  return result;
}

std::set<std::string> all_names(const StateNames& names) {
  std::set<std::string> result(names.generators.begin(), names.generators.end());
  for (const auto& entry : names.arrays) result.insert(entry.first);
  return result;
}

}  // namespace

template <class T>
void save(const std::string& path, Module<T>& module) {
  save_state(path, state(module));
}

template <class T>
LoadReport load(const std::string& path, Module<T>& module, const LoadOptions& options) {
  SafetensorsFile file(path, "load");
  const auto tensors = renamed(file, options);
  State<T> loaded;
  from_metadata(file.metadata(), path, loaded);
  loaded = loaded.part(options.prefix);
  loaded.numbers.clear();

  StateNames wanted = state_names(module), given = names_of(loaded);
  if (given.generators.empty()) wanted.generators.clear();
  for (const auto& [name, entry] : tensors) given.arrays.emplace_back(name, entry->shape);
  std::string complaints = differences(given, wanted, options.strict);
  const std::map<std::string, Shape> shapes(wanted.arrays.begin(), wanted.arrays.end());
  for (const auto& [name, entry] : tensors)
    if (shapes.count(name) && !is_floating(entry->type))
      complaints += "\n  type of " + name + ": must be F16, BF16, F32 or F64 but is " + to_string(entry->type);
  if (!complaints.empty())
    fail<FileError>("load", path,
                    " must have the names and shapes of the module; see LoadOptions for names:", complaints);

  for (const auto& [name, entry] : tensors)
    if (shapes.count(name)) loaded.arrays.emplace_back(name, file.get<T>(*entry));
  load_state(module, loaded, false);
  const auto have = all_names(given), want = all_names(wanted);
  return {without(want, have), without(have, want)};
}

template <class T>
void save_state(const std::string& path, const State<T>& state) {
  std::vector<NamedArray> tensors;
  for (const auto& [name, array] : state.arrays) tensors.emplace_back(name, array);
  save_safetensors(path, tensors, to_metadata(state.generators, state.numbers));
}

template <class T>
State<T> read_state(const std::string& path) {
  SafetensorsFile file(path, "read_state");
  State<T> result;
  from_metadata(file.metadata(), path, result);
  for (const auto& entry : file.entries()) result.arrays.emplace_back(entry.name, file.get<T>(entry));
  return result;
}

#define XGRAD_INSTANTIATE(T)                                                    \
  template void save(const std::string&, Module<T>&);                           \
  template LoadReport load(const std::string&, Module<T>&, const LoadOptions&); \
  template void save_state(const std::string&, const State<T>&);                \
  template State<T> read_state(const std::string&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
