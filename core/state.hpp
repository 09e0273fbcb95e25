// State<T>: what a model, an optimizer or a whole training run has to remember, by name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "array.hpp"
#include "random.hpp"

namespace xgrad {

/// Arrays, generators and single numbers by dotted name. States nest: a checkpoint is one state that holds others,
/// each under a prefix.
///
///     State<T> all;
///     all.append("model.", state(model));
///     all.append("optimizer.", sgd.state());
///     all.generators.emplace_back("shuffle", rng.state());
///     all.numbers.emplace_back("epoch", epoch);
///     save_state("run.safetensors", all);
///     ...
///     all = read_state<T>("run.safetensors");
///     load_state(model, all.part("model."));
///     sgd.load_state(all.part("optimizer."));
///     rng.set_state(all.generator("shuffle"));
///     epoch = all.number("epoch");
template <class T>
struct State {
  std::vector<std::pair<std::string, Array<T>>> arrays;        ///< Parameters, buffers, an optimizer's averages.
  std::vector<std::pair<std::string, Rng::State>> generators;  ///< Random generators.
  std::vector<std::pair<std::string, double>> numbers;         ///< Counters and rates; integers are exact up to 2^53.

  /// Takes over another state with `prefix` before each name.
  void append(const std::string& prefix, State other);
  /// What stands under `prefix`, which is taken off.
  State part(const std::string& prefix) const;

  /// The entry of this name; throws std::invalid_argument when there is none.
  /// @{
  const Array<T>& array(const std::string& name) const;
  const Rng::State& generator(const std::string& name) const;
  double number(const std::string& name) const;
  /// @}
};

/// True for a whole number from 0 to 2^53, which a double holds exactly: what a counter in a state must be.
bool is_count(double number) noexcept;

/// The names of a state, and the shapes of its arrays.
struct StateNames {
  std::vector<std::pair<std::string, Shape>> arrays;  ///< Each with its shape.
  std::vector<std::string> generators;                ///< Of generators.
  std::vector<std::string> numbers;                   ///< Of single numbers.
};

/// The names in a state, in its order.
template <class T>
StateNames names_of(const State<T>& state);

/// How what is given differs from what is wanted, one indented line each: missing and unknown names (with `strict`),
/// names given twice and shapes that differ. Empty when it fits.
std::string differences(const StateNames& given, const StateNames& wanted, bool strict);

}  // namespace xgrad
