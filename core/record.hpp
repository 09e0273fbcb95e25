// record(): how an op becomes part of a graph, and what its derivative is given.
#pragma once

#include "kernels/index.hpp"
#include "variable.hpp"

namespace xgrad {

/// Which values a node keeps for its derivative; reading one that was not saved throws GraphError.
class Saves {
 public:
  /// Bit i < 31 stands for input i, bit 31 for the output; use the names of namespace `saves`.
  constexpr explicit Saves(std::uint32_t bits) : bits_(bits) {}
  /// True when input i is kept.
  constexpr bool input(std::size_t i) const { return (bits_ >> (i < 30 ? i : 30)) & 1u; }
  /// True when the output is kept.
  constexpr bool output() const { return bits_ >> 31; }
  /// Both together: `saves::input(0) | saves::output`.
  friend constexpr Saves operator|(Saves a, Saves b) { return Saves(a.bits_ | b.bits_); }

 private:
  std::uint32_t bits_;
};

/// What `record` keeps, by name.
namespace saves {
inline constexpr Saves nothing{0};          ///< Shapes alone.
inline constexpr Saves inputs{0x7fffffff};  ///< All inputs.
inline constexpr Saves output{0x80000000};  ///< The op's value.
inline constexpr Saves all{0xffffffff};     ///< Inputs and output: the default.
/// Input i alone. (Inputs from the 31st on are saved together.)
constexpr Saves input(std::size_t i) { return Saves(std::uint32_t{1} << (i < 30 ? i : 30)); }
}  // namespace saves

template <class T, class G>
class Pass;

/// What both forms of the derivative's argument `b` offer, G being Array<T> or Variable<T>.
template <class T, class G>
class BackwardBase {
 public:
  /// True when input i wants a gradient; put eager work (a product, a kernel) for input i under it.
  /// Throws GraphError when the op has no input i.
  bool needs(std::size_t i) const {
    if (i >= node_.edges.size()) no_input(i);
    return slots_[i] >= 0;
  }
  /// The shape of input i, kept even when its value is not. Throws GraphError when the op has no input i.
  const Shape& shape(std::size_t i) const {
    if (i >= node_.edges.size()) no_input(i);
    return node_.edges[i].shape;
  }
  /// How many inputs the op has.
  std::size_t input_count() const { return node_.edges.size(); }
  /// The gradient of the op's output.
  const G& grad() const { return grad_; }

 protected:
  friend class Pass<T, G>;

  /// @cond  For the engine.
  BackwardBase(Pass<T, G>& pass, Node<T>& node, const G& grad, const std::ptrdiff_t* slots)
      : pass_(pass), node_(node), grad_(grad), slots_(slots) {}

  [[noreturn]] void no_input(std::size_t i) const;
  /// Throws ShapeError unless `got` is exactly input i's shape.
  void check(std::size_t i, const Shape& got) const;
  const detail::Value<T>& saved_input(std::size_t i) const;
  const detail::Value<T>& saved_output() const;

  Pass<T, G>& pass_;
  Node<T>& node_;
  const G& grad_;
  const std::ptrdiff_t* slots_;  // of each input in the pass, -1 where no gradient is wanted
  /// @endcond
};

/// The argument `b` of a derivative in an ordinary backward pass: everything is an array. What is added for an input
/// that needs no gradient is ignored, unevaluated when it is a lazy expression.
template <class T>
class ArrayBackward : public BackwardBase<T, Array<T>> {
 public:
  /// The value of input i; throws GraphError when it was not saved.
  const Array<T>& input(std::size_t i) const { return this->saved_input(i).array; }
  /// The value of the op; throws GraphError when it was not saved.
  const Array<T>& output() const { return this->saved_output().array; }

  /// Adds g to the gradient of input i; throws ShapeError unless g has exactly the shape of input i.
  /// @{
  void add(std::size_t i, Array<T>&& g);
  void add(std::size_t i, const Array<T>& g);
  template <class E>
  void add(std::size_t i, const xt::xexpression<E>& g) {
    if (this->needs(i)) add(i, from<T>(g.derived_cast()));
  }
  /// @}
  /// The same, after summing g down over the axes along which input i was broadcast.
  /// @{
  void add_summed(std::size_t i, Array<T>&& g);
  void add_summed(std::size_t i, const Array<T>& g);
  template <class E>
  void add_summed(std::size_t i, const xt::xexpression<E>& g) {
    if (this->needs(i)) add_summed(i, from<T>(g.derived_cast()));
  }
  /// @}
  /// Adds g into a region of the gradient of input i, which is zero elsewhere.
  void add_at(std::size_t i, const Slices& region, const Array<T>& g);
  /// Adds rows of g to the rows of the gradient of input i that `rows` names; repeated rows add up.
  void add_rows(std::size_t i, const Index& rows, const Array<T>& g);

 private:
  friend class Pass<T, Array<T>>;
  using BackwardBase<T, Array<T>>::BackwardBase;
};

/// The argument `b` of a derivative when the gradient's own graph is wanted: the same interface on Variables.
template <class T>
class GraphBackward : public BackwardBase<T, Variable<T>> {
 public:
  /// As in ArrayBackward, throwing the same errors.
  /// @{
  Variable<T> input(std::size_t i) const;
  Variable<T> output() const;

  void add(std::size_t i, const Variable<T>& g);
  void add_summed(std::size_t i, const Variable<T>& g);
  void add_at(std::size_t i, const Slices& region, const Variable<T>& g);
  void add_rows(std::size_t i, const Index& rows, const Variable<T>& g);
  /// @}

  /// Differentiates the composed twin of a fused op in its place.
  template <class Twin>
  void differentiate(const Twin& twin) {
    const std::vector<Variable<T>> copies = open_inputs();
    close_twin(copies, twin(copies));
  }

 private:
  friend class Pass<T, Variable<T>>;
  using BackwardBase<T, Variable<T>>::BackwardBase;
  std::vector<Variable<T>> open_inputs() const;
  void close_twin(const std::vector<Variable<T>>& inputs, const Variable<T>& output);
};

class DetectAnomaly;

namespace detail {

/// An op whose derivative is one generic formula, or a formula on arrays alone.
template <class T, class F>
class FormulaNode final : public Node<T> {
 public:
  FormulaNode(const char* op, F f) : Node<T>(op), formula_(std::move(f)) {}
  void derive(ArrayBackward<T>& b) const override { (*formula_)(b); }
  void derive(GraphBackward<T>& b) const override {
    if constexpr (std::is_invocable_v<const F&, GraphBackward<T>&>) (*formula_)(b);
    else
      fail<GraphError>(this->name,
                       "has a derivative on arrays only, so its gradient has no graph (create_graph); "
                       "give record() a twin, or write the derivative for `auto& b`");
  }
  void drop() override {
    Node<T>::drop();
    formula_.reset();
  }

 private:
  std::optional<F> formula_;
};

/// An op with a hand-written array derivative, and a composed twin that a recorded pass differentiates.
template <class T, class Kernel, class Twin>
class FusedNode final : public Node<T> {
 public:
  FusedNode(const char* op, Kernel k, Twin w) : Node<T>(op), kernel_(std::move(k)), twin_(std::move(w)) {}
  void derive(ArrayBackward<T>& b) const override { (*kernel_)(b); }
  void derive(GraphBackward<T>& b) const override { b.differentiate(*twin_); }
  void drop() override {
    Node<T>::drop();
    kernel_.reset();
    twin_.reset();
  }

 private:
  std::optional<Kernel> kernel_;
  std::optional<Twin> twin_;
};

/// A view of an op's inputs for the duration of one call of record().
template <class T>
class Inputs {
 public:
  Inputs(std::initializer_list<Variable<T>> list) : Inputs(list.begin(), list.size()) {}
  Inputs(const std::vector<Variable<T>>& list) : Inputs(list.data(), list.size()) {}
  Inputs(const Variable<T>* data, std::size_t size) : data_(data), size_(size) {}
  const Variable<T>* begin() const { return data_; }
  const Variable<T>* end() const { return data_ + size_; }
  std::size_t size() const { return size_; }

 private:
  const Variable<T>* data_;
  std::size_t size_;
};

/// Turns recording on for a scope: a recorded pass records also inside NoGrad.
class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  bool before_;
};

/// A result that is not tracked.
template <class T>
Variable<T> constant(Array<T>&& value) {
  return Variable<T>(Shared<Value<T>>(new Value<T>(std::move(value))), nullptr);
}

/// True when a node must be made: recording is on and some input is tracked.
template <class T>
bool tracks(const char* name, const Inputs<T>& inputs);
/// The same for an op with that value, at which DetectAnomaly takes a look.
template <class T>
bool tracks(const char* name, const Inputs<T>& inputs, const Array<T>& value);

/// The guard that looks at the ops of this thread, or nullptr. `set_watcher` returns the one before.
const DetectAnomaly* watcher() noexcept;
const DetectAnomaly* set_watcher(const DetectAnomaly* next) noexcept;

/// Gives a node its edges and saved values, and returns the handle to its result.
template <class T>
Variable<T> attach(Shared<Node<T>> node, const Inputs<T>& inputs, Saves keep, Shared<Value<T>> value);

/// The numbers of what derivatives deal in: arrays in an ordinary pass, Variables in a recorded one.
template <class T>
const Array<T>& array_of(const Array<T>& x) {
  return x;
}
template <class T>
const Array<T>& array_of(const Variable<T>& x) {
  return x.value();
}

/// What a product saves: a factor only when the other one wants a gradient.
template <class T>
Saves factors(const Variable<T>& a, const Variable<T>& b) {
  return (b.requires_grad() ? saves::input(0) : saves::nothing) |
         (a.requires_grad() ? saves::input(1) : saves::nothing);
}

}  // namespace detail

/// Makes the result of an op: `value`, computed from `inputs`, with the derivative that a backward pass will run.
///
/// `derivative` is a generic lambda `[...](auto& b)`: it reads b.grad(), b.input(i), b.output(), b.shape(i), and for
/// each input that b.needs(i) gives the gradient with b.add (same shape), b.add_summed (was broadcast), b.add_at or
/// b.add_rows (a part). In an ordinary pass these are arrays and lazy expressions, in a recorded pass Variables, so one
/// formula serves every order. Inside it only operators are unqualified; functions are written xgrad::f. Capture small
/// extras and arrays by value, never the result, a reference, or the `auto` of an xtensor expression, which refers to
/// arrays that may be gone by then. A derivative that takes `ArrayBackward<T>&` instead serves first order only. `name`
/// must outlive the graph: a string literal. Saves inputs and output unless told what to save.
/// @{
template <class T, class F>
Variable<T> record(const char* name, detail::Inputs<T> inputs, Saves keep, Array<T> value, F derivative) {
  if (!detail::tracks(name, inputs, value)) return detail::constant(std::move(value));
  Shared<Node<T>> node(new detail::FormulaNode<T, F>(name, std::move(derivative)));
  return detail::attach(std::move(node), inputs, keep,
                        Shared<detail::Value<T>>(new detail::Value<T>(std::move(value))));
}
template <class T, class F>
Variable<T> record(const char* name, detail::Inputs<T> inputs, Array<T> value, F derivative) {
  return record<T>(name, inputs, saves::all, std::move(value), std::move(derivative));
}
/// @}

/// A fused op. The ordinary pass runs `kernel`, a lambda on arrays (`auto& b` or `ArrayBackward<T>& b`) that may use
/// plain loops and captured extras; a recorded pass differentiates `twin(inputs)`, the plain composition of ops with
/// the same value, given the inputs as std::vector<Variable<T>>. Inputs must be among what is saved.
template <class T, class Kernel, class Twin>
Variable<T> record(const char* name, detail::Inputs<T> inputs, Saves keep, Array<T> value, Kernel kernel, Twin twin) {
  if (!detail::tracks(name, inputs, value)) return detail::constant(std::move(value));
  Shared<Node<T>> node(new detail::FusedNode<T, Kernel, Twin>(name, std::move(kernel), std::move(twin)));
  return detail::attach(std::move(node), inputs, keep,
                        Shared<detail::Value<T>>(new detail::Value<T>(std::move(value))));
}

/// An op without a derivative: throws GraphError when an input is tracked, since the gradient would silently stop here.
template <class T>
Variable<T> record(const char* name, detail::Inputs<T> inputs, Array<T> value) {
  if (detail::tracks(name, inputs, value)) {
    std::size_t i = 0;
    while (!inputs.begin()[i].requires_grad()) ++i;
    fail<GraphError>(name, "has no derivative but input ", i, " requires a gradient; pass detach() of it");
  }
  return detail::constant(std::move(value));
}

}  // namespace xgrad
