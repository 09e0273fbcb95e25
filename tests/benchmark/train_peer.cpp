// A user's whole program on the peer, for compile time: the same as train_ours.cpp.
#include <torch/torch.h>

#include <iostream>

namespace nn = torch::nn;

struct Model : nn::Module {
  torch::Tensor forward(const torch::Tensor& x) {
    const auto h = in(x);
    return out(h + linear2(dropout(torch::relu(linear1(norm(h))))));
  }
  nn::Linear in = register_module("in", nn::Linear(1, 8));
  nn::LayerNorm norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({8})));
  nn::Linear linear1 = register_module("linear1", nn::Linear(8, 32));
  nn::Dropout dropout = register_module("dropout", nn::Dropout(0.1));
  nn::Linear linear2 = register_module("linear2", nn::Linear(32, 8));
  nn::Linear out = register_module("out", nn::Linear(8, 1));
};

int main() {
  torch::manual_seed(1);
  Model model;
  torch::optim::SGD sgd(model.parameters(), torch::optim::SGDOptions(1e-2).momentum(0.9));
  const auto x = torch::randn({64, 1}), y = torch::sin(x);
  for (int i = 0; i < 100; ++i) {
    const auto loss = torch::mse_loss(model.forward(x), y);
    model.zero_grad(true);
    loss.backward();
    sgd.step();
    if (i % 10 == 9) std::cout << loss.item<float>() << '\n';
  }
}
