// The graph behind a Variable, to look at: as text, one op a line, or as Graphviz DOT (as PyTorch's torchviz
// `make_dot`).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "module.hpp"

namespace xgrad {

/// The ops and leaves that `output` was computed from, oldest first, each once and on a line of its own:
///
///     %0 = leaf linear1.weight (8, 4), requires grad
///     %1 = leaf linear1.bias (8,), requires grad
///     %2 = linear(constant (2, 4), linear1.weight, linear1.bias) -> (2, 8)
///     %3 = gelu(%2) -> (2, 8)
///     %4 = mul(%3, %3) -> (2, 8)
///     output %4: 3 ops, 2 leaves, 40 numbers that require a gradient
///
/// Leaves are called by the names given, usually `model.named_parameters()`, to which "x" and the like can be added;
/// a name that is not plain is quoted and escaped. Ops are numbered in the order they were made, so one program prints
/// one text. Inputs that require no gradient are constants to the graph, frozen parameters too, and have a name only
/// if the op saved them. An op that a backward pass went through without retain_graph shows as "freed", and what it was
/// computed from is gone. Takes graphs of any depth. Throws std::invalid_argument when one name is given to two
/// Variables, and GraphError for an undefined output.
template <class T>
std::string graph_to_text(const Variable<T>& output,
                          const std::vector<std::pair<std::string, Variable<T>>>& names = {});

/// The same in the DOT language: write it to a file and `dot -Tsvg graph.dot -o graph.svg`. Ops are boxes; leaves that
/// require gradients are blue, frozen ones and constants grey and dashed, the output has a double frame; edges of
/// an op with several inputs carry the input's number.
template <class T>
std::string graph_to_dot(const Variable<T>& output, const std::vector<std::pair<std::string, Variable<T>>>& names = {});

/// Both with the names of a module's parameters.
/// @{
template <class T>
std::string graph_to_text(const Variable<T>& output, Module<T>& module) {
  return graph_to_text(output, module.named_parameters());
}
template <class T>
std::string graph_to_dot(const Variable<T>& output, Module<T>& module) {
  return graph_to_dot(output, module.named_parameters());
}
/// @}

}  // namespace xgrad
