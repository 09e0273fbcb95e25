// CheckpointFolder<T>: the numbered checkpoints of one run, of which the last few are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "state.hpp"

namespace xgrad {

/// Keeps the checkpoints of a run in a folder, one safetensors file each:
///
///     xgrad::CheckpointFolder<T> folder("run");
///     if (const auto found = folder.newest()) { step = found->step; load_state(model, found->state.part("model.")); }
///     for (...) { ...; if (step % 100 == 0) folder.save(step, state); }
///
/// A crash at any moment leaves whole files, and a file that was damaged later is known by its checksum.
template <class T>
class CheckpointFolder {
 public:
  /// Makes the folder when there is none. Keeps the newest `keep` checkpoints. Throws std::invalid_argument for keep =
  /// 0, FileError when the folder cannot be made.
  explicit CheckpointFolder(std::string path, std::size_t keep = 3);

  /// Writes "checkpoint_STEP.safetensors" as a whole or not at all, then removes older ones beyond those kept. Throws
  /// FileError, and std::invalid_argument for two numbers of one name; "CheckpointFolder.checksum" is the folder's own.
  void save(std::uint64_t step, State<T> state);

  /// What `newest` found.
  struct Found {
    std::uint64_t step;                ///< the step given to `save`
    State<T> state;                    ///< the state given to `save`
    std::vector<std::string> damaged;  ///< what was wrong with newer ones, a line each
  };

  /// The newest checkpoint that is whole; nothing when there is no file. Throws FileError, saying what is wrong with
  /// each, when all are damaged: beginning anew should be the user's decision.
  std::optional<Found> newest() const;

  /// The steps of all checkpoint files, ascending.
  std::vector<std::uint64_t> steps() const;

  /// "FOLDER/checkpoint_000000120.safetensors".
  std::string file(std::uint64_t step) const;

 private:
  State<T> read(std::uint64_t step) const;

  std::string path_;
  std::size_t keep_;
};

}  // namespace xgrad
