// Variable<T>: an array that remembers how it was made, so that derivatives can be asked for.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <type_traits>
#include <vector>

#include "arithmetic.hpp"
#include "array.hpp"
#include "node.hpp"

// xtensor's operators take any class they do not know for a scalar and would build lazy expressions of graphs, and
// they win over ours for rvalues and non-const lvalues. Without a `type` here they step aside for Variables.
namespace xt::detail {
template <class F, class T, class E>
struct xfunction_type<F, xgrad::Variable<T>, E> {};
template <class F, class T, class E>
struct xfunction_type<F, xgrad::Variable<T>&, E> {};
template <class F, class T, class E>
struct xfunction_type<F, const xgrad::Variable<T>, E> {};
template <class F, class T, class E>
struct xfunction_type<F, const xgrad::Variable<T>&, E> {};
template <class F, class T, class E>
struct xfunction_type<F, E, xgrad::Variable<T>> {};
template <class F, class T, class E>
struct xfunction_type<F, E, xgrad::Variable<T>&> {};
template <class F, class T, class E>
struct xfunction_type<F, E, const xgrad::Variable<T>> {};
template <class F, class T, class E>
struct xfunction_type<F, E, const xgrad::Variable<T>&> {};
}  // namespace xt::detail

namespace xgrad {

/// A handle to an array and to its place in a graph, cheap to copy; copies share both.
///
/// A *leaf* is a Variable made from an array with `requires_grad`: a parameter, or an input to differentiate by.
/// A result of an op on a tracked Variable is tracked. Everything else is a constant. Values in a graph do not change;
/// `mutate` is the one door for changing a leaf or constant.
///
/// Arrays, lazy xtensor expressions and numbers convert to constants, so they stand beside Variables in operators and
/// function arguments. T is float or double. Handles may be used from several threads like any value; threads that
/// share leaves must use `xgrad::grad`, since `backward` adds into the leaf.
template <class T>
class Variable {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "Variable<T> needs T = float or double: integers have no derivatives; use Index or Array for them");

 public:
  using value_type = T;  ///< float or double

  /// An undefined handle: `defined()` is false and every use of its numbers throws GraphError; else it looks like a
  /// constant.
  Variable() = default;
  /// Wraps an array: a leaf when `requires_grad`, else a constant.
  Variable(Array<T> value, bool requires_grad = false);
  /// A 0-d constant.
  template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>>
  Variable(N number) : Variable(full<T>({}, static_cast<T>(number))) {}
  /// Evaluates any xtensor expression into a constant, or a leaf when `requires_grad`.
  template <class E>
  Variable(const xt::xexpression<E>& e, bool requires_grad = false)
      : Variable(xgrad::from<T>(e.derived_cast()), requires_grad) {}

  /// False for a handle made by `Variable()`.
  bool defined() const noexcept { return static_cast<bool>(value_); }
  /// The numbers.
  const Array<T>& value() const;
  /// Extent of each axis of the value, their product, and how many axes it has.
  /// @{
  const Shape& shape() const { return value().shape(); }
  std::size_t size() const { return value().size(); }
  std::size_t dimension() const { return value().dimension(); }
  /// @}
  /// The only number; throws ShapeError unless size is 1.
  T item() const { return xgrad::item(value()); }

  /// True when a gradient can flow into this Variable: a leaf that asks for one, or a tracked result.
  bool requires_grad() const noexcept { return node_ && node_->requires_grad; }
  /// Switches a leaf on or off (freezing). On a constant, `true` makes this handle and later copies of it a leaf.
  /// Throws GraphError on the result of an op.
  void set_requires_grad(bool on);
  /// True unless this is the tracked result of an op.
  bool is_leaf() const;
  /// Name of the op that made it, "leaf" or "constant".
  const char* op() const;

  /// The same value without its history: a constant. Shares the numbers.
  Variable detach() const;

  /// The gradient that `backward` left on this leaf; throws GraphError when there is none.
  const Array<T>& grad() const;
  /// True when a backward pass has left a gradient on this leaf.
  bool has_grad() const;
  /// Drops the gradient of this leaf.
  void zero_grad();
  /// Sets the gradient of this leaf; throws ShapeError unless the shape is the leaf's.
  void set_grad(Array<T> g);
  /// Calls f(Array<T>&) on the gradient of this leaf, for changes in place such as clipping. Throws as `mutate`, and
  /// GraphError when there is no gradient.
  template <class F>
  void mutate_grad(F&& f) {
    change("mutate_grad", grad_for_update(), f);
  }

  /// Calls f(Array<T>&) to change the numbers of a leaf or constant in place. Every copy of the handle sees the change,
  /// and a later backward pass that would have read the old numbers throws GraphError. The shape must stay: when f
  /// leaves another one, mutate throws ShapeError and the array has its old shape again, but is all NaN, since f has
  /// given its numbers away. Throws GraphError for the result of an op.
  template <class F>
  void mutate(F&& f) {
    change("mutate", begin_mutation(), f);
  }

  /// Adds the gradient of this scalar to the `.grad()` of every leaf it depends on that requires one, and frees the
  /// graph it went through unless `retain_graph`. Throws GraphError when not scalar, not tracked, used before, or when
  /// a value it needs has changed; no leaf is touched if it throws.
  void backward(bool retain_graph = false) const;
  /// The same with a seed: the gradient of sum(seed * this). Throws ShapeError unless shapes agree.
  void backward(const Array<T>& seed, bool retain_graph = false) const;

  /// Number by number, broadcast as in NumPy; see arithmetic.hpp.
  /// @{
  friend Variable operator+(const Variable& a, const Variable& b) { return xgrad::add(a, b); }
  friend Variable operator-(const Variable& a, const Variable& b) { return xgrad::sub(a, b); }
  friend Variable operator*(const Variable& a, const Variable& b) { return xgrad::mul(a, b); }
  friend Variable operator/(const Variable& a, const Variable& b) { return xgrad::div(a, b); }
  friend Variable operator+(const Variable& x, T c) { return xgrad::shift(x, c); }
  friend Variable operator+(T c, const Variable& x) { return xgrad::shift(x, c); }
  friend Variable operator-(const Variable& x, T c) { return xgrad::shift(x, -c); }
  friend Variable operator-(T c, const Variable& x) { return xgrad::shift(xgrad::neg(x), c); }
  friend Variable operator*(const Variable& x, T c) { return xgrad::scale(x, c); }
  friend Variable operator*(T c, const Variable& x) { return xgrad::scale(x, c); }
  friend Variable operator/(const Variable& x, T c) { return xgrad::div(x, Variable(c)); }
  friend Variable operator/(T c, const Variable& x) { return xgrad::div(Variable(c), x); }
  friend Variable operator+(const Variable& x) { return x; }
  friend Variable operator-(const Variable& x) { return xgrad::neg(x); }
  /// @}
  /// These rebind the handle on the left to a new result; no numbers change.
  /// @{
  Variable& operator+=(const Variable& b) { return *this = *this + b; }
  Variable& operator-=(const Variable& b) { return *this = *this - b; }
  Variable& operator*=(const Variable& b) { return *this = *this * b; }
  Variable& operator/=(const Variable& b) { return *this = *this / b; }
  /// @}

  /// Comparisons give constants of 0 and 1, broadcast like arithmetic. (Equality: `equal`, `not_equal`.)
  /// @{
  friend Variable operator<(const Variable& a, const Variable& b) { return xgrad::compare(a, b, "<"); }
  friend Variable operator<=(const Variable& a, const Variable& b) { return xgrad::compare(a, b, "<="); }
  friend Variable operator>(const Variable& a, const Variable& b) { return xgrad::compare(a, b, ">"); }
  friend Variable operator>=(const Variable& a, const Variable& b) { return xgrad::compare(a, b, ">="); }
  /// @}

  /// Prints the numbers as `to_string(Array)` does.
  friend std::ostream& operator<<(std::ostream& out, const Variable& x) {
    print(out, x.value());
    return out;
  }

  /// For the engine: a result of an op (node) or a constant (no node).
  /// @{
  Variable(Shared<detail::Value<T>> value, Shared<Node<T>> node) : value_(std::move(value)), node_(std::move(node)) {}
  const Shared<Node<T>>& node() const { return node_; }
  const Shared<detail::Value<T>>& shared_value() const { return value_; }
  /// @}

 private:
  Array<T>& begin_mutation();
  Array<T>& grad_for_update();
  template <class F>
  void change(const char* who, Array<T>& a, F& f) {
    const Shape before = a.shape();
    try {
      f(a);
    } catch (...) {
      keep_shape(a, before);
      throw;
    }
    const Shape after = a.shape();
    if (!keep_shape(a, before)) shape_changed(who, before, after);
  }
  bool keep_shape(Array<T>& a, const Shape& before);
  [[noreturn]] static void shape_changed(const char* who, const Shape& before, const Shape& after);
  Leaf<T>& leaf(const char* who) const;

  Shared<detail::Value<T>> value_;
  Shared<Node<T>> node_;
};

/// While one lives, ops on this thread record nothing: results are constants. Scopes nest; other threads go on.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// True when ops on this thread record.
bool is_recording() noexcept;

/// The leaves that `output` depends on and that require gradients, in order of creation; none after a backward pass
/// that did not retain the graph.
template <class T>
std::vector<Variable<T>> leaves(const Variable<T>& output);

/// Number of graph nodes alive in the process, leaves included: for tests that nothing leaks.
std::size_t live_nodes() noexcept;

/// The numbers as `to_string(Array)` gives them.
template <class T>
std::string to_string(const Variable<T>& x, int digits = 6) {
  return to_string(x.value(), digits);
}

}  // namespace xgrad
