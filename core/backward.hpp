// The backward pass as a function: gradients returned instead of left on the leaves.
#pragma once

#include <initializer_list>
#include <vector>

#include "variable.hpp"

namespace xgrad {

/// Options of `grad`.
struct GradOptions {
  bool create_graph = false;  ///< Results are tracked, so they can be differentiated again; implies retain_graph.
  bool retain_graph = false;  ///< Keep the graph for another pass; else it is freed as the pass goes through it.
  bool allow_unused = false;  ///< Zeros for an input that no output depends on, instead of an error.
};

/// The gradients of sum over k of sum(seeds[k] * outputs[k]) by each input, in the order of `inputs`. Touches no leaf,
/// so threads that share parameters may call it at once. Inputs may be leaves or results in between. Without seeds
/// every output must be scalar. Throws GraphError for an untracked output or input, an unused input (unless
/// allow_unused), a graph already freed, or a saved value that changed; ShapeError for a seed of another shape.
/// @{
template <class T>
std::vector<Variable<T>> grad(const std::vector<Variable<T>>& outputs, const std::vector<Variable<T>>& inputs,
                              const GradOptions& options = {}, const std::vector<Variable<T>>& seeds = {});

template <class T>
std::vector<Variable<T>> grad(std::initializer_list<Variable<T>> outputs, std::initializer_list<Variable<T>> inputs,
                              const GradOptions& options = {}, std::initializer_list<Variable<T>> seeds = {}) {
  return grad(std::vector<Variable<T>>(outputs), std::vector<Variable<T>>(inputs), options,
              std::vector<Variable<T>>(seeds));
}
/// @}

/// The gradient of one scalar by one input; throws as above.
template <class T>
Variable<T> grad(const Variable<T>& output, const Variable<T>& input, const GradOptions& options = {}) {
  return grad(std::vector<Variable<T>>{output}, std::vector<Variable<T>>{input}, options).front();
}

}  // namespace xgrad
