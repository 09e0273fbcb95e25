// Residual: a module with its input added to its output. He et al. 2016.
#pragma once

#include "../core/module.hpp"

namespace xgrad {

namespace detail {

/// The T of a Module<T>, for deduction.
template <class T>
T element_of(const Module<T>&);

}  // namespace detail

/// y = x + inner(x). The T and M follow from the argument: `Residual(FeedForward<float>(options, rng))`.
///
/// Throws ShapeError when the module changes the shape (a sum that broadcasts would hide it).
template <class T, class M>
class Residual : public Module<T> {
 public:
  /// Moves a module in.
  explicit Residual(M module) : inner(std::move(module)) {}

  /// x + inner(x).
  Variable<T> operator()(const Variable<T>& x) {
    Variable<T> y = inner(x);
    check_shape("Residual", "the output of the inner module", x.shape(), y.shape());
    return x + y;
  }
  void visit(Visitor<T>& v) override { v("inner", inner); }
  std::string name() const override { return "Residual"; }

  M inner;  ///< Its parameters are named "inner...".
};

/// T and M from the module.
template <class M>
Residual(M) -> Residual<decltype(detail::element_of(std::declval<const M&>())), M>;

}  // namespace xgrad
