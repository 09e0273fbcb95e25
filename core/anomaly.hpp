// DetectAnomaly: which op made the first NaN or infinity, forward or backward.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "finite.hpp"
#include "record.hpp"

namespace xgrad {

template <class T>
class Module;

/// Options of `DetectAnomaly`.
struct AnomalyOptions {
  /// Lets -inf pass in the values of ops, for masks that are added to scores before a softmax. NaN, +inf, and anything
  /// that is not finite in a gradient are still errors.
  bool allow_negative_infinity = false;
};

/// While one lives, every op on this thread is looked at, and the first whose value or whose derivative holds a NaN or
/// infinity throws AnomalyError:
///
///     { const xgrad::DetectAnomaly guard(model); mse_loss(model(x), y).backward(); }
///
///     [log] backward: the gradient of input 0 must be finite but that of shape (4, 3) is inf at (1, 2), and so are ...
///
/// The message names the op, forward or backward, the first entry that is not finite and how many there are, and shape
/// and range of the op's inputs (in a backward pass: of those that were saved). Given a module it also names the
/// *nearest* parameter: the one fewest ops before this op, the op's own inputs first, and of several as near the one
/// met first when inputs are read from left to right. Parameters with gradients switched off are met only where an op
/// saved them. Of nested guards the innermost's options hold, and the names of all.
///
/// When an input of the op was not finite itself the message says that it came in with that input: the value was there
/// before the guard, or is a leaf, data, or a constant. An op that makes finite numbers of others that are not
/// (`where`, `softmax`) is no anomaly. A gradient is looked at after each op's derivative, so a fused op is named as a
/// whole, in a recorded pass (create_graph) too; values inside a derivative are not looked at. A pass that throws
/// changes no leaf; as with any error in a derivative, the graph it went through is freed unless it was to be retained.
///
/// -inf is an anomaly unless the options allow it: `softmax(x, mask)` needs none, added masks do. (PyTorch's
/// detect_anomaly looks at NaN in backward passes alone.)
///
/// Scopes nest and must end in the opposite order of their beginning, as locals do; other threads go on; costs a read
/// of every value and gradient. Functions on arrays are not looked at. The parameters are those that the module has
/// now; it may move.
class DetectAnomaly {
 public:
  /// Without names of parameters.
  explicit DetectAnomaly(AnomalyOptions options = {});
  /// With the names of a module's parameters. Throws as Module::named_parameters.
  template <class T>
  explicit DetectAnomaly(Module<T>& module, AnomalyOptions options = {}) : DetectAnomaly(options) {
    for (auto& [name, p] : module.named_parameters()) parameters_.emplace_back(p.shared_value(), name);
  }
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;
  DetectAnomaly& operator=(const DetectAnomaly&) = delete;

  /// For the engine: the look at an op's value, at a seed, and at the gradient that the derivative of `node` gave
  /// its input i. `upstream` is what the derivative was given; `summed` says that ops after it gave that input some,
  /// too.
  /// @{
  template <class T>
  void check_value(const char* op, const detail::Inputs<T>& inputs, const Array<T>& value) const;
  template <class T>
  void check_seed(const char* op, const Array<T>& seed) const;
  template <class T>
  void check_gradient(const Node<T>& node, std::size_t i, const Array<T>& gradient, const detail::Survey<T>& upstream,
                      bool summed) const;
  /// @}

 private:
  template <class T>
  struct Operand;
  template <class T>
  std::string context(const std::vector<Operand<T>>& operands) const;
  std::string name_of(const Counted* value) const;
  bool has_names() const;

  AnomalyOptions options_;
  const DetectAnomaly* outer_;
  std::vector<std::pair<Shared<Counted>, std::string>> parameters_;
};

namespace detail {

/// Nothing is looked at for a scope: the pass looks at what a derivative gives, not at how it comes to it.
class Unwatched {
 public:
  Unwatched() : before_(set_watcher(nullptr)) {}
  ~Unwatched() { set_watcher(before_); }
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;

 private:
  const DetectAnomaly* before_;
};

}  // namespace detail

}  // namespace xgrad
