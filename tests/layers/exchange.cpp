// Weights that come from PyTorch and go there give the same outputs.
#include <gtest/gtest.h>

#include <cmath>
#include <xgrad/core/checkpoint.hpp>
#include <xgrad/core/ops/activation.hpp>
#include <xgrad/layers/feed_forward.hpp>
#include <xgrad/layers/layer_norm.hpp>
#include <xgrad/layers/sequential.hpp>

#include "folder.hpp"

namespace {

using xgrad::Activation;

/// Calls f(name, model) for each kind of model in exchange.py.
template <class T, class F>
void for_each_model(F f) {
  xgrad::Rng rng(5);
  const std::pair<const char*, Activation> forms[] = {
      {"ffn_relu", Activation::relu}, {"ffn_gelu", Activation::gelu},     {"ffn_gelu_tanh", Activation::gelu_tanh},
      {"ffn_silu", Activation::silu}, {"ffn_swiglu", Activation::swiglu}, {"ffn_geglu", Activation::geglu}};
  for (const auto& [name, activation] : forms) {
    xgrad::FeedForwardOptions options;
    options.d_model = 6;
    options.d_ff = 10;
    options.activation = activation;
    options.dropout = 0.1;
    xgrad::FeedForward<T> ffn(options, rng);
    f(name, ffn);
  }
  xgrad::LayerNorm<T> norm(6);
  f("layer_norm", norm);
  xgrad::Sequential<T> regression{xgrad::Linear<T>(6, 50, rng), xgrad::relu<T>, xgrad::Linear<T>(50, 1, rng)};
  f("regression", regression);
}

template <class T>
void compare_with_pytorch() {
  const std::string folder = XGRAD_SOURCE_DIR "/tests/corpus/pytorch/";
  for_each_model<T>([&](const std::string& name, auto& model) {
    model.eval();
    xgrad::load(folder + name + ".safetensors", model);
    xgrad::SafetensorsFile io(folder + name + ".io.safetensors");
    const auto want = io.get<T>("y");
    const auto y = model(xgrad::Variable<T>(io.get<T>("x"))).value();
    ASSERT_EQ(y.shape(), want.shape()) << name;
    for (std::size_t i = 0; i < y.size(); ++i)
      EXPECT_NEAR(y.data()[i], want.data()[i], 1e-5 * (1 + std::abs(want.data()[i]))) << name;
  });
}

TEST(Exchange, FromPyTorch) { compare_with_pytorch<float>(); }
TEST(Exchange, FromPyTorchIntoDouble) { compare_with_pytorch<double>(); }

TEST(Exchange, ToPyTorch) {
  if (std::system("/usr/bin/python3 -c 'import torch' 2>/dev/null") != 0)
    GTEST_SKIP() << "no PyTorch at /usr/bin/python3 (apt-get install python3-torch); FromPyTorch stands in for it";
  const Folder folder;
  xgrad::Rng rng(6);
  for_each_model<float>([&](const std::string& name, auto& model) {
    model.eval();
    for (auto& p : model.parameters()) p.mutate([&](auto& a) { a = rng.normal<float>(a.shape(), 0.f, 0.5f); });
    xgrad::save(folder / (name + ".safetensors"), model);
    const auto x = rng.normal<float>({3, 6});
    const auto y = model(xgrad::Variable<float>(x)).value();
    xgrad::save_safetensors(folder / (name + ".io.safetensors"), {{"x", x}, {"y", y}});
  });
  const std::string script = "/usr/bin/python3 " XGRAD_SOURCE_DIR "/tests/layers/exchange.py check ";
  EXPECT_EQ(std::system((script + folder.str()).c_str()), 0);
}

}  // namespace
