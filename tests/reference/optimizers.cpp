// Twenty steps of Adam, AdamW and RMSprop, and the rates of schedules, against PyTorch.
#include <memory>
#include <set>
#include <xgrad/optim/adam.hpp>
#include <xgrad/optim/rmsprop.hpp>
#include <xgrad/optim/schedule.hpp>
#include <xgrad/optim/sgd.hpp>

#include "reference.hpp"

using namespace reference;

namespace {

namespace schedule = xgrad::schedule;

const json& references() {
  static const json all = load("optimizers.json");
  return all;
}

template <class Options>
Options adam_options(const json& o) {
  Options options;
  options.lr = o.at("lr");
  if (o.contains("betas")) options.beta1 = o["betas"][0], options.beta2 = o["betas"][1];
  options.eps = o.value("eps", options.eps);
  options.weight_decay = o.value("weight_decay", options.weight_decay);
  options.amsgrad = o.value("amsgrad", false);
  return options;
}

template <class T>
std::unique_ptr<xgrad::Optimizer<T>> make(const json& run, const std::vector<xgrad::ParameterGroup<T>>& groups) {
  const json& o = run.at("options");
  const std::string kind = run.at("class");
  if (kind == "Adam") return std::make_unique<xgrad::Adam<T>>(groups, adam_options<xgrad::AdamOptions>(o));
  if (kind == "AdamW") return std::make_unique<xgrad::AdamW<T>>(groups, adam_options<xgrad::AdamWOptions>(o));
  if (kind == "SGD")
    return std::make_unique<xgrad::SGD<T>>(groups,
                                           xgrad::SGDOptions{o.at("lr"), o.at("momentum"), 0, o.at("weight_decay")});
  if (kind != "RMSprop") throw std::runtime_error("no optimizer named " + kind);
  xgrad::RMSpropOptions options;
  options.lr = o.at("lr");
  options.alpha = o.value("alpha", options.alpha);
  options.eps = o.value("eps", options.eps);
  options.weight_decay = o.value("weight_decay", 0.0);
  options.momentum = o.value("momentum", 0.0);
  options.centered = o.value("centered", false);
  return std::make_unique<xgrad::RMSprop<T>>(groups, options);
}

template <class T>
void compare(const json& run) {
  std::vector<Variable<T>> parameters;
  for (const json& p : references().at("start")) parameters.emplace_back(array<T>(p), true);
  const std::vector<double> factors = run.at("options").value("groups", std::vector<double>{1, 1});
  const auto optimizer = make<T>(run, {{{parameters[0]}}, {{parameters[1]}, factors[0], factors[1]}});

  const json& steps = run.at("steps");
  ASSERT_EQ(steps.size(), 20u);
  for (std::size_t step = 0; step < steps.size(); ++step) {
    optimizer->set_lr(run.at("rates").at(step));
    for (std::size_t i = 0; i < parameters.size(); ++i)
      parameters[i].set_grad(array<T>(references().at("gradients").at(step).at(i)));
    optimizer->step();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const json want = {{"shape", references()["start"][i].at("shape")}, {"data", steps[step].at(i)}};
      expect_close(parameters[i].value(), want, static_cast<double>(step + 2), run.at("scale"),
                   "parameter " + std::to_string(i) + " after step " + std::to_string(step + 1));
    }
  }
}

class ReferenceOptimizer : public testing::TestWithParam<std::string> {};

/// Holds rate(k) against the rates of a schedule.
template <class F>
void compare_rates(const std::string& name, F rate) {
  const json& want = references().at("schedules").at(name);
  ASSERT_GE(want.size(), 10u);
  for (std::size_t k = 0; k < want.size(); ++k)
    EXPECT_NEAR(rate(k), want[k].get<double>(), 1e-14) << name << ", k = " << k;
}

}  // namespace

TEST_P(ReferenceOptimizer, PyTorch) {
  const json& run = references().at("runs").at(GetParam());
  compare<double>(run);
  compare<float>(run);
}

INSTANTIATE_TEST_SUITE_P(Runs, ReferenceOptimizer, testing::ValuesIn(names(references().at("runs"))),
                         [](const auto& test) { return test.param; });

// One setting at a time must move the parameters to another place, or a run says nothing about it.
TEST(ReferenceOptimizerRuns, AllDiffer) {
  std::set<json> ends;
  for (const json& run : references().at("runs")) ends.insert(run.at("steps").back());
  EXPECT_EQ(ends.size(), references()["runs"].size());
}

TEST(ReferenceSchedules, OPT_06_PyTorch) {
  compare_rates("step", [](std::size_t k) { return schedule::step(k, 0.8, 3, 0.5); });
  compare_rates("exponential", [](std::size_t k) { return schedule::exponential(k, 0.8, 0.9); });
  compare_rates("cosine", [](std::size_t k) { return schedule::cosine(k, 0.8, 10, 0.1); });
  compare_rates("one_cycle", [](std::size_t k) { return schedule::one_cycle(k, 0.8, 20); });
  compare_rates("one_cycle_options", [](std::size_t k) { return schedule::one_cycle(k, 0.8, 17, {0.4, 10, 100}); });
}

TEST(ReferenceSchedules, ReduceOnPlateauPyTorch) {
  const auto metrics = references().at("schedules").at("plateau_metrics").get<std::vector<double>>();
  xgrad::PlateauOptions plain, options, larger;
  for (auto* o : {&plain, &options, &larger}) o->factor = 0.5, o->patience = 2;
  plain.threshold = larger.threshold = 0.02;
  larger.maximize = true;
  options.threshold = 0.1;
  options.relative = false;
  options.cooldown = 2;
  options.min_lr = 0.15;
  const auto follow = [&](const std::string& name, const xgrad::PlateauOptions& o) {
    xgrad::ReduceOnPlateau plateau(o);
    double lr = 0.8;
    compare_rates(name, [&](std::size_t k) {
      const double now = lr;
      lr = plateau(lr, o.maximize ? 1 / metrics[k] : metrics[k]);
      return now;
    });
  };
  follow("plateau", plain);
  follow("plateau_options", options);
  follow("plateau_max", larger);
}
