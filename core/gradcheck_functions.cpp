#include "gradcheck_functions.hpp"

#include <optional>

#include "backward.hpp"
#include "differences.hpp"
#include "record.hpp"

namespace xgrad::detail {

void check_arity(std::size_t takes, std::size_t given) {
  if (takes != given)
    fail<std::invalid_argument>("gradcheck", "the function takes ", detail::count_text(takes, "input", "inputs"),
                                " but got ", given);
}

namespace {

using Numbers = ArrayFunction::Inputs;
using Arrays = std::vector<Array<double>>;

/// An op with f's value, and f's gradients for its derivative.
Variable<double> as_op(const ArrayFunction& f, const std::vector<Variable<double>>& inputs,
                       const std::vector<std::string>& names) {
  Numbers x;
  for (const auto& v : inputs) x.push_back(&v.value());
  return record<double>("function", inputs, saves::inputs, f.value(x), [&f, &names](ArrayBackward<double>& b) {
    const std::size_t n = b.input_count();
    Numbers numbers;
    for (std::size_t i = 0; i < n; ++i) numbers.push_back(&b.input(i));
    Arrays gradients = f.gradients(numbers, b.grad());
    if (gradients.size() != n)
      fail<ShapeError>("gradcheck", "backward must return one gradient per input but returned ", gradients.size(),
                       " for ", detail::count_text(n, "input", "inputs"));
    for (std::size_t i = 0; i < n; ++i)
      if (gradients[i].shape() != b.shape(i))
        fail<ShapeError>("gradcheck", "backward must return a gradient of shape ", to_string(b.shape(i)), " by ",
                         names[i], " but returned one of shape ", to_string(gradients[i].shape()));
    for (std::size_t i = 0; i < n; ++i) b.add(i, std::move(gradients[i]));
  });
}

/// A function or module of Variables as a function of arrays: first its inputs, then its module's parameters that
/// require a gradient. These are put back bit for bit at the end.
template <class T>
class VariableFunction {
 public:
  VariableFunction(Module<T>* module, const CheckedFunction<T>& f, bool fix_generators)
      : f_(f), fix_generators_(fix_generators), surroundings_(module) {
    if (module)
      for (auto& [name, p] : module->named_parameters())
        if (p.requires_grad() && p.is_leaf()) {
          names_.push_back(name);
          parameters_.push_back(p);
          before_.push_back(p.value());
        }
  }
  ~VariableFunction() {
    for (std::size_t k = 0; k < before_.size(); ++k) assign(parameters_[k], before_[k]);
  }
  VariableFunction(const VariableFunction&) = delete;
  VariableFunction& operator=(const VariableFunction&) = delete;

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<Array<T>>& parameters() const { return before_; }

  Array<double> value(const Numbers& x) { return from<double>(call(x).result.value()); }

  Arrays gradients(const Numbers& x, const Array<double>& upstream) {
    Run run = call(x);
    const Variable<T>& y = run.result;
    if (!y.requires_grad())
      fail<GraphError>("gradcheck", "the result of shape ", to_string(y.shape()),
                       " depends on no input: its graph was cut (detach(), value(), NoGrad) or never begun");
    std::vector<Variable<T>> wrt = std::move(run.inputs);
    for (const auto& p : parameters_) wrt.push_back(p);
    GradOptions how;
    how.allow_unused = true;
    Arrays result;
    for (const auto& g : grad<T>({y}, wrt, how, {Variable<T>(from<T>(upstream))}))
      result.push_back(from<double>(g.value()));
    return result;
  }

 private:
  struct Run {
    std::vector<Variable<T>> inputs;
    Variable<T> result;
  };
  Run call(const Numbers& x) {
    surroundings_.restore(fix_generators_);
    const std::size_t n = x.size() - parameters_.size();
    std::vector<Variable<T>> inputs;
    for (std::size_t i = 0; i < n; ++i) inputs.emplace_back(from<T>(*x[i]), true);
    for (std::size_t k = 0; k < parameters_.size(); ++k) assign(parameters_[k], *x[n + k]);
    Variable<T> y = f_(inputs);
    if (!y.defined()) fail<GraphError>("gradcheck", "the function returned an undefined Variable");
    return {std::move(inputs), std::move(y)};
  }
  template <class N>
  static void assign(Variable<T>& p, const Array<N>& numbers) {
    p.mutate([&](Array<T>& a) {
      for (std::size_t i = 0; i < a.size(); ++i) a.data()[i] = static_cast<T>(numbers.data()[i]);
    });
  }

  const CheckedFunction<T>& f_;
  const bool fix_generators_;
  Surroundings<T> surroundings_;
  std::vector<std::string> names_;
  std::vector<Variable<T>> parameters_;
  std::vector<Array<T>> before_;
};

/// Gives a module the numbers and generators of its float form.
void widen_state(Module<float>& narrow, Module<double>& copy) {
  const State<float> given = state(narrow);
  State<double> wide;
  for (const auto& [name, a] : given.arrays) wide.arrays.emplace_back(name, from<double>(a));
  wide.generators = given.generators;
  load_state(copy, wide);
}

}  // namespace

GradcheckReport run_gradcheck(const ArrayFunction& f, const GradcheckInputs& inputs, const GradcheckOptions& options,
                              Arithmetic arithmetic) {
  const auto names = input_names(inputs, options);
  return run_gradcheck(
      1, nullptr, [&](const std::vector<Variable<double>>& x) { return as_op(f, x, names); }, inputs, options,
      arithmetic);
}

GradcheckReport run_float_gradcheck(Module<float>* module, const CheckedFunction<float>& f, Module<double>* copy,
                                    const CheckedFunction<double>& f_double, const GradcheckInputs& inputs,
                                    const GradcheckOptions& options) {
  GradcheckOptions all = options;
  all.names = input_names(inputs, options);
  const Surroundings<double> own(copy, true);
  if (copy) widen_state(*module, *copy);
  VariableFunction<float> narrow(module, f, options.fix_generators);
  std::optional<VariableFunction<double>> wide;
  if (f_double) wide.emplace(copy, f_double, options.fix_generators);
  if (wide && wide->names() != narrow.names())
    fail<std::invalid_argument>("gradcheck", "the double copy must require gradients of the same parameters");

  std::vector<Variable<double>> numbers;
  for (const auto& x : inputs.list())
    numbers.push_back(x.defined() ? Variable<double>(from<double>(from<float>(x.value()))) : x);
  for (std::size_t k = 0; k < narrow.names().size(); ++k) {
    all.names.push_back(narrow.names()[k]);
    numbers.emplace_back(from<double>(narrow.parameters()[k]));
  }
  ArrayFunction both;
  if (wide) both.value = [&](const Numbers& x) { return wide->value(x); };
  else both.value = [&](const Numbers& x) { return narrow.value(x); };
  both.gradients = [&](const Numbers& x, const Array<double>& upstream) { return narrow.gradients(x, upstream); };
  return run_gradcheck(both, numbers, all, wide ? Arithmetic::float_gradients : Arithmetic::in_float);
}

}  // namespace xgrad::detail
