// gradcheck: compares the gradients of any function or module with differences of its values, and names what is wrong.
#pragma once

#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "module.hpp"
#include "variable.hpp"

namespace xgrad {

/// Options of `gradcheck`.
struct GradcheckOptions {
  /// h = step * max(1, |x|); the default is the cube root of the machine epsilon. Inputs with a small spread around a
  /// large offset need a smaller one.
  double step = 6e-6;
  double rtol = 1e-6;          ///< Allowed difference: atol + rtol * max(|analytic|, |numeric|) + rounding noise.
  double atol = 1e-8;          ///< See rtol.
  std::uint64_t seed = 0;      ///< Of the random cotangent.
  bool fix_generators = true;  ///< Put the generators of a module back before each run, so that dropout masks stay.
  std::vector<std::string> names = {};  ///< Of the inputs; "input 0", "input 1", ... when empty.
};

/// One entry of an input: its gradient by the backward pass, by differences, and how far they may be apart.
struct GradcheckEntry {
  std::string input;  ///< Its name.
  Shape index;        ///< Where in that input.
  double analytic;    ///< By the backward pass.
  double numeric;     ///< By differences.
  double allowed;     ///< How far apart the two may be.
};

/// What was found for one input or parameter.
struct GradcheckInput {
  std::string name;        ///< Given in the options, or the dotted name of a parameter.
  std::size_t wrong = 0;   ///< Entries that disagree.
  Array<double> analytic;  ///< The gradient by the backward pass.
  Array<double> numeric;   ///< The gradient by differences.
};

/// The outcome of a check. Prints as a few lines that say what is wrong and where.
struct GradcheckReport {
  int order = 1;                          ///< 2 for gradgradcheck.
  std::string problem;                    ///< Why nothing could be compared (not deterministic, no graph); else empty.
  std::vector<GradcheckInput> inputs;     ///< One per input, then one per parameter that requires a gradient.
  std::optional<GradcheckEntry> worst;    ///< The entry furthest outside its allowed difference, if any is.
  std::vector<std::string> hints;         ///< What the pattern of the differences points to.
  std::vector<std::string> notes;         ///< What limits the check even where it passes.
  std::vector<Array<double>> cotangents;  ///< The gradients of the outputs that the backward pass started from.
  std::uint64_t seed = 0;                 ///< The seed they were drawn with.

  /// True when something was compared and nothing disagrees.
  /// @{
  bool ok() const { return problem.empty() && wrong() == 0; }
  explicit operator bool() const { return ok(); }
  /// @}
  std::size_t checked() const;  ///< Number of entries compared.
  std::size_t wrong() const;    ///< Number of entries that disagree.
  /// The report in a few lines.
  std::string text() const;
};

/// Prints the text.
std::ostream& operator<<(std::ostream& out, const GradcheckReport& report);

/// The inputs of a check: one Variable or array, or several in braces. They are copied, so nothing of the caller's
/// changes, and all are differentiated by, whether or not they require a gradient.
class GradcheckInputs {
 public:
  /// Several, or one; an array is taken as a Variable, float ones are refused when compiling.
  /// @{
  GradcheckInputs(std::initializer_list<Variable<double>> inputs) : inputs_(inputs) {}
  GradcheckInputs(std::vector<Variable<double>> inputs) : inputs_(std::move(inputs)) {}
  template <class X, class = std::enable_if_t<std::is_convertible_v<const X&, Variable<double>> ||
                                              std::is_same_v<X, Variable<float>>>>
  GradcheckInputs(const X& input) {
    static_assert(!is_float<X>(nullptr),
                  "gradcheck works in double: float has too few digits for differences; use double inputs");
    if constexpr (!is_float<X>(nullptr)) inputs_.emplace_back(input);
  }
  /// @}

  /// The inputs, which share their numbers with the caller's.
  const std::vector<Variable<double>>& list() const { return inputs_; }

 private:
  template <class X>
  static constexpr bool is_float(typename X::value_type*) {
    return std::is_same_v<typename X::value_type, float>;
  }
  template <class X>
  static constexpr bool is_float(...) {
    return false;
  }

  std::vector<Variable<double>> inputs_;
};

namespace detail {

using CheckedFunction = std::function<Variable<double>(const std::vector<Variable<double>>&)>;

template <class F, class... V>
inline constexpr bool takes_variables = std::is_invocable_r_v<Variable<double>, F&, const V&...>;

void check_arity(std::size_t takes, std::size_t given);

/// Any function of one to five Variables, or of a vector of them, as a function of a vector. Refers to f.
template <class F>
CheckedFunction checked_function(F& f) {
  using V = Variable<double>;
  using List = const std::vector<V>&;
  if constexpr (takes_variables<F, V>) {
    return [&f](List v) -> V { return check_arity(1, v.size()), f(v[0]); };
  } else if constexpr (takes_variables<F, V, V>) {
    return [&f](List v) -> V { return check_arity(2, v.size()), f(v[0], v[1]); };
  } else if constexpr (takes_variables<F, V, V, V>) {
    return [&f](List v) -> V { return check_arity(3, v.size()), f(v[0], v[1], v[2]); };
  } else if constexpr (takes_variables<F, V, V, V, V>) {
    return [&f](List v) -> V { return check_arity(4, v.size()), f(v[0], v[1], v[2], v[3]); };
  } else if constexpr (takes_variables<F, V, V, V, V, V>) {
    return [&f](List v) -> V { return check_arity(5, v.size()), f(v[0], v[1], v[2], v[3], v[4]); };
  } else {
    static_assert(takes_variables<F, std::vector<V>>,
                  "gradcheck works in double: it needs a function of one to five Variable<double>, or of a "
                  "std::vector of them, that returns a Variable<double>");
    return [&f](List v) -> V { return f(v); };
  }
}

GradcheckReport run_gradcheck(int order, Module<double>* module, const CheckedFunction& f,
                              const GradcheckInputs& inputs, const GradcheckOptions& options);

template <class M>
inline constexpr bool is_module = std::is_base_of_v<Module<double>, std::decay_t<M>>;
template <class M>
inline constexpr bool is_float_module = std::is_base_of_v<Module<float>, std::decay_t<M>>;
template <class F>
inline constexpr bool is_call = !std::is_convertible_v<const F&, GradcheckInputs>;

}  // namespace detail

/// Checks the gradients of f by every input: `gradcheck([](const auto& a, const auto& b) { return a / b; }, {a, b})`.
///
/// f takes one to five Variables, or a vector of them, and returns a Variable of any shape y. With a fixed random
/// cotangent c (entries of size 0.5 to 1.5 and either sign; ones would hide faults that cancel in a sum) the scalar
/// s = sum(c * y) is differentiated once by a backward pass and, for each entry x, by
///
///     numeric = sum(c * (y(x + h) - y(x - h))) / ((x + h) - (x - h)),    h = step * max(1, |x|),
///
/// as rounded, two runs of f per entry. Analytic and numeric agree when they differ by at most
///
///     atol + rtol * max(|analytic|, |numeric|) + noise,    noise = 8 eps * sum(|c| * |y|) / 2h
///
/// over the entries of y that moved (over all if none did): four roundings of y on either side. Where noise exceeds
/// both atol and 1e-5 of the gradient, so where y is large, the entry is measured again with steps 10, 100 and 1000
/// times as wide, by differences of fourth order, so that a relative error of 1e-4 is still seen; a note says where
/// even that did not help.
///
/// First f is run twice; if the results differ the report says "not deterministic" and compares nothing. A gradient
/// that is not finite disagrees with anything. At a kink a pass or failure proves little: relu at 0 fails (numeric 0.5,
/// analytic 0), so does relu nearer to 0 than the step, and abs at 0 passes. Check away from kinks.
///
/// Throws std::invalid_argument without inputs, for an undefined or non-finite one, for a bad option, and when f takes
/// another number of inputs; GraphError when f's value is undefined or depends on no input. Exceptions of f pass.
template <class F, class = std::enable_if_t<!detail::is_module<F> && !detail::is_float_module<F>>>
GradcheckReport gradcheck(F&& f, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  return detail::run_gradcheck(1, nullptr, detail::checked_function(f), inputs, options);
}

/// Checks a module against its inputs and every parameter that requires a gradient, by dotted name. Parameters are
/// perturbed in place and restored bit for bit, also when something throws; their `.grad()` and requires_grad stay as
/// they are. The module's generators and buffers are put back before each run and at the end, so dropout is checked
/// with its mask fixed, in whatever mode the module is.
template <class M, class = std::enable_if_t<detail::is_module<M>>>
GradcheckReport gradcheck(M& module, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  return detail::run_gradcheck(1, &module, detail::checked_function(module), inputs, options);
}

/// Refused when compiling: a Module<float>.
template <class M, class = std::enable_if_t<detail::is_float_module<M>>, class = void>
GradcheckReport gradcheck(M&, const GradcheckInputs&, const GradcheckOptions& = {}) {
  static_assert(!detail::is_float_module<M>, "gradcheck works in double: make the module a Module<double>");
  return {};
}

/// The same for a module that is called in another way: `gradcheck(model, [&](const auto& x) { return model(x, 3); },
/// x)`.
template <class F, class = std::enable_if_t<detail::is_call<F>>>
GradcheckReport gradcheck(Module<double>& module, F&& call, const GradcheckInputs& inputs,
                          const GradcheckOptions& options = {}) {
  return detail::run_gradcheck(1, &module, detail::checked_function(call), inputs, options);
}

/// Checks second derivatives: gradcheck of the function (inputs, cotangent) -> gradients of f, taken with create_graph.
/// An op whose gradient has no graph is named in the report. Throws as gradcheck.
/// @{
template <class F, class = std::enable_if_t<!detail::is_module<F> && !detail::is_float_module<F>>>
GradcheckReport gradgradcheck(F&& f, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  return detail::run_gradcheck(2, nullptr, detail::checked_function(f), inputs, options);
}
template <class M, class = std::enable_if_t<detail::is_module<M>>>
GradcheckReport gradgradcheck(M& module, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  return detail::run_gradcheck(2, &module, detail::checked_function(module), inputs, options);
}
template <class F, class = std::enable_if_t<detail::is_call<F>>>
GradcheckReport gradgradcheck(Module<double>& module, F&& call, const GradcheckInputs& inputs,
                              const GradcheckOptions& options = {}) {
  return detail::run_gradcheck(2, &module, detail::checked_function(call), inputs, options);
}
/// @}

}  // namespace xgrad
