// Ten steps of SGD on a small model against PyTorch, and gradient clipping.
#include <limits>
#include <set>
#include <xgrad/layers/feed_forward.hpp>
#include <xgrad/layers/layer_norm.hpp>
#include <xgrad/layers/linear.hpp>
#include <xgrad/layers/loss.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/optim/sgd.hpp>

#include "reference.hpp"

using namespace reference;

namespace {

const json& references() {
  static const json all = load("sgd.json");
  return all;
}

template <class T>
class Model : public xgrad::Module<T> {
 public:
  explicit Model(xgrad::Rng& rng)
      : input(3, 4, rng), norm(4), ffn({4, 8, xgrad::Activation::gelu, 0, true, {}}, rng), output(4, 1, rng) {}
  Variable<T> operator()(const Variable<T>& x) {
    const Variable<T> h = input(x);
    return output(h + ffn(norm(h)));
  }
  void visit(xgrad::Visitor<T>& v) override {
    v("input", input);
    v("norm", norm);
    v("ffn", ffn);
    v("output", output);
  }

  xgrad::Linear<T> input;
  xgrad::LayerNorm<T> norm;
  xgrad::FeedForward<T> ffn;
  xgrad::Linear<T> output;
};

/// K of the float bar: every step adds a gradient, which sums over the rows, to every parameter.
double terms_after(std::size_t steps, std::size_t rows) { return static_cast<double>(steps * rows); }

template <class T>
void compare(const json& run) {
  xgrad::Rng rng(0);
  Model<T> model(rng);
  xgrad::State<T> start = xgrad::state(model);
  start.arrays.clear();
  for (const std::string& name : names(references().at("start")))
    start.arrays.emplace_back(name, array<T>(references()["start"][name]));
  xgrad::load_state(model, start);
  const auto x = array<T>(references().at("x")), y = array<T>(references().at("y"));

  const json& o = run.at("options");
  xgrad::SGDOptions options;
  options.lr = o.at("lr");
  options.momentum = o.value("momentum", 0.0);
  options.dampening = o.value("dampening", 0.0);
  options.weight_decay = o.value("weight_decay", 0.0);
  options.nesterov = o.value("nesterov", false);
  xgrad::SGD<T> sgd(model.parameters(), options);

  const json& steps = run.at("steps");
  ASSERT_EQ(steps.size(), 10u);
  const double scale = run.at("scale");
  for (std::size_t step = 0; step < steps.size(); ++step) {
    if (2 * step == steps.size() && o.contains("lr_after")) sgd.set_lr(o["lr_after"]);
    const Variable<T> loss = xgrad::mse_loss(model(x), y);
    sgd.zero_grad();
    loss.backward();
    if (o.contains("clip_norm")) xgrad::clip_grad_norm(model.parameters(), o["clip_norm"].get<double>());
    if (o.contains("clip_value")) xgrad::clip_grad_value(model.parameters(), o["clip_value"].get<double>());
    sgd.step();

    const double terms = terms_after(step + 1, x.shape()[0]);
    const std::string after = " after step " + std::to_string(step + 1);
    const json expected_loss = {{"shape", json::array()}, {"data", {run.at("losses").at(step)}}};
    expect_close(loss.value(), expected_loss, terms, scale, "loss" + after);
    for (const auto& [name, parameter] : model.named_parameters()) {
      const json want = {{"shape", references().at("start").at(name).at("shape")}, {"data", steps[step].at(name)}};
      expect_close(parameter.value(), want, terms, scale, name + after);
    }
  }
}

class ReferenceSGD : public testing::TestWithParam<std::string> {};
class ReferenceClip : public testing::TestWithParam<std::string> {};

template <class T>
void compare_clipped(const json& want) {
  std::vector<Variable<T>> parameters;
  double terms = 0, largest = 0;
  for (const json& g : want.at("gradients")) {
    const auto gradient = array<T>(g);
    parameters.emplace_back(xgrad::zeros<T>(gradient.shape()), true);
    parameters.back().set_grad(gradient);
    terms += static_cast<double>(gradient.size());
    for (const T v : gradient) largest = std::max(largest, std::abs(static_cast<double>(v)));
  }
  if (want.contains("bound")) {
    xgrad::clip_grad_value(parameters, want["bound"].get<double>());
  } else {
    const double norm = xgrad::clip_grad_norm(parameters, want.at("max_norm").get<double>());
    EXPECT_LE(std::abs(norm - number(want.at("norm"))), bar<double>(number(want.at("norm")), 1, 1));
    largest = std::min(largest, want["max_norm"].get<double>());
  }
  for (std::size_t i = 0; i < parameters.size(); ++i)
    expect_close(parameters[i].grad(), want.at("clipped").at(i), terms, largest, "gradient " + std::to_string(i));
}

}  // namespace

TEST_P(ReferenceSGD, PyTorch) {
  const json& run = references().at("runs").at(GetParam());
  compare<double>(run);
  compare<float>(run);
}

INSTANTIATE_TEST_SUITE_P(Runs, ReferenceSGD, testing::ValuesIn(names(references().at("runs"))),
                         [](const auto& test) { return test.param; });

TEST_P(ReferenceClip, PyTorch) {
  compare_clipped<double>(references().at("clipping").at(GetParam()));
  compare_clipped<float>(references().at("clipping").at(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Cases, ReferenceClip, testing::ValuesIn(names(references().at("clipping"))),
                         [](const auto& test) { return test.param; });

// One setting at a time must move the parameters to another place, or a run says nothing about it.
TEST(ReferenceSGDRuns, AllDiffer) {
  std::set<json> ends;
  for (const json& run : references().at("runs")) ends.insert(run.at("steps").back());
  EXPECT_EQ(ends.size(), references()["runs"].size());
}
