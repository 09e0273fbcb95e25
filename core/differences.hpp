// Runs of a function that is checked, and differences of its values: the numeric half of gradcheck.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "finite.hpp"
#include "gradcheck.hpp"

namespace xgrad::detail {

/// What a run of a module may change: its generators and buffers, put back on request and at the end.
class Surroundings final : public Visitor<double> {
 public:
  explicit Surroundings(Module<double>* module) {
    if (module) module->visit(*this);
  }
  ~Surroundings() override { restore(true); }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  void restore(bool generators_too);
  /// Name of a generator that has drawn since, or "".
  std::string drawn_from() const;

 protected:
  void on_buffer(const std::string&, Array<double>& b) override { buffers_.emplace_back(&b, b); }
  void on_generator(const std::string& path, Rng& g) override { generators_.push_back({path, &g, g.state()}); }

 private:
  struct Generator {
    std::string path;
    Rng* now;
    Rng::State before;
  };
  std::vector<std::pair<Array<double>*, Array<double>>> buffers_;
  std::vector<Generator> generators_;
};

/// One entry of a leaf or constant, put back bit for bit when this goes.
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

/// What a gradient is taken by.
struct CheckTarget {
  std::string name;
  Variable<double> leaf;
  bool reached = true;  // some output's graph leads to it
};

/// A slope, and how far rounding of the values may have moved it.
struct Difference {
  double slope;
  double noise;
};

/// Thrown by a run whose gradient could not be taken; the message goes into the report.
struct NoGradient {
  std::string message;
};

/// The function that is checked: f, or for second order its gradients, as a function of all targets.
class Runs {
 public:
  Runs(int order, Module<double>* module, const CheckedFunction& f, const GradcheckInputs& inputs,
       const GradcheckOptions& options);

  /// One run on the numbers the targets hold now.
  std::vector<Variable<double>> outputs();
  static std::vector<Array<double>> values(const std::vector<Variable<double>>& outputs);

  /// Makes these outputs the reference, draws cotangents for them, and takes the gradients by all targets.
  std::vector<Array<double>> differentiate(const std::vector<Variable<double>>& outputs);
  /// Second order: how the gradient taken with its graph differs from the plain one, or "".
  std::string compare_with_plain_pass();

  /// The outputs with one entry of target t set to x.
  std::vector<Array<double>> at(std::size_t t, Nudge& nudge, double x);
  /// Slope of sum(cotangent * output) between two values of an entry.
  Difference slope(std::size_t t, Nudge& nudge, double low, double high);
  /// Central difference with step h; of fourth order from steps h and 2 h.
  Difference central(std::size_t t, std::size_t i, double h);
  Difference fourth_order(std::size_t t, std::size_t i, double h);
  double step(std::size_t t, std::size_t i) const;

  std::vector<CheckTarget>& targets() { return targets_; }
  const std::vector<Array<double>>& base() const { return base_; }
  const std::vector<Array<double>>& cotangents() const { return cotangents_; }

 private:
  void add_target(const std::string& name, const Variable<double>& leaf);
  Variable<double> call();
  std::vector<Variable<double>> first_gradients(const Variable<double>& y, bool create_graph);

  const int order_;
  const CheckedFunction& f_;
  const GradcheckOptions& options_;
  Surroundings surroundings_;
  std::vector<Variable<double>> inputs_;
  std::vector<CheckTarget> targets_;
  Variable<double> cotangent_;  // of f, second order only
  std::vector<Array<double>> base_, cotangents_;
};

}  // namespace xgrad::detail
