// Layers against PyTorch: value, and gradients by input and every parameter.
#include <map>
#include <set>
#include <xgrad/layers/dropout.hpp>
#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/feed_forward.hpp>
#include <xgrad/layers/layer_norm.hpp>
#include <xgrad/layers/linear.hpp>
#include <xgrad/layers/rms_norm.hpp>

#include "reference.hpp"

using namespace reference;

namespace {

const json& references() {
  static const json all = load("layers.json");
  return all;
}

const std::map<std::string, xgrad::Activation> kActivations = {
    {"relu", xgrad::Activation::relu},           {"gelu", xgrad::Activation::gelu},
    {"gelu_tanh", xgrad::Activation::gelu_tanh}, {"silu", xgrad::Activation::silu},
    {"swiglu", xgrad::Activation::swiglu},       {"geglu", xgrad::Activation::geglu}};

Shape shape_of(const json& options) {
  const auto extents = options.at("shape").get<std::vector<std::size_t>>();
  return {extents.begin(), extents.end()};
}

/// Puts the state of the reference into the module, name by name (PyTorch's names), runs it and compares.
template <class T, class F>
void compare(xgrad::Module<T>& module, const json& want, F forward) {
  xgrad::State<T> state = xgrad::state(module);
  state.arrays.clear();
  for (const std::string& name : names(want.at("state")))
    state.arrays.emplace_back(name, array<T>(want["state"][name]));
  xgrad::load_state(module, state);

  const Variable<T> y = forward();
  if (y.requires_grad()) y.backward(array<T>(want.at("cotangent")));
  expect_close(y.value(), want.at("value"), "value");
  for (const auto& [name, parameter] : module.named_parameters())
    expect_close(gradient(parameter), want.at("gradients").at(name), "gradient of " + name);
}

template <class T, class M>
void compare_on_input(M& module, const json& want) {
  const Variable<T> x(array<T>(want.at("input")), true);
  compare<T>(module, want, [&] { return module(x); });
  expect_close(gradient(x), want.at("gradients").at("input"), "gradient of the input");
}

template <class T>
void layer_norm(const json& want) {
  const json& o = want.at("options");
  const auto form = o.at("form") == "unbiased" ? xgrad::NormForm::unbiased : xgrad::NormForm::population;
  xgrad::LayerNorm<T> layer({shape_of(o), o.at("eps").get<double>(), o.at("gamma"), o.at("beta"), form});
  compare_on_input<T>(layer, want);
}

template <class T>
void rms_norm(const json& want) {
  const json& o = want.at("options");
  xgrad::RMSNorm<T> layer(xgrad::RMSNormOptions{shape_of(o), o.at("eps"), o.at("gamma")});
  compare_on_input<T>(layer, want);
}

template <class T>
void linear(const json& want) {
  const json& o = want.at("options");
  xgrad::Rng rng(0);
  xgrad::LinearOptions options;
  options.in = o.at("in");
  options.out = o.at("out");
  options.bias = o.at("bias");
  xgrad::Linear<T> layer(options, rng);
  compare_on_input<T>(layer, want);
}

template <class T>
void embedding(const json& want) {
  const json& o = want.at("options");
  xgrad::Rng rng(0);
  xgrad::Embedding<T> layer(o.at("count").get<std::size_t>(), o.at("features").get<std::size_t>(), rng);
  const xgrad::Index ids = index(want.at("input"));
  compare<T>(layer, want, [&] { return o.at("tied") ? layer.as_linear(layer(ids)) : layer(ids); });
}

template <class T>
void feed_forward(const json& want) {
  const json& o = want.at("options");
  xgrad::Rng rng(0);
  xgrad::FeedForwardOptions options;
  options.d_model = o.at("d_model");
  options.d_ff = o.at("d_ff");
  options.activation = kActivations.at(o.at("activation"));
  options.dropout = o.at("dropout");
  options.bias = o.at("bias");
  xgrad::FeedForward<T> layer(options, rng);
  layer.eval();
  compare_on_input<T>(layer, want);
}

template <class T>
void dropout_eval(const json& want) {
  xgrad::Rng rng(0);
  xgrad::Dropout<T> layer(want.at("options").at("p").get<double>(), rng);
  layer.eval();
  compare_on_input<T>(layer, want);
}

struct Kind {
  void (*f64)(const json&);
  void (*f32)(const json&);
};
const std::map<std::string, Kind> kKinds = {
    {"layer_norm", {layer_norm<double>, layer_norm<float>}},
    {"rms_norm", {rms_norm<double>, rms_norm<float>}},
    {"linear", {linear<double>, linear<float>}},
    {"embedding", {embedding<double>, embedding<float>}},
    {"feed_forward", {feed_forward<double>, feed_forward<float>}},
    {"dropout_eval", {dropout_eval<double>, dropout_eval<float>}},
};

class ReferenceLayer : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(ReferenceLayer, PyTorch) {
  const json& want = references().at(GetParam());
  const Kind& kind = kKinds.at(want.at("kind"));
  kind.f64(want);
  kind.f32(want);
}

INSTANTIATE_TEST_SUITE_P(Layers, ReferenceLayer, testing::ValuesIn(names(references())),
                         [](const auto& test) { return test.param; });

TEST(ReferenceLayers, EveryKindAndActivation) {
  std::set<std::string> kinds, activations;
  for (const json& c : references()) {
    kinds.insert(c.at("kind").get<std::string>());
    if (c["kind"] == "feed_forward") activations.insert(c.at("options").at("activation").get<std::string>());
  }
  EXPECT_EQ(kinds.size(), kKinds.size());
  EXPECT_EQ(activations.size(), kActivations.size());
}
