#include "gradcheck.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "diagnosis.hpp"
#include "differences.hpp"

namespace xgrad {

namespace {

using detail::Difference;
using detail::index_of;

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
      : options_(options), runs_(order, module, f, inputs, options) {
    report_.order = order;
    report_.seed = options.seed;
    for (const auto& target : runs_.targets()) {
      report_.inputs.emplace_back();
      report_.inputs.back().name = target.name;
    }
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
      for (std::size_t t = 0; t < analytic.size(); ++t) report_.inputs[t].analytic = std::move(analytic[t]);
      report_.cotangents = runs_.cotangents();
    }
    if (problem(runs_.compare_with_plain_pass())) return;
    for (std::size_t t = 0; t < report_.inputs.size(); ++t) compare(t);
    if (hidden_ > 0)
      report_.notes.push_back("rounding of the large output hides relative errors of 1e-4 in " +
                              std::to_string(hidden_) + (hidden_ == 1 ? " entry" : " entries"));
    if (report_.worst) diagnose();
  }

  bool problem(std::string text) {
    report_.problem = std::move(text);
    return !report_.problem.empty();
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
        if (std::memcmp(&x, &y, sizeof x) != 0 && !(std::isnan(x) && std::isnan(y)))
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
    input.numeric = empty<double>(input.analytic.shape());
    for (std::size_t i = 0; i < input.analytic.size(); ++i) {
      const double a = input.analytic.data()[i];
      const Difference d = measure(t, i, a);
      input.numeric.data()[i] = d.slope;
      const double apart = std::abs(a - d.slope);
      const double allowed = options_.atol + options_.rtol * std::max(std::abs(a), std::abs(d.slope)) + d.noise;
      if (apart <= allowed && std::isfinite(allowed)) continue;
      ++input.wrong;
      const double excess = std::isfinite(apart) ? apart / allowed : std::numeric_limits<double>::infinity();
      if (report_.worst && excess <= worst_excess_) continue;
      worst_excess_ = excess;
      worst_target_ = t;
      worst_entry_ = i;
      report_.worst = GradcheckEntry{input.name, index_of(i, input.analytic.shape()), a, d.slope, allowed};
    }
  }

  /// The numeric gradient of an entry, with wider steps where the output is so large that its rounding would hide a
  /// fault.
  Difference measure(std::size_t t, std::size_t i, double analytic) {
    const auto blurred = [&](const Difference& d, double part) {
      return d.noise > std::max(options_.atol, part * std::max(std::abs(analytic), std::abs(d.slope)));
    };
    double h = runs_.step(t, i);
    Difference d = runs_.central(t, i, h);
    for (int widening = 0; widening < 3 && blurred(d, 1e-5); ++widening) {
      const Difference wide = runs_.fourth_order(t, i, h *= 10);
      if (!std::isfinite(wide.slope)) break;  // left the domain of f
      d = wide;
    }
    if (blurred(d, 1e-4)) ++hidden_;
    return d;
  }

  // Further runs, only where something disagrees, to name the fault.
  void diagnose() {
    const std::string kink = find_kink();
    if (!kink.empty()) {
      report_.hints.push_back(kink);
      return;
    }
    std::vector<detail::Suspect> suspects;
    for (std::size_t t = 0; t < report_.inputs.size(); ++t) {
      if (report_.inputs[t].wrong == 0) continue;
      detail::Suspect suspect{t, runs_.targets()[t].reached, {}, {}};
      if (report_.order == 1 && report_.inputs[t].analytic.size() <= 4096) split(suspect);
      suspects.push_back(std::move(suspect));
    }
    report_.hints = detail::hints(report_, suspects, runs_.base(), options_.atol);
  }

  /// The numeric gradient by parts of the output, and for a cotangent of ones.
  void split(detail::Suspect& suspect) {
    const std::size_t t = suspect.input;
    const Array<double>&c = runs_.cotangents()[0], &like = report_.inputs[t].analytic;
    const Shape& shape = c.shape();
    suspect.of_ones = zeros<double>(like.shape());
    suspect.parts.resize(shape.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      suspect.parts[axis].assign(std::min<std::size_t>(shape[axis], 64), zeros<double>(like.shape()));
    for (std::size_t i = 0; i < like.size(); ++i) {
      detail::Nudge nudge(runs_.targets()[t].leaf, i);
      const double h = runs_.step(t, i), high = nudge.before() + h, low = nudge.before() - h;
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

  /// Looks at both sides of the worst entry: at a kink the slopes differ however small the step.
  std::string find_kink() {
    const GradcheckEntry& worst = *report_.worst;
    if (!std::isfinite(worst.analytic) || !std::isfinite(worst.numeric)) return "";
    const std::size_t t = worst_target_;
    detail::Nudge nudge(runs_.targets()[t].leaf, worst_entry_);
    const double x = nudge.before(), h = runs_.step(t, worst_entry_);
    const auto sides = [&](double width) {
      return std::pair(runs_.slope(t, nudge, x - width, x).slope, runs_.slope(t, nudge, x, x + width).slope);
    };
    const auto [left, right] = sides(h);
    const double jump = std::abs(right - left), size = std::max(std::abs(left), std::abs(right));
    if (!(jump > 1e-2 * size && jump > 100 * worst.allowed)) return "";
    const auto [close_left, close_right] = sides(h / 100);
    const std::string where = worst.input + " at " + to_string(worst.index) + ": ";
    if (std::abs(close_right - close_left) > 0.5 * jump)
      return where + "a kink: the slope is " + number(left) + " to the left and " + number(right) +
             " to the right; check at another point";
    if (std::abs((close_left + close_right) / 2 - worst.analytic) <= 1e-2 * size)
      return where + "a kink or sharp bend within the step " + number(h) +
             " (closer differences agree); check at another point or with a smaller options.step";
    return "";
  }

  const GradcheckOptions& options_;
  detail::Runs runs_;
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

std::string GradcheckReport::text() const {
  std::ostringstream out;
  out.precision(9);
  const auto count = [](std::size_t n, const char* one, const char* many) {
    return std::to_string(n) + ' ' + (n == 1 ? one : many);
  };
  out << (order == 2 ? "gradgradcheck (second order) " : "gradcheck ") << (ok() ? "passed: " : "failed: ");
  if (!problem.empty()) {
    out << problem << '\n';
    return out.str();
  }
  if (ok()) {
    out << count(checked(), "entry", "entries") << " of " << count(inputs.size(), "input", "inputs") << " checked\n";
  } else {
    out << wrong() << " of " << count(checked(), "entry", "entries") << " disagree\n";
    std::size_t agreeing = 0;
    for (const GradcheckInput& input : inputs)
      if (input.wrong > 0)
        out << "  " << input.name << ", shape " << to_string(input.analytic.shape()) << ": " << input.wrong << " of "
            << input.analytic.size() << " disagree\n";
      else ++agreeing;
    if (agreeing > 0) out << "  " << count(agreeing, "other input agrees\n", "other inputs agree\n");
    out << "worst: " << worst->input << " at " << to_string(worst->index) << ": analytic " << worst->analytic
        << ", numeric " << worst->numeric;
    out.precision(2);
    out << " (apart by " << std::abs(worst->analytic - worst->numeric) << ", allowed " << worst->allowed << ")\n";
    for (const std::string& hint : hints) out << "hint: " << hint << '\n';
    out << "cotangent from seed " << seed;
    if (cotangents.size() == 1 && cotangents[0].size() <= 12) {
      std::string numbers = to_string(cotangents[0], 4);
      numbers.erase(std::remove(numbers.begin(), numbers.end(), '\n'), numbers.end());
      out << ": " << numbers;
    }
    out << '\n';
  }
  for (const std::string& note : notes) out << "note: " << note << '\n';
  return out.str();
}

std::ostream& operator<<(std::ostream& out, const GradcheckReport& report) { return out << report.text(); }

}  // namespace xgrad
