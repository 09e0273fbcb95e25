// gradcheck: compares the gradients of any function or module with differences of its values, and names what is wrong.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "gradcheck_functions.hpp"
#include "gradcheck_report.hpp"
#include "module.hpp"

namespace xgrad {

/// Options of `gradcheck`.
struct GradcheckOptions {
  /// h = step * max(1, |x|). When not set: 6e-6, the cube root of the machine epsilon; with richardson 1e-3; for float
  /// differences 0.01. Inputs with a small spread around a large offset need a smaller one.
  std::optional<double> step = {};
  /// Allowed difference: atol + rtol * max(|analytic|, |numeric|) + rounding noise. When not set: rtol 1e-6 and atol
  /// 1e-8; with richardson 1e-9 and 1e-11; for float gradients 1e-3 and 1e-8, for float differences 2e-2 and 1e-6.
  std::optional<double> rtol = {};
  std::optional<double> atol = {};      ///< See rtol.
  std::uint64_t seed = 0;               ///< Of the random cotangent, and of the sample.
  bool fix_generators = true;           ///< Put a module's generators back before each run: dropout masks stay.
  std::vector<std::string> names = {};  ///< Of the inputs; "input 0", "input 1", ... when empty.
  bool richardson = false;              ///< Extrapolate from five steps, for relative errors down to 1e-7.
  std::size_t max_entries = 0;          ///< Entries compared per input or parameter, drawn by seed; 0 is all.
};

/// The inputs of a check: one Variable, array, std::vector of numbers or number, or several in braces. They are copied,
/// so nothing of the caller's changes, and all are differentiated by, whether or not they require a gradient.
class GradcheckInputs {
 public:
  /// One input. Float numbers are kept as they are.
  class Input {
   public:
    /// A Variable, array, expression, number or vector of numbers.
    /// @{
    template <class X, class = std::enable_if_t<std::is_convertible_v<const X&, Variable<double>>>>
    Input(const X& x) : Input(Variable<double>(x), is_float<X>(nullptr)) {}
    Input(const Variable<float>& x) : Input(x.defined() ? Variable<double>(x.value()) : Variable<double>(), true) {}
    Input(const std::vector<double>& x) : Input(Variable<double>(from(x)), false) {}
    Input(const std::vector<float>& x) : Input(Variable<double>(from(from(x))), true) {}
    /// @}

   private:
    friend class GradcheckInputs;
    Input(Variable<double> v, bool single) : value(std::move(v)), narrow(single) {}
    template <class X>
    static constexpr bool is_float(typename X::value_type*) {
      return std::is_same_v<typename X::value_type, float>;
    }
    template <class X>
    static constexpr bool is_float(...) {
      return std::is_same_v<X, float>;
    }
    Variable<double> value;
    bool narrow;
  };

  /// Several in braces or in a std::vector, or one.
  /// @{
  GradcheckInputs(std::initializer_list<Input> inputs) {
    for (const Input& x : inputs) add(x);
  }
  template <class X, class = std::enable_if_t<std::is_convertible_v<const X&, Input>>>
  GradcheckInputs(const std::vector<X>& inputs) {
    if constexpr (std::is_arithmetic_v<X>) add(inputs);
    else
      for (const X& x : inputs) add(x);
  }
  template <class X, class = std::enable_if_t<std::is_convertible_v<const X&, Input>>>
  GradcheckInputs(const X& input) {
    add(input);
  }
  /// @}

  /// The inputs, which share their numbers with the caller's.
  const std::vector<Variable<double>>& list() const { return inputs_; }
  /// True when some were given as float.
  bool any_float() const { return narrow_; }

 private:
  void add(const Input& x) {
    inputs_.push_back(x.value);
    narrow_ = narrow_ || x.narrow;
  }
  std::vector<Variable<double>> inputs_;
  bool narrow_ = false;
};

namespace detail {

/// Which side is float: none, the gradients, or values and gradients.
enum class Arithmetic { in_double, float_gradients, in_float };

GradcheckReport run_gradcheck(int order, Module<double>* module, const CheckedFunction<double>& f,
                              const GradcheckInputs& inputs, const GradcheckOptions& options,
                              Arithmetic arithmetic = Arithmetic::in_double);
GradcheckReport run_gradcheck(const ArrayFunction& f, const GradcheckInputs& inputs, const GradcheckOptions& options,
                              Arithmetic arithmetic);
/// Float gradients against differences of `f_double` (with `copy`, or null), or of f itself when that is empty.
GradcheckReport run_float_gradcheck(Module<float>* module, const CheckedFunction<float>& f, Module<double>* copy,
                                    const CheckedFunction<double>& f_double, const GradcheckInputs& inputs,
                                    const GradcheckOptions& options);
/// The one of the two that fits T.
inline GradcheckReport run_module(Module<double>& module, const CheckedFunction<double>& f,
                                  const GradcheckInputs& inputs, const GradcheckOptions& options) {
  return run_gradcheck(1, &module, f, inputs, options);
}
inline GradcheckReport run_module(Module<float>& module, const CheckedFunction<float>& f, const GradcheckInputs& inputs,
                                  const GradcheckOptions& options) {
  return run_float_gradcheck(&module, f, nullptr, {}, inputs, options);
}

template <class T, class M>
inline constexpr bool is_module_of = std::is_base_of_v<Module<T>, std::decay_t<M>>;
template <class M>
inline constexpr bool is_module = is_module_of<double, M> || is_module_of<float, M>;
template <class M>
using number_of_module = std::conditional_t<is_module_of<float, M>, float, double>;
template <class F>
inline constexpr bool is_call = !std::is_convertible_v<const F&, GradcheckInputs> && !is_module<F>;

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
/// over the entries of y that moved (over all if none did): four roundings of y on either side. (Of many entries, three
/// times the root of the sum of squares, which is less: random cotangents do not let roundings add up.) Where noise
/// exceeds both atol and 1e-5 of the gradient, so where y is large, the entry is measured again with steps 10, 100 and
/// 1000 times as wide, by differences of fourth order, so that a relative error of 1e-4 is still seen; a note says
/// where even that did not help. `options.richardson` extrapolates from steps h, 2h, ..., 16h, for smooth f: it adds
/// what the last of them changed to the noise.
///
/// An entry that disagrees is measured with closer steps too, and so is one whose slopes on both sides differ.
/// Where f has a kink (relu or abs at 0, a tie of max, a bound of clip) the slopes on both sides stay apart as the step
/// shrinks. There the gradient is right when it lies between them (a subgradient), and a note names the entry. So it is
/// where a kink lies beside the point, within the step, and closer differences agree. A jump fails, named as such.
///
/// First f is run twice; if the results differ the report says "not deterministic" and compares nothing. So it does
/// when the gradient is another where inputs are temporaries that are gone before the backward pass: then a derivative
/// refers to numbers that it should have captured as an Array or saved. A gradient that is not finite disagrees with
/// anything.
///
/// *Float.* A function of Variable<float> alone is checked in float: differences of float values, with a step of 0.01
/// and tolerances to match, find relative errors of 5% in entries above 5% of their input's largest gradient; a note
/// says so, and another counts the entries where rounding of y hides even that. A generic function is checked in
/// double, whatever its inputs are; `gradcheck<float>(f, inputs)` is the better float check, above all where kinks lie
/// close, as in wide ReLU nets.
///
/// Throws std::invalid_argument without inputs, for an undefined or non-finite one, for a bad option, and when f takes
/// another number of inputs; GraphError when f's value is undefined or depends on no input. Exceptions of f pass.
template <class F, class = std::enable_if_t<!detail::is_module<F>>>
GradcheckReport gradcheck(F&& f, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  if constexpr (!detail::takes_variables<double, F> && detail::takes_variables<float, F>)
    return detail::run_float_gradcheck(nullptr, detail::checked_function<float>(f), nullptr, {}, inputs, options);
  else return detail::run_gradcheck(1, nullptr, detail::checked_function<double>(f), inputs, options);
}

/// `gradcheck<float>(f, inputs)` for a generic f: its gradients in float against differences of its values in double.
/// Finds relative errors of 1% in entries above 1% of their input's largest gradient. A function of Variable<float>
/// alone is checked as above.
template <class T, class F, class = std::enable_if_t<std::is_same_v<T, float> && !detail::is_module<F>>>
GradcheckReport gradcheck(F&& f, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  detail::CheckedFunction<double> in_double;
  if constexpr (detail::takes_variables<double, F>) in_double = detail::checked_function<double>(f);
  return detail::run_float_gradcheck(nullptr, detail::checked_function<float>(f), nullptr, in_double, inputs, options);
}

/// Checks a function on plain arrays with a backward pass written by hand, so code that is not built on xgrad.
///
/// `forward(x0, x1, ...)` takes one to five Arrays, or a std::vector of them, and returns an Array, a std::vector of
/// numbers or a number; `backward(x0, x1, ..., dy)` takes the same and then the gradient of forward's result, and
/// returns the gradient by each input, in its shape: an Array, or a tuple or std::vector of Arrays. For code on
/// pointers, say `void f(const double* x, double* y, std::size_t n)` and `void df(const double* x, const double* dy,
/// double* dx, std::size_t n)`:
///
///     const auto forward = [](const Array<double>& x) {
///       auto y = empty<double>(x.shape());
///       f(x.data(), y.data(), x.size());
///       return y;
///     };
///     const auto backward = [](const Array<double>& x, const Array<double>& dy) {
///       auto dx = empty<double>(x.shape());
///       df(x.data(), dy.data(), dx.data(), x.size());
///       return dx;
///     };
///     std::cout << gradcheck(forward, backward, std::vector<double>{0.5, -1.0, 2.0});
///
/// Functions of Array<float> are checked in float, as functions of Variable<float> are; generic ones are in double, or
/// in float by `gradcheck<float>(forward, backward, inputs)`. A wrong number of gradients or one of a wrong shape is
/// the report's problem. Throws as gradcheck.
/// @{
template <class Forward, class Backward,
          class = std::enable_if_t<!detail::is_module<Forward> && detail::is_call<Backward>>>
GradcheckReport gradcheck(Forward&& forward, Backward&& backward, const GradcheckInputs& inputs,
                          const GradcheckOptions& options = {}) {
  using T = typename detail::ArrayNumber<std::decay_t<Forward>>::type;
  return detail::run_gradcheck(detail::array_function<T>(forward, backward), inputs, options,
                               std::is_same_v<T, float> ? detail::Arithmetic::in_float : detail::Arithmetic::in_double);
}
template <
    class T, class Forward, class Backward,
    class = std::enable_if_t<std::is_same_v<T, float> && !detail::is_module<Forward> && detail::is_call<Backward>>>
GradcheckReport gradcheck(Forward&& forward, Backward&& backward, const GradcheckInputs& inputs,
                          const GradcheckOptions& options = {}) {
  return detail::run_gradcheck(detail::array_function<T>(forward, backward), inputs, options,
                               detail::Arithmetic::in_float);
}
/// @}

/// Checks a module against its inputs and every parameter that requires a gradient, by dotted name. Parameters are
/// perturbed in place and restored bit for bit, also when something throws; their `.grad()` and requires_grad stay as
/// they are. The module's generators and buffers are put back before each run and at the end, so dropout is checked
/// with its mask fixed, in whatever mode the module is. A Module<float> is checked in float.
template <class M, class = std::enable_if_t<detail::is_module<M>>>
GradcheckReport gradcheck(M& module, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  return detail::run_module(module, detail::checked_function<detail::number_of_module<M>>(module), inputs, options);
}

/// The same for a module that is called in another way: `gradcheck(model, [&](const auto& x) { return model(x, 3); },
/// x)`.
/// @{
template <class F, class = std::enable_if_t<detail::is_call<F>>>
GradcheckReport gradcheck(Module<double>& module, F&& call, const GradcheckInputs& inputs,
                          const GradcheckOptions& options = {}) {
  return detail::run_module(module, detail::checked_function<double>(call), inputs, options);
}
template <class F, class = std::enable_if_t<detail::is_call<F>>>
GradcheckReport gradcheck(Module<float>& module, F&& call, const GradcheckInputs& inputs,
                          const GradcheckOptions& options = {}) {
  return detail::run_module(module, detail::checked_function<float>(call), inputs, options);
}
/// @}

/// Checks the float gradients of a module against differences of the values of its copy in double, as
/// `gradcheck<float>` does for a function: `gradcheck(Block<float>, Block<double>, x)`. The copy works with the
/// numbers of the first and gets its own back at the end. Throws std::invalid_argument unless the two have the same
/// parameters, buffers and generators.
template <class M, class Copy,
          class = std::enable_if_t<detail::is_module_of<float, M> && detail::is_module_of<double, Copy>>, class = void>
GradcheckReport gradcheck(M& module, Copy& copy, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  return detail::run_float_gradcheck(&module, detail::checked_function<float>(module), &copy,
                                     detail::checked_function<double>(copy), inputs, options);
}

/// Checks second derivatives: gradcheck of the function (inputs, cotangent) -> gradients of f, taken with create_graph.
/// An op whose gradient has no graph is named in the report. In double only. Throws as gradcheck.
/// @{
template <class F, class = std::enable_if_t<!detail::is_module<F>>>
GradcheckReport gradgradcheck(F&& f, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  return detail::run_gradcheck(2, nullptr, detail::checked_function<double>(f), inputs, options);
}
template <class M, class = std::enable_if_t<detail::is_module<M>>, class = void>
GradcheckReport gradgradcheck(M& module, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  static_assert(!detail::is_module_of<float, M>, "gradgradcheck works in double: make the module a Module<double>");
  return detail::run_gradcheck(2, &module, detail::checked_function<double>(module), inputs, options);
}
template <class F, class = std::enable_if_t<detail::is_call<F>>>
GradcheckReport gradgradcheck(Module<double>& module, F&& call, const GradcheckInputs& inputs,
                              const GradcheckOptions& options = {}) {
  return detail::run_gradcheck(2, &module, detail::checked_function<double>(call), inputs, options);
}
/// @}

}  // namespace xgrad
