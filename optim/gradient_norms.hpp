// gradient_norms: how large the gradient of each parameter is, as numbers and as a table.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "../core/module.hpp"

namespace xgrad {

/// Of one parameter. The norms are L2 norms in double.
struct GradientNorm {
  std::string name;            ///< Dotted.
  Shape shape;                 ///< Of the parameter.
  bool frozen = false;         ///< Wants no gradient.
  bool has_gradient = false;   ///< Else the fields about the gradient are 0.
  double gradient = 0;         ///< ||grad||; NaN or infinity when an entry is.
  double weight = 0;           ///< ||parameter||.
  double ratio = 0;            ///< gradient / weight; infinity for a parameter of zeros, 0 for one without gradient.
  double largest = 0;          ///< max |grad| over the finite entries.
  std::size_t not_finite = 0;  ///< Entries of the gradient that are NaN or infinite.
};

/// Of a module, in the order of `visit`.
struct GradientNorms {
  std::vector<GradientNorm> parameters;  ///< One for each, frozen ones included.
  double total = 0;  ///< Joint norm of all gradients but those of frozen parameters: what clip_grad_norm returns.

  /// A table, a line for each parameter, and the total:
  ///
  ///     name            shape   |grad|   |weight|  ratio    max |grad|
  ///     linear1.weight  (8, 4)  0.03112  1.873     0.01661  0.01204
  ///     linear1.bias    (8,)    0.0102   0         inf      0.00731
  ///     linear2.weight  (4, 8)  NaN      0.0541    NaN      0.2113      2 of 32 entries not finite
  ///     linear2.bias    (4,)             0.3                            no gradient
  ///     total |grad|: NaN
  std::string text() const;
};

/// Prints `text()`.
std::ostream& operator<<(std::ostream& out, const GradientNorms& norms);

/// Looks at the gradients that backward() left on the parameters of a module, between backward() and step(); changes
/// nothing. A ratio lr * gradient / weight far below 1e-3 learns slowly, one near 1 is unstable (SGD). A
/// parameter without a gradient was not reached: it stands in no graph, or zero_grad came before.
template <class T>
GradientNorms gradient_norms(Module<T>& module);

}  // namespace xgrad
