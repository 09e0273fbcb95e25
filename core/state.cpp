#include "state.hpp"

#include <cmath>
#include <map>
#include <set>

namespace xgrad {

namespace {

template <class Entries>
const auto& find(const Entries& entries, const char* kind, const std::string& name) {
  for (const auto& entry : entries)
    if (entry.first == name) return entry.second;
  fail<std::invalid_argument>("State", "has no ", kind, " named \"", name, "\"");
}

template <class Entries>
void append_entries(Entries& to, const std::string& prefix, Entries& from) {
  for (auto& entry : from) to.emplace_back(prefix + entry.first, std::move(entry.second));
}

template <class Entries>
Entries part_of(const Entries& entries, const std::string& prefix) {
  Entries result;
  for (const auto& [name, value] : entries)
    if (name.compare(0, prefix.size(), prefix) == 0) result.emplace_back(name.substr(prefix.size()), value);
  return result;
}

void compare_names(const std::vector<std::string>& given, const std::vector<std::string>& wanted, bool strict,
                   std::string& result) {
  const std::set<std::string> want(wanted.begin(), wanted.end());
  std::set<std::string> have;
  for (const auto& name : given)
    if (!have.insert(name).second) result += "\n  twice: " + name;
  if (!strict) return;
  for (const auto& name : want)
    if (!have.count(name)) result += "\n  missing: " + name;
  for (const auto& name : have)
    if (!want.count(name)) result += "\n  unknown: " + name;
}

template <class Entries>
std::vector<std::string> names(const Entries& entries) {
  std::vector<std::string> result;
  for (const auto& entry : entries) result.push_back(entry.first);
  return result;
}

}  // namespace

template <class T>
void State<T>::append(const std::string& prefix, State other) {
  append_entries(arrays, prefix, other.arrays);
  append_entries(generators, prefix, other.generators);
  append_entries(numbers, prefix, other.numbers);
}

template <class T>
State<T> State<T>::part(const std::string& prefix) const {
  return {part_of(arrays, prefix), part_of(generators, prefix), part_of(numbers, prefix)};
}

template <class T>
const Array<T>& State<T>::array(const std::string& name) const {
  return find(arrays, "array", name);
}

template <class T>
const Rng::State& State<T>::generator(const std::string& name) const {
  return find(generators, "generator", name);
}

template <class T>
double State<T>::number(const std::string& name) const {
  return find(numbers, "number", name);
}

template <class T>
StateNames names_of(const State<T>& state) {
  StateNames result;
  for (const auto& [name, array] : state.arrays) result.arrays.emplace_back(name, array.shape());
  result.generators = names(state.generators);
  result.numbers = names(state.numbers);
  return result;
}

bool is_count(double number) noexcept { return number >= 0 && number <= 0x1p53 && std::floor(number) == number; }

std::string differences(const StateNames& given, const StateNames& wanted, bool strict) {
  std::string result;
  compare_names(names(given.arrays), names(wanted.arrays), strict, result);
  compare_names(given.generators, wanted.generators, strict, result);
  compare_names(given.numbers, wanted.numbers, strict, result);
  const std::map<std::string, Shape> shapes(wanted.arrays.begin(), wanted.arrays.end());
  for (const auto& [name, shape] : given.arrays) {
    const auto want = shapes.find(name);
    if (want != shapes.end() && want->second != shape)
      result += "\n  shape of " + name + ": must be " + to_string(want->second) + " but is " + to_string(shape);
  }
  return result;
}

#define XGRAD_INSTANTIATE(T) \
  template struct State<T>;  \
  template StateNames names_of(const State<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
