#include "differences.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backward.hpp"

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

}  // namespace

void Surroundings::restore(bool generators_too) {
  for (auto& [buffer, before] : buffers_) *buffer = before;
  if (generators_too)
    for (auto& generator : generators_) generator.now->set_state(generator.before);
}

std::string Surroundings::drawn_from() const {
  for (const auto& generator : generators_)
    if (generator.now->state() != generator.before) return generator.path;
  return "";
}

Runs::Runs(int order, Module<double>* module, const CheckedFunction& f, const GradcheckInputs& inputs,
           const GradcheckOptions& options)
    : order_(order), f_(f), options_(options), surroundings_(module) {
  const auto& given = inputs.list();
  if (given.empty()) fail<std::invalid_argument>("gradcheck", "needs at least one input");
  if (!options.names.empty() && options.names.size() != given.size())
    fail<std::invalid_argument>("gradcheck", "needs one name per input but got ", options.names.size(), " names for ",
                                given.size(), given.size() == 1 ? " input" : " inputs");
  if (!(options.step > 0 && std::isfinite(options.step)) || !(options.rtol >= 0) || !(options.atol >= 0))
    fail<std::invalid_argument>("gradcheck", "step must be positive, rtol and atol not negative, but got step ",
                                options.step, ", rtol ", options.rtol, ", atol ", options.atol);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string name = options.names.empty() ? "input " + std::to_string(i) : options.names[i];
    if (!given[i].defined()) fail<std::invalid_argument>("gradcheck", name, " is undefined");
    inputs_.emplace_back(given[i].value(), true);  // a leaf of our own
    add_target(name, inputs_.back());
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

Variable<double> Runs::call() {
  surroundings_.restore(options_.fix_generators);
  Variable<double> y = f_(inputs_);
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

std::string Runs::compare_with_plain_pass() {
  if (order_ == 1) return "";
  const auto plain = values(first_gradients(call(), false));
  for (std::size_t t = 0; t < plain.size(); ++t)
    for (std::size_t i = 0; i < plain[t].size(); ++i) {
      const double a = plain[t].data()[i], b = base_[t].data()[i];
      if (std::abs(a - b) <= options_.atol + options_.rtol * std::max(std::abs(a), std::abs(b))) continue;
      std::ostringstream out;
      out.precision(9);
      out << "the gradient by " << targets_[t].name << " at " << to_string(index_of(i, plain[t].shape())) << " is " << a
          << " in an ordinary pass but " << b
          << " with create_graph: a kernel and its twin, or the two forms of a derivative, disagree";
      return out.str();
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

Difference Runs::slope(std::size_t t, Nudge& nudge, double low, double high) {
  const auto up = at(t, nudge, high), down = at(t, nudge, low);
  double sum = 0, moved = 0, still = 0;
  for (std::size_t k = 0; k < up.size(); ++k)
    for (std::size_t j = 0; j < up[k].size(); ++j) {
      const double a = up[k].data()[j], b = down[k].data()[j], c = cotangents_[k].data()[j];
      sum += c * (a - b);
      (a == b ? still : moved) += std::abs(c) * (std::abs(a) + std::abs(b));
    }
  // Outputs that stay are exact, unless all do: then the change may have drowned in them.
  const double size = moved > 0 ? moved : still;
  return {sum / (high - low), 4 * std::numeric_limits<double>::epsilon() * size / (high - low)};
}

Difference Runs::central(std::size_t t, std::size_t i, double h) {
  Nudge nudge(targets_[t].leaf, i);
  return slope(t, nudge, nudge.before() - h, nudge.before() + h);
}

Difference Runs::fourth_order(std::size_t t, std::size_t i, double h) {
  const Difference near = central(t, i, h), far = central(t, i, 2 * h);
  return {(4 * near.slope - far.slope) / 3, (4 * near.noise + far.noise) / 3};
}

double Runs::step(std::size_t t, std::size_t i) const {
  return options_.step * std::max(1.0, std::abs(targets_[t].leaf.value().data()[i]));
}

}  // namespace xgrad::detail
