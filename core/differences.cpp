#include "differences.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backward.hpp"
#include "record.hpp"

namespace xgrad::detail {

namespace {

/// Random numbers of size 0.5 to 1.5 with either sign: none is so small that it would hide its output.
Array<double> random_cotangent(Rng& rng, const Shape& shape) {
  auto c = rng.uniform<double>(shape, -1.0, 1.0);
  for (double& x : c) x += std::copysign(0.5, x);
  return c;
}

/// grad() for inputs that may be unused; misuse and wrong shapes in the pass are findings, not errors of the caller.
std::vector<Variable<double>> gradients(const std::vector<Variable<double>>& outputs,
                                        const std::vector<Variable<double>>& inputs, bool create_graph,
                                        const std::vector<Variable<double>>& seeds) {
  GradOptions how;
  how.create_graph = create_graph;
  how.allow_unused = true;
  how.retain_graph = true;  // outputs of second order share their graph
  try {
    return grad<double>(outputs, inputs, how, seeds);
  } catch (const GraphError& e) {
    throw NoGradient{e.what()};
  } catch (const ShapeError& e) {
    throw NoGradient{e.what()};
  }
}

/// Adds up roundings: at worst all of one sign, but under random cotangents three standard deviations are enough.
struct Rounding {
  double size = 0, squares = 0;
  void add(double x) {
    size += x;
    squares += x * x;
  }
  double total() const { return std::min(size, 3 * std::sqrt(squares)); }
};

}  // namespace

std::vector<std::string> input_names(const GradcheckInputs& inputs, const GradcheckOptions& options) {
  const std::size_t n = inputs.list().size();
  if (n == 0) fail<std::invalid_argument>("gradcheck", "needs at least one input");
  if (!options.names.empty() && options.names.size() != n)
    fail<std::invalid_argument>("gradcheck", "needs one name per input but got ", options.names.size(), " names for ",
                                count_text(n, "input", "inputs"));
  std::vector<std::string> names = options.names;
  while (names.size() < n) names.push_back("input " + std::to_string(names.size()));
  return names;
}

Precision precision(const GradcheckOptions& options, Arithmetic arithmetic) {
  constexpr double eps = std::numeric_limits<double>::epsilon(), float_eps = std::numeric_limits<float>::epsilon();
  Precision p{eps, 6e-6, 1e-6, 1e-8, 1e-4, 0, 1, 10, 3, 0, false};
  if (arithmetic == Arithmetic::float_gradients)
    p = {eps, 6e-6, 1e-3, 1e-8, 1e-2, 1e-2, 1, 10, 3, 64 * float_eps, false};
  if (arithmetic == Arithmetic::in_float) p = {float_eps, 0.01, 2e-2, 1e-6, 5e-2, 5e-2, 1, 4, 2, 64 * float_eps, true};
  if (options.richardson) {
    if (arithmetic != Arithmetic::in_double)
      fail<std::invalid_argument>("gradcheck", "richardson needs double, since float gradients are not that exact");
    p = {eps, 1e-3, 1e-9, 1e-11, 1e-7, 0, 5, 10, 3, 0, false};
  }
  p.step = options.step.value_or(p.step);
  p.rtol = options.rtol.value_or(p.rtol);
  p.atol = options.atol.value_or(p.atol);
  p.finds = std::max(p.finds, 2 * p.rtol);
  if (!(p.step > 0 && std::isfinite(p.step)) || !(p.rtol >= 0) || !(p.atol >= 0))
    fail<std::invalid_argument>("gradcheck", "step must be positive, rtol and atol not negative, but got step ", p.step,
                                ", rtol ", p.rtol, ", atol ", p.atol);
  return p;
}

template <class T>
Surroundings<T>::~Surroundings() {
  restore(true);
  for (auto& [p, before] : parameters_) p.mutate([&before = before](Array<T>& value) { value = std::move(before); });
}

template <class T>
void Surroundings<T>::restore(bool generators_too) {
  for (auto& [buffer, before] : buffers_) *buffer = before;
  if (generators_too)
    for (auto& generator : generators_) generator.now->set_state(generator.before);
}

template <class T>
std::string Surroundings<T>::drawn_from() const {
  for (const auto& generator : generators_)
    if (generator.now->state() != generator.before) return generator.path;
  return "";
}

template class Surroundings<float>;
template class Surroundings<double>;

Runs::Runs(int order, Module<double>* module, const CheckedFunction<double>& f, const GradcheckInputs& inputs,
           const GradcheckOptions& options, const Precision& precision)
    : order_(order), f_(f), options_(options), precision_(precision), surroundings_(module) {
  const auto& given = inputs.list();
  const auto names = input_names(inputs, options);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i].defined()) fail<std::invalid_argument>("gradcheck", names[i], " is undefined");
    Array<double> numbers = given[i].value();
    for (double& x : numbers) x = seen(x);
    inputs_.emplace_back(std::move(numbers), true);  // a leaf of our own
    add_target(names[i], inputs_.back());
  }
  if (module)
    for (auto& [name, p] : module->named_parameters())
      if (p.requires_grad() && p.is_leaf()) add_target(name, p);
  if (order == 2) {
    Rng rng(options.seed);
    cotangent_ = Variable<double>(random_cotangent(rng, call().shape()), true);
    add_target("cotangent", cotangent_);
  }
}

void Runs::add_target(const std::string& name, const Variable<double>& leaf) {
  for (double x : leaf.value())
    if (!std::isfinite(x)) fail<std::invalid_argument>("gradcheck", name, " must be finite but holds ", x);
  targets_.push_back({name, leaf});
}

Variable<double> Runs::call(const std::vector<Variable<double>>& inputs) {
  surroundings_.restore(options_.fix_generators);
  Variable<double> y = f_(inputs);
  if (!y.defined()) fail<GraphError>("gradcheck", "the function returned an undefined Variable");
  if (!y.requires_grad())
    fail<GraphError>("gradcheck", "the result of shape ", to_string(y.shape()),
                     " depends on no input: its graph was cut (detach(), value(), NoGrad) or never begun");
  return y;
}

std::vector<Variable<double>> Runs::first_gradients(const Variable<double>& y, bool create_graph) {
  std::vector<Variable<double>> wrt;
  for (std::size_t t = 0; t + 1 < targets_.size(); ++t) wrt.push_back(targets_[t].leaf);  // the last is the cotangent
  check_shape("gradcheck", "the result", cotangent_.shape(), y.shape());
  return gradients({y}, wrt, create_graph, {cotangent_});
}

std::vector<Variable<double>> Runs::outputs() {
  const Variable<double> y = call();
  if (order_ == 1) return {y};
  return first_gradients(y, true);
}

std::vector<Array<double>> Runs::values(const std::vector<Variable<double>>& outputs) {
  std::vector<Array<double>> result;
  for (const auto& v : outputs) result.push_back(v.value());
  return result;
}

std::vector<Array<double>> Runs::differentiate(const std::vector<Variable<double>>& outputs) {
  base_ = values(outputs);
  Rng rng(options_.seed + static_cast<std::uint64_t>(order_ - 1));
  std::vector<Variable<double>> tracked, seeds, wrt;
  std::vector<const void*> reached;
  for (const auto& y : outputs) {
    cotangents_.push_back(random_cotangent(rng, y.shape()));
    if (!y.requires_grad()) continue;  // a gradient that is constant
    tracked.push_back(y);
    seeds.emplace_back(cotangents_.back());
    for (const auto& leaf : leaves(y)) reached.push_back(leaf.node().get());
  }
  for (CheckTarget& target : targets_) {
    target.reached = std::find(reached.begin(), reached.end(), target.leaf.node().get()) != reached.end();
    wrt.push_back(target.leaf);
  }
  return values(gradients(tracked, wrt, false, seeds));
}

// NaN in place of the numbers, where no op has saved them, since what reads freed memory may find them still there.
std::string Runs::compare_with_temporaries(const std::vector<Array<double>>& gradients_of_leaves) {
  if (order_ == 2) return "";
  std::vector<Variable<double>> temporaries, wrt;
  for (const auto& x : inputs_)
    temporaries.push_back(record<double>("temporary", {x}, saves::nothing, Array<double>(x.value()),
                                         [](auto& b) { b.add(0, b.grad()); }));
  const Variable<double> y = call(temporaries);
  for (const auto& x : temporaries)
    if (x.shared_value().unique()) x.shared_value()->array.fill(std::numeric_limits<double>::quiet_NaN());
  for (const CheckTarget& target : targets_) wrt.push_back(target.leaf);
  const auto found = values(gradients({y}, wrt, false, {cotangents_[0]}));
  for (std::size_t t = 0; t < found.size(); ++t)
    for (std::size_t i = 0; i < found[t].size(); ++i) {
      const double a = found[t].data()[i], b = gradients_of_leaves[t].data()[i];
      if (std::isnan(b) || std::abs(a - b) <= precision_.atol + precision_.rtol * std::abs(b) || a == b) continue;
      return "the gradient by " + targets_[t].name + " at " + to_string(index_of(i, found[t].shape())) + " is " +
             number_text(b, 9) + ", but " + number_text(a, 9) +
             " when the input is a temporary that is gone before the backward pass: a derivative refers to numbers "
             "that were not saved; capture no reference and no `auto` of an xtensor expression but an Array, or read "
             "b.input(i)";
    }
  return "";
}

std::string Runs::compare_with_plain_pass() {
  if (order_ == 1) return "";
  const auto plain = values(first_gradients(call(), false));
  for (std::size_t t = 0; t < plain.size(); ++t)
    for (std::size_t i = 0; i < plain[t].size(); ++i) {
      const double a = plain[t].data()[i], b = base_[t].data()[i];
      if (std::abs(a - b) <= precision_.atol + precision_.rtol * std::max(std::abs(a), std::abs(b))) continue;
      return "the gradient by " + targets_[t].name + " at " + to_string(index_of(i, plain[t].shape())) + " is " +
             number_text(a, 9) + " in an ordinary pass but " + number_text(b, 9) +
             " with create_graph: a kernel and its twin, or the two forms of a derivative, disagree";
    }
  return "";
}

std::vector<Array<double>> Runs::at(std::size_t t, Nudge& nudge, double x) {
  nudge.set(x);
  auto y = values(outputs());
  for (std::size_t k = 0; k < y.size(); ++k)
    if (y[k].shape() != base_[k].shape())
      fail<ShapeError>("gradcheck", "the shape of the result must not depend on the numbers of ", targets_[t].name,
                       " but it was ", to_string(base_[k].shape()), " and then ", to_string(y[k].shape()));
  return y;
}

Slope Runs::central(std::size_t t, std::size_t i, double h) {
  Nudge nudge(targets_[t].leaf, i);
  const double x = nudge.before(), right = seen(x + h), left = seen(x - h);
  const auto up = at(t, nudge, right), down = at(t, nudge, left);
  double sum = 0, low = 0, high = 0;
  Rounding moved, still, sides;
  for (std::size_t k = 0; k < up.size(); ++k)
    for (std::size_t j = 0; j < up[k].size(); ++j) {
      const double a = up[k].data()[j], b = down[k].data()[j], m = base_[k].data()[j], c = cotangents_[k].data()[j];
      const double ends = std::abs(c) * (std::abs(a) + std::abs(b));
      sum += c * (a - b);
      (a == b ? still : moved).add(ends);
      if (a == m && b == m) continue;
      const double rise = c * (a - m) / (right - x), fall = c * (m - b) / (x - left);
      low += std::min(rise, fall);
      high += std::max(rise, fall);
      sides.add(ends + 2 * std::abs(c * m));
    }
  // Outputs that stay are exact, unless all do: then the change may have drowned in them.
  const double rounding = 4 * precision_.epsilon, width = right - left;
  Slope s{sum / width, rounding * (moved.size > 0 ? moved : still).total() / width,
          0,           low,
          high,        2 * rounding * sides.total() / width};
  if (!(left < x && x < right)) {  // a step of one ulp: there are no sides
    s.low = s.high = s.value;
    s.side_noise = std::numeric_limits<double>::infinity();
  }
  return s;
}

Slope Runs::slope(std::size_t t, std::size_t i, double h, int levels) {
  Slope best = central(t, i, h);
  if (levels < 2) return best;
  // Neville's scheme in h^2, from the smallest step outwards; `last` holds what ends at the step before.
  std::vector<std::pair<double, double>> last{{best.value, best.noise}}, row;
  best.spread = std::numeric_limits<double>::infinity();
  for (int k = 1; k < levels; ++k) {
    const Slope wide = central(t, i, h *= 2);
    if (!std::isfinite(wide.value)) break;  // left the domain of f
    row = {{wide.value, wide.noise}};
    for (double power = 4; row.size() <= last.size(); power *= 4) {
      const auto &near = last[row.size() - 1], &far = row.back();
      row.emplace_back(near.first + (near.first - far.first) / (power - 1),
                       (power * near.second + far.second) / (power - 1));
    }
    const auto& [value, noise] = row.back();
    const double spread = std::abs(value - last.back().first);
    if (noise + spread < best.doubt()) best.value = value, best.noise = noise, best.spread = spread;
    std::swap(last, row);
  }
  return best;
}

double Runs::step(std::size_t t, std::size_t i) const {
  return precision_.step * std::max(1.0, std::abs(targets_[t].leaf.value().data()[i]));
}

}  // namespace xgrad::detail
