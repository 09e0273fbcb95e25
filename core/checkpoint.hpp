// Models and states in safetensors files.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "module.hpp"
#include "safetensors.hpp"

namespace xgrad {

/// Saves parameters and buffers of a module under their dotted names, which for our layers are PyTorch's, as F32 or F64
/// tensors; generators go into the file's metadata, where other tools pass them over. The file is replaced as a whole
/// or not at all. Throws FileError when it cannot be written.
template <class T>
void save(const std::string& path, Module<T>& module);

/// Options of `load`.
struct LoadOptions {
  bool strict = true;  ///< Off: names that only the file or only the module has are passed over, and reported.
  std::string prefix;  ///< Takes only names that start with this, and takes it off.
  /// From a tensor's name in the file (without prefix) to its name in the module; an empty result leaves it out.
  std::function<std::string(const std::string&)> rename = nullptr;
};

/// What stood on one side only; both empty after a strict load.
struct LoadReport {
  std::vector<std::string> missing;  ///< names of the module that the file did not have
  std::vector<std::string> unknown;  ///< names of the file, after prefix and rename, that the module did not have
};

/// Loads what `save`, PyTorch or another tool has written. F16, BF16, F32 and F64 are converted to T. Generators are
/// set when the file has any under the prefix; a file from elsewhere has none and leaves them as they are.
///
/// Throws FileError, before anything changes, for a malformed file and, all in one message, for every missing or
/// unknown name, other shape (also when not strict) and type that is no real number.
template <class T>
LoadReport load(const std::string& path, Module<T>& module, const LoadOptions& options = {});

/// Saves any state, such as one that holds model, optimizer and generators (see State). Arrays become tensors;
/// generators and numbers go into the metadata, exactly. Throws as save_safetensors.
template <class T>
void save_state(const std::string& path, const State<T>& state);

/// Reads a file as a state; tensors of all types are converted to T. Throws FileError for a malformed file.
template <class T>
State<T> read_state(const std::string& path);

}  // namespace xgrad
