// Runs of a function that is checked, and differences of its values: the numeric half of gradcheck.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "finite.hpp"
#include "gradcheck.hpp"

namespace xgrad::detail {

/// "input 0", ... or the names in the options; throws std::invalid_argument when their number is another.
std::vector<std::string> input_names(const GradcheckInputs& inputs, const GradcheckOptions& options);

/// How finely a check can look.
struct Precision {
  double epsilon;     // of the function's values
  double step;        // h = step * max(1, |x|)
  double rtol, atol;  // allowed difference
  double finds;       // relative error that is found, where rounding does not hide it,
  double floor;       // in entries above this part of the largest of their input
  int levels;         // steps that are extrapolated from
  double widen;       // factor of a wider step, where the output's rounding hides the gradient
  int widenings;
  double blur;  // rounding of analytic gradients, relative to the largest of an input
  bool narrow;  // the function's inputs are rounded to float
};

/// Throws std::invalid_argument for an impossible option.
Precision precision(const GradcheckOptions& options, Arithmetic arithmetic);

/// What a run of a module may change: its generators and buffers, put back on request and at the end. With
/// `parameters_too` also its parameters, at the end. All is held by handle, so that nothing depends on what `visit`
/// lists later, and putting back does not throw.
template <class T>
class Surroundings final : public Visitor<T> {
 public:
  explicit Surroundings(Module<T>* module, bool parameters_too = false) : parameters_too_(parameters_too) {
    if (module) module->visit(*this);
  }
  ~Surroundings() override;
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  void restore(bool generators_too);
  /// Name of a generator that has drawn since, or "".
  std::string drawn_from() const;

 protected:
  void on_parameter(const std::string&, Variable<T>& p) override {
    if (parameters_too_ && p.is_leaf()) parameters_.emplace_back(p, p.value());
  }
  void on_buffer(const std::string&, Array<T>& b) override { buffers_.emplace_back(&b, b); }
  void on_generator(const std::string& path, Rng& g) override { generators_.push_back({path, &g, g.state()}); }

 private:
  struct Generator {
    std::string path;
    Rng* now;
    Rng::State before;
  };
  const bool parameters_too_;
  std::vector<std::pair<Variable<T>, Array<T>>> parameters_;
  std::vector<std::pair<Array<T>*, Array<T>>> buffers_;
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

/// The slope of sum(cotangent * output) along one entry.
struct Slope {
  double value;
  double noise;       // how far rounding of the output may have moved it
  double spread;      // by how much the last step of an extrapolation moved it
  double low, high;   // between these lie the slopes on both sides, output by output
  double side_noise;  // how far rounding may have moved high - low
  double doubt() const { return noise + spread; }
  double bend() const { return high - low; }
};

/// Thrown by a run whose gradient could not be taken; the message goes into the report.
struct NoGradient {
  std::string message;
};

/// The function that is checked: f, or for second order its gradients, as a function of all targets.
class Runs {
 public:
  Runs(int order, Module<double>* module, const CheckedFunction<double>& f, const GradcheckInputs& inputs,
       const GradcheckOptions& options, const Precision& precision);

  /// One run on the numbers the targets hold now.
  std::vector<Variable<double>> outputs();
  static std::vector<Array<double>> values(const std::vector<Variable<double>>& outputs);

  /// Makes these outputs the reference, draws cotangents for them, and takes the gradients by all targets.
  std::vector<Array<double>> differentiate(const std::vector<Variable<double>>& outputs);
  /// How these gradients differ when the inputs are temporaries whose numbers are gone once f has returned, or "".
  std::string compare_with_temporaries(const std::vector<Array<double>>& gradients_of_leaves);
  /// Second order: how the gradient taken with its graph differs from the plain one, or "".
  std::string compare_with_plain_pass();

  /// The outputs with one entry of target t set to x.
  std::vector<Array<double>> at(std::size_t t, Nudge& nudge, double x);
  /// Central difference of step h, and the differences to both sides.
  Slope central(std::size_t t, std::size_t i, double h);
  /// Richardson's extrapolation of central differences of steps h, 2 h, 4 h, ...: of order 2 * levels.
  Slope slope(std::size_t t, std::size_t i, double h, int levels);
  double step(std::size_t t, std::size_t i) const;
  /// x as the function can see it.
  double seen(double x) const { return precision_.narrow ? static_cast<double>(static_cast<float>(x)) : x; }

  std::vector<CheckTarget>& targets() { return targets_; }
  const std::vector<Array<double>>& base() const { return base_; }
  const std::vector<Array<double>>& cotangents() const { return cotangents_; }

 private:
  void add_target(const std::string& name, const Variable<double>& leaf);
  Variable<double> call() { return call(inputs_); }
  Variable<double> call(const std::vector<Variable<double>>& inputs);
  std::vector<Variable<double>> first_gradients(const Variable<double>& y, bool create_graph);

  const int order_;
  const CheckedFunction<double>& f_;
  const GradcheckOptions& options_;
  const Precision& precision_;
  Surroundings<double> surroundings_;
  std::vector<Variable<double>> inputs_;
  std::vector<CheckTarget> targets_;
  Variable<double> cotangent_;  // of f, second order only
  std::vector<Array<double>> base_, cotangents_;
};

}  // namespace xgrad::detail
