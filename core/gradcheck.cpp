#include "gradcheck.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backward.hpp"
#include "diagnosis.hpp"

namespace xgrad {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// One entry of a leaf or constant, put back when this goes.
class Nudge {
 public:
  Nudge(Variable<double>& v, std::size_t entry) : v_(v), entry_(entry), before_(v.value().data()[entry]) {}
  ~Nudge() { set(before_); }
  Nudge(const Nudge&) = delete;
  Nudge& operator=(const Nudge&) = delete;
  void set(double x) {
    v_.mutate([&](Array<double>& a) { a.data()[entry_] = x; });
  }
  double before() const { return before_; }

 private:
  Variable<double>& v_;
  std::size_t entry_;
  double before_;
};

/// What a run of a module may change: its generators and buffers, put back on request and at the end.
class Surroundings final : public Visitor<double> {
 public:
  explicit Surroundings(Module<double>* module) {
    if (module) module->visit(*this);
  }
  ~Surroundings() override { restore(true); }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  void restore(bool generators_too) {
    for (auto& [buffer, before] : buffers_) *buffer = before;
    if (generators_too)
      for (auto& [generator, before] : generators_) generator->set_state(before);
  }

 protected:
  void on_buffer(const std::string&, Array<double>& b) override { buffers_.emplace_back(&b, b); }
  void on_generator(const std::string&, Rng& g) override { generators_.emplace_back(&g, g.state()); }

 private:
  std::vector<std::pair<Array<double>*, Array<double>>> buffers_;
  std::vector<std::pair<Rng*, Rng::State>> generators_;
};

/// Random numbers of size 0.5 to 1.5 with either sign: none is so small that it would hide its output.
Array<double> random_cotangent(Rng& rng, const Shape& shape) {
  auto c = rng.uniform<double>(shape, -1.0, 1.0);
  for (double& x : c) x += std::copysign(0.5, x);
  return c;
}

std::string number(double x) {
  std::ostringstream out;
  out.precision(9);
  out << x;
  return out.str();
}

class Checker {
 public:
  Checker(int order, Module<double>* module, const detail::CheckedFunction& f, const GradcheckInputs& inputs,
          const GradcheckOptions& options)
      : f_(f), options_(options), surroundings_(module) {
    report_.order = order;
    report_.seed = options.seed;
    const auto& given = inputs.list();
    if (given.empty()) fail<std::invalid_argument>("gradcheck", "needs at least one input");
    if (!options.names.empty() && options.names.size() != given.size())
      fail<std::invalid_argument>("gradcheck", "got ", options.names.size(), " names for ", given.size(), " inputs");
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
  }

  GradcheckReport run() {
    try {
      check();
    } catch (const NoGradient& e) {
      report_.problem = "the backward pass failed: " + e.message;
    }
    return std::move(report_);
  }

 private:
  void check() {
    const auto first = values(outputs());
    if (report_.order == 2) add_target("cotangent", cotangent_);
    const auto outputs_now = outputs();
    base_ = values(outputs_now);
    report_.problem = deterministic(first);
    if (report_.problem.empty()) report_.problem = finite();
    if (!report_.problem.empty()) return;
    Rng rng(options_.seed + 1);
    for (const auto& y : base_) report_.cotangents.push_back(random_cotangent(rng, y.shape()));
    analytic(outputs_now);
    if (!report_.problem.empty()) return;
    for (std::size_t t = 0; t < targets_.size(); ++t) compare(t);
    if (hidden_ > 0)
      report_.notes.push_back("rounding of the large output hides relative errors of 1e-4 in " +
                              std::to_string(hidden_) + (hidden_ == 1 ? " entry" : " entries"));
    if (report_.worst) diagnose();
  }

  struct Target {
    Variable<double> leaf;
    bool reached = true;  // some output's graph leads to it
  };
  struct Difference {
    double slope;
    double noise;
  };
  /// Thrown by a run whose gradient could not be taken: the message goes into the report.
  struct NoGradient {
    std::string message;
  };

  void add_target(const std::string& name, const Variable<double>& leaf) {
    for (double x : leaf.value())
      if (!std::isfinite(x)) fail<std::invalid_argument>("gradcheck", name, " is not finite: it holds ", x);
    targets_.push_back({leaf});
    GradcheckInput input;
    input.name = name;
    report_.inputs.push_back(std::move(input));
  }

  /// One run of the function that is checked: f, or its gradients by all inputs and parameters.
  std::vector<Variable<double>> outputs() {
    surroundings_.restore(options_.fix_generators);
    const Variable<double> y = f_(inputs_);
    if (!y.defined()) fail<GraphError>("gradcheck", "the function returned an undefined Variable");
    if (!y.requires_grad())
      fail<GraphError>("gradcheck", "the result of shape ", to_string(y.shape()),
                       " depends on no input: its graph was cut (detach(), value(), NoGrad) or never begun");
    if (report_.order == 1) return {y};
    if (!cotangent_.defined()) {
      Rng rng(options_.seed);
      cotangent_ = Variable<double>(random_cotangent(rng, y.shape()), true);
    }
    std::vector<Variable<double>> wrt;
    for (const Target& target : targets_)
      if (target.leaf.node().get() != cotangent_.node().get()) wrt.push_back(target.leaf);
    GradOptions how;
    how.create_graph = how.allow_unused = true;
    return guarded([&] { return grad<double>({y}, wrt, how, {cotangent_}); });
  }

  template <class F>
  auto guarded(F&& f) -> decltype(f()) {
    try {
      return f();
    } catch (const GraphError& e) {
      throw NoGradient{e.what()};
    } catch (const ShapeError& e) {
      throw NoGradient{e.what()};
    }
  }

  static std::vector<Array<double>> values(const std::vector<Variable<double>>& list) {
    std::vector<Array<double>> result;
    for (const auto& v : list) result.push_back(v.value());
    return result;
  }

  std::string output_name(std::size_t k) const {
    return report_.order == 1 ? "the output" : "the gradient by " + report_.inputs[k].name;
  }

  std::string deterministic(const std::vector<Array<double>>& first) const {
    for (std::size_t k = 0; k < base_.size(); ++k) {
      const auto &a = first[k], &b = base_[k];
      std::string difference;
      if (a.shape() != b.shape()) difference = "shapes " + to_string(a.shape()) + " and " + to_string(b.shape());
      for (std::size_t i = 0; difference.empty() && i < a.size(); ++i)
        if (std::memcmp(a.data() + i, b.data() + i, sizeof(double)) != 0 &&
            !(std::isnan(a.data()[i]) && std::isnan(b.data()[i])))
          difference =
              number(a.data()[i]) + " and " + number(b.data()[i]) + " at " + to_string(detail::index_of(i, a.shape()));
      if (!difference.empty())
        return "not deterministic: two runs on the same numbers gave " + difference + " of " + output_name(k) +
               "; a live dropout? fix its generator (list it in visit() and check the module, or set its state "
               "inside the function) or call eval()";
    }
    return "";
  }

  std::string finite() const {
    for (std::size_t k = 0; k < base_.size(); ++k)
      for (std::size_t i = 0; i < base_[k].size(); ++i)
        if (!std::isfinite(base_[k].data()[i]))
          return output_name(k) + " is " + number(base_[k].data()[i]) + " at " +
                 to_string(detail::index_of(i, base_[k].shape())) + ", so there is nothing to take differences of";
    return "";
  }

  void analytic(const std::vector<Variable<double>>& all) {
    std::vector<Variable<double>> tracked, seeds, wrt;
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k].requires_grad()) {
        tracked.push_back(all[k]);
        seeds.emplace_back(report_.cotangents[k]);
      }
    for (const Target& target : targets_) wrt.push_back(target.leaf);
    std::vector<const void*> reached;
    for (const auto& y : tracked)
      for (const auto& leaf : leaves(y)) reached.push_back(leaf.node().get());
    for (Target& target : targets_)
      target.reached = std::find(reached.begin(), reached.end(), target.leaf.node().get()) != reached.end();
    GradOptions how;
    how.allow_unused = true;
    const auto grads = guarded([&] { return grad<double>(tracked, wrt, how, seeds); });
    for (std::size_t t = 0; t < targets_.size(); ++t) report_.inputs[t].analytic = grads[t].value();
  }

  /// The outputs with entry i of target t set to x.
  std::vector<Array<double>> at(std::size_t t, Nudge& nudge, double x) {
    nudge.set(x);
    auto y = values(outputs());
    for (std::size_t k = 0; k < y.size(); ++k)
      if (y[k].shape() != base_[k].shape())
        fail<ShapeError>("gradcheck", "the shape of the result must not depend on the numbers of ",
                         report_.inputs[t].name, " but it was ", to_string(base_[k].shape()), " and then ",
                         to_string(y[k].shape()));
    return y;
  }

  Difference central(std::size_t t, std::size_t i, double h) {
    Nudge nudge(targets_[t].leaf, i);
    const double high = nudge.before() + h, low = nudge.before() - h;
    const auto up = at(t, nudge, high), down = at(t, nudge, low);
    double sum = 0, size = 0;
    for (std::size_t k = 0; k < up.size(); ++k)
      for (std::size_t j = 0; j < up[k].size(); ++j) {
        const double a = up[k].data()[j], b = down[k].data()[j], c = report_.cotangents[k].data()[j];
        if (a == b) continue;
        sum += c * (a - b);
        size += std::abs(c) * (std::abs(a) + std::abs(b));
      }
    return {sum / (high - low), 4 * epsilon * size / (high - low)};
  }

  /// Error of order h^4, for wide steps.
  Difference fourth_order(std::size_t t, std::size_t i, double h) {
    const Difference near = central(t, i, h), far = central(t, i, 2 * h);
    return {(4 * near.slope - far.slope) / 3, (4 * near.noise + far.noise) / 3};
  }

  double step(std::size_t t, std::size_t i) const {
    return options_.step * std::max(1.0, std::abs(targets_[t].leaf.value().data()[i]));
  }

  void compare(std::size_t t) {
    GradcheckInput& input = report_.inputs[t];
    input.numeric = empty<double>(input.analytic.shape());
    for (std::size_t i = 0; i < input.analytic.size(); ++i) {
      const double a = input.analytic.data()[i];
      const auto blurred = [&](const Difference& d, double part) {
        return d.noise > std::max(options_.atol, part * std::max(std::abs(a), std::abs(d.slope)));
      };
      double h = step(t, i);
      Difference d = central(t, i, h);
      for (int widening = 0; widening < 3 && blurred(d, 1e-5); ++widening) {
        const Difference wide = fourth_order(t, i, h *= 10);
        if (!std::isfinite(wide.slope)) break;  // left the domain of f
        d = wide;
      }
      if (blurred(d, 1e-4)) ++hidden_;
      input.numeric.data()[i] = d.slope;
      const double allowed = options_.atol + options_.rtol * std::max(std::abs(a), std::abs(d.slope)) + d.noise;
      if (std::abs(a - d.slope) <= allowed && std::isfinite(allowed)) continue;
      ++input.wrong;
      const double excess = std::isfinite(allowed) && std::isfinite(a) ? std::abs(a - d.slope) / allowed
                                                                       : std::numeric_limits<double>::infinity();
      if (report_.worst && excess <= worst_excess_) continue;
      worst_excess_ = excess;
      worst_target_ = t;
      worst_entry_ = i;
      report_.worst = GradcheckEntry{input.name, detail::index_of(i, input.analytic.shape()), a, d.slope, allowed};
    }
  }

  // Further runs, only where something disagrees, to name the fault.
  void diagnose() {
    const std::string kink = find_kink();
    if (!kink.empty()) report_.hints.push_back(kink);
    std::vector<detail::Suspect> suspects;
    for (std::size_t t = 0; t < targets_.size(); ++t) {
      if (report_.inputs[t].wrong == 0) continue;
      detail::Suspect suspect{t, targets_[t].reached, {}, {}};
      if (report_.order == 1 && report_.inputs[t].analytic.size() <= 4096) probe(t, suspect);
      suspects.push_back(std::move(suspect));
    }
    if (kink.empty())
      for (auto& hint : detail::hints(report_, suspects, base_, options_.atol)) report_.hints.push_back(hint);
  }

  /// The gradient by parts of the output, and for a cotangent of ones.
  void probe(std::size_t t, detail::Suspect& suspect) {
    const Array<double>&c = report_.cotangents[0], &like = report_.inputs[t].analytic;
    const Shape& shape = c.shape();
    suspect.of_ones = zeros<double>(like.shape());
    suspect.parts.resize(shape.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      suspect.parts[axis].assign(std::min<std::size_t>(shape[axis], 64), zeros<double>(like.shape()));
    for (std::size_t i = 0; i < like.size(); ++i) {
      Nudge nudge(targets_[t].leaf, i);
      const double high = nudge.before() + step(t, i), low = nudge.before() - step(t, i);
      const auto up = at(t, nudge, high)[0], down = at(t, nudge, low)[0];
      for (std::size_t j = 0; j < c.size(); ++j) {
        const double slope = (up.data()[j] - down.data()[j]) / (high - low);
        if (slope == 0) continue;
        suspect.of_ones.data()[i] += slope;
        const Shape index = detail::index_of(j, shape);
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
          if (index[axis] < suspect.parts[axis].size())
            suspect.parts[axis][index[axis]].data()[i] += c.data()[j] * slope;
      }
    }
  }

  /// Looks at both sides of the worst entry: at a kink the slopes differ however small the step.
  std::string find_kink() {
    const GradcheckEntry& worst = *report_.worst;
    if (!std::isfinite(worst.analytic) || !std::isfinite(worst.numeric)) return "";
    const std::size_t t = worst_target_, i = worst_entry_;
    Nudge nudge(targets_[t].leaf, i);
    const auto slope = [&](double from, double to) {
      const auto a = at(t, nudge, from), b = at(t, nudge, to);
      double sum = 0;
      for (std::size_t k = 0; k < a.size(); ++k)
        for (std::size_t j = 0; j < a[k].size(); ++j)
          sum += report_.cotangents[k].data()[j] * (b[k].data()[j] - a[k].data()[j]);
      return sum / (to - from);
    };
    const double x = nudge.before(), h = step(t, i);
    const double left = slope(x - h, x), right = slope(x, x + h);
    const double jump = std::abs(right - left), size = std::max(std::abs(left), std::abs(right));
    if (jump <= 1e-2 * size || jump <= 100 * worst.allowed) return "";
    const std::string where = worst.input + " at " + to_string(worst.index) + ": ";
    const double narrow_left = slope(x - h / 100, x), narrow_right = slope(x, x + h / 100);
    if (std::abs(narrow_right - narrow_left) > 0.5 * jump)
      return where + "a kink: the slope is " + number(left) + " to the left and " + number(right) +
             " to the right; check at another point";
    if (std::abs((narrow_left + narrow_right) / 2 - worst.analytic) <= 1e-2 * std::max(std::abs(worst.analytic), size))
      return where + "a kink or a sharp bend within the step " + number(h) +
             ": closer differences agree; check at another point or with a smaller options.step";
    return "";
  }

  const detail::CheckedFunction& f_;
  const GradcheckOptions& options_;
  Surroundings surroundings_;
  std::vector<Variable<double>> inputs_;
  std::vector<Target> targets_;
  Variable<double> cotangent_;       // of f, second order only
  std::vector<Array<double>> base_;  // the outputs at the inputs themselves
  GradcheckReport report_;
  double worst_excess_ = 0;
  std::size_t worst_target_ = 0, worst_entry_ = 0;
  std::size_t hidden_ = 0;
};

}  // namespace

namespace detail {

void check_arity(std::size_t takes, std::size_t given) {
  if (takes != given)
    fail<std::invalid_argument>("gradcheck", "the function takes ", takes, takes == 1 ? " input" : " inputs",
                                " but got ", given);
}

GradcheckReport run_gradcheck(int order, Module<double>* module, const CheckedFunction& f,
                              const GradcheckInputs& inputs, const GradcheckOptions& options) {
  return Checker(order, module, f, inputs, options).run();
}

}  // namespace detail

std::size_t GradcheckReport::checked() const {
  if (!problem.empty()) return 0;
  std::size_t n = 0;
  for (const auto& input : inputs) n += input.numeric.size();
  return n;
}

std::size_t GradcheckReport::wrong() const {
  std::size_t n = 0;
  for (const auto& input : inputs) n += input.wrong;
  return n;
}

}  // namespace xgrad
