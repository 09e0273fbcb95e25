#include "gradcheck.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "diagnosis.hpp"
#include "verdict.hpp"

namespace xgrad {

namespace {

using detail::index_of;
using detail::Point;
using detail::Verdict;

std::string number(double x) { return detail::number_text(x, 9); }

/// "5%", "1e-4"
std::string share(double part) {
  return part > 1e-3 ? number(100 * part) + '%' : "1e-" + std::to_string(std::lround(-std::log10(part)));
}

std::string entries(std::size_t n) { return detail::count_text(n, "entry", "entries"); }

class Checker {
 public:
  Checker(int order, Module<double>* module, const detail::CheckedFunction<double>& f, const GradcheckInputs& inputs,
          const GradcheckOptions& options, detail::Arithmetic arithmetic)
      : options_(options),
        precision_(detail::precision(options, arithmetic)),
        runs_(order, module, f, inputs, options, precision_) {
    report_.order = order;
    report_.seed = options.seed;
    report_.step = precision_.step;
    report_.rtol = precision_.rtol;
    report_.atol = precision_.atol;
    for (const auto& target : runs_.targets()) {
      const auto nothing = full<double>(target.leaf.shape(), std::numeric_limits<double>::quiet_NaN());
      report_.inputs.push_back({target.name, 0, 0, nothing, nothing});
      suspects_.push_back({suspects_.size(), true, sample(target.leaf.size()), 0, {}, {}});
    }
    if (arithmetic != detail::Arithmetic::in_double)
      report_.notes.emplace_back(
          std::string(arithmetic == detail::Arithmetic::in_float ? "float, by differences of float values"
                                                                 : "float gradients, by differences in double") +
          ": tolerances are widened to rtol " + number(precision_.rtol) + "; finds errors of " +
          share(precision_.finds) + " in entries above " + share(precision_.floor) + " of their input's largest");
    else if (inputs.any_float())
      report_.notes.emplace_back(
          "a function that takes double is checked in double, though inputs were float; gradcheck<float>(f, inputs) "
          "checks its float gradients");
  }

  GradcheckReport run() {
    try {
      check();
    } catch (const detail::NoGradient& e) {
      report_.problem = "the backward pass failed: " + e.message;
    }
    return std::move(report_);
  }

 private:
  void check() {
    const auto first = runs_.values(runs_.outputs());
    {
      const auto second = runs_.outputs();
      if (problem(why_not_comparable(first, runs_.values(second)))) return;
      auto analytic = runs_.differentiate(second);
      if (problem(runs_.compare_with_temporaries(analytic))) return;
      for (std::size_t t = 0; t < analytic.size(); ++t) report_.inputs[t].analytic = std::move(analytic[t]);
      report_.cotangents = runs_.cotangents();
    }
    if (problem(runs_.compare_with_plain_pass())) return;
    for (std::size_t t = 0; t < report_.inputs.size(); ++t) compare(t);
    if (report_.entries() == 0) report_.notes.emplace_back("nothing was compared, since the inputs hold no numbers");
    note_kinks(false, "at a kink: the gradient lies between the slopes on both sides, in ");
    note_kinks(true, "a kink or sharp bend within the step, closer differences agree, in ");
    if (hidden_ > 0)
      report_.notes.emplace_back("rounding of the large output hides relative errors of " + share(precision_.finds) +
                                 " in " + entries(hidden_));
    if (report_.worst) diagnose();
  }

  bool problem(std::string text) {
    report_.problem = std::move(text);
    return !report_.problem.empty();
  }

  /// The entries to compare, of n: all, or max_entries of them.
  std::vector<std::size_t> sample(std::size_t n) const {
    const bool all = options_.max_entries == 0 || options_.max_entries >= n;
    std::vector<std::size_t> chosen(all ? n : options_.max_entries);
    const Index order = all ? arange<std::int64_t>(static_cast<std::int64_t>(n)) : Rng(options_.seed).permutation(n);
    for (std::size_t k = 0; k < chosen.size(); ++k) chosen[k] = static_cast<std::size_t>(order.data()[k]);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  /// Looks for outputs that differ between two runs, or are not finite.
  std::string why_not_comparable(const std::vector<Array<double>>& first,
                                 const std::vector<Array<double>>& second) const {
    std::string odd;
    for (std::size_t k = 0; k < second.size(); ++k) {
      const Array<double>&a = first[k], &b = second[k];
      const std::string what = report_.order == 1 ? "the output" : "the gradient by " + report_.inputs[k].name;
      std::string difference;
      if (a.shape() != b.shape()) difference = "shapes " + to_string(a.shape()) + " and " + to_string(b.shape());
      for (std::size_t i = 0; difference.empty() && i < a.size(); ++i) {
        const double x = a.data()[i], y = b.data()[i];
        if (x != y && !(std::isnan(x) && std::isnan(y)))
          difference = number(x) + " and " + number(y) + " at " + to_string(index_of(i, a.shape()));
        if (odd.empty() && !std::isfinite(y))
          odd = what + " is " + number(y) + " at " + to_string(index_of(i, b.shape())) +
                ", so there is nothing to take differences of";
      }
      if (!difference.empty())
        return "not deterministic: two runs on the same numbers gave " + difference + " of " + what +
               "; a live dropout? fix its generator (list it in visit() and check the module, or set its state "
               "inside the function) or call eval()";
    }
    return odd;
  }

  void compare(std::size_t t) {
    GradcheckInput& input = report_.inputs[t];
    double largest = 0;
    for (const double a : input.analytic)
      if (std::isfinite(a)) largest = std::max(largest, std::abs(a));
    for (const std::size_t i : suspects_[t].entries) {
      const double a = input.analytic.data()[i];
      const Verdict v = judge(runs_, precision_, t, i, a, largest);
      input.numeric.data()[i] = v.numeric;
      suspects_[t].doubt = std::max(suspects_[t].doubt, v.doubt);
      ++input.checked;
      hidden_ += v.hidden;
      const Shape index = index_of(i, input.analytic.shape());
      if (v.right) {
        if (v.point != Point::smooth)
          report_.kinks.push_back({input.name, index, a, v.low, v.high, v.point == Point::beside_kink});
        continue;
      }
      ++input.wrong;
      const double apart = std::abs(a - v.numeric);
      const double excess = std::isfinite(apart) ? apart / v.allowed : std::numeric_limits<double>::infinity();
      if (report_.worst && excess <= worst_excess_) continue;
      worst_excess_ = excess;
      worst_ = v;
      report_.worst = GradcheckEntry{input.name, index, a, v.numeric, v.allowed};
    }
  }

  /// A note of the entries that passed at (or beside) a kink: how many, and the first three.
  void note_kinks(bool beside, const char* what) {
    std::string places;
    std::size_t n = 0;
    for (const GradcheckKink& kink : report_.kinks)
      if (kink.beside == beside && ++n <= 3)
        places += (n > 1 ? ", " : "") + kink.input + " at " + to_string(kink.index);
    if (n > 0) report_.notes.emplace_back(what + entries(n) + " (" + places + (n > 3 ? ", ..." : "") + ")");
  }

  // Further runs, only where something disagrees, to name the fault.
  void diagnose() {
    const std::string where = report_.worst->input + " at " + to_string(report_.worst->index) + ": ";
    if (worst_.point == Point::jump || worst_.point == Point::vertical) {
      report_.hints.push_back(where +
                              (worst_.point == Point::jump ? "a jump: the value is not continuous here"
                                                           : "a vertical tangent: the slope grows without bound here") +
                              ", so there is no gradient; check at another point");
      return;
    }
    if (worst_.point == Point::kink)
      report_.hints.push_back(where + "a kink, and the gradient lies outside the slopes on both sides, " +
                              number(worst_.low) + " and " + number(worst_.high));
    std::vector<detail::Suspect> suspects;
    for (detail::Suspect& suspect : suspects_) {
      if (report_.inputs[suspect.input].wrong == 0) continue;
      suspect.reached = runs_.targets()[suspect.input].reached;
      if (report_.order == 1 && suspect.entries.size() <= 4096) split(suspect);
      suspects.push_back(std::move(suspect));
    }
    for (auto& hint : detail::hints(report_, suspects, runs_.base())) report_.hints.push_back(std::move(hint));
  }

  /// The numeric gradient by parts of the output, and for a cotangent of ones.
  void split(detail::Suspect& suspect) {
    const std::size_t t = suspect.input;
    const Array<double>&c = runs_.cotangents()[0], &like = report_.inputs[t].analytic;
    const Shape& shape = c.shape();
    Array<double> nothing = full<double>(like.shape(), std::numeric_limits<double>::quiet_NaN());
    for (const std::size_t i : suspect.entries) nothing.data()[i] = 0;
    suspect.of_ones = nothing;
    suspect.parts.resize(shape.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      suspect.parts[axis].assign(std::min<std::size_t>(shape[axis], 64), nothing);
    for (const std::size_t i : suspect.entries) {
      detail::Nudge nudge(runs_.targets()[t].leaf, i);
      const double x = nudge.before(), h = runs_.step(t, i), high = runs_.seen(x + h), low = runs_.seen(x - h);
      const auto up = runs_.at(t, nudge, high), down = runs_.at(t, nudge, low);
      for (std::size_t j = 0; j < c.size(); ++j) {
        const double slope = (up[0].data()[j] - down[0].data()[j]) / (high - low);
        if (slope == 0) continue;
        suspect.of_ones.data()[i] += slope;
        const Shape index = index_of(j, shape);
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
          if (index[axis] < suspect.parts[axis].size())
            suspect.parts[axis][index[axis]].data()[i] += c.data()[j] * slope;
      }
    }
  }

  const GradcheckOptions& options_;
  const detail::Precision precision_;
  detail::Runs runs_;
  GradcheckReport report_;
  std::vector<detail::Suspect> suspects_;  // one per input
  Verdict worst_{};
  double worst_excess_ = 0;
  std::size_t hidden_ = 0;
};

}  // namespace

namespace detail {

GradcheckReport run_gradcheck(int order, Module<double>* module, const CheckedFunction<double>& f,
                              const GradcheckInputs& inputs, const GradcheckOptions& options, Arithmetic arithmetic) {
  return Checker(order, module, f, inputs, options, arithmetic).run();
}

}  // namespace detail

}  // namespace xgrad
