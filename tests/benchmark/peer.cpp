// The peer: the same works on PyTorch's C++ front end, as a user who knows it well would write them.
#include <torch/torch.h>

#include "server.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct BlockImpl : nn::Module {
  BlockImpl(StepSize size, bool use_gelu)
      : norm(register_module("norm", nn::LayerNorm(nn::LayerNormOptions({size.d_model})))),
        linear1(register_module("linear1", nn::Linear(size.d_model, size.d_ff))),
        linear2(register_module("linear2", nn::Linear(size.d_ff, size.d_model))),
        dropout(register_module("dropout", nn::Dropout(0.1))),
        gelu(use_gelu) {}
  Tensor forward(const Tensor& x) {
    const Tensor hidden = linear1(norm(x));
    return x + linear2(dropout(gelu ? torch::gelu(hidden) : torch::relu(hidden)));
  }
  nn::LayerNorm norm;
  nn::Linear linear1, linear2;
  nn::Dropout dropout;
  bool gelu;
};
TORCH_MODULE(Block);

Prepare step(StepSize size, bool gelu) {
  return [=] {
    torch::manual_seed(1);
    Block block(size, gelu);
    const Tensor x = torch::randn({size.rows, size.d_model}), y = torch::randn({size.rows, size.d_model});
    const auto sgd = std::make_shared<torch::optim::SGD>(block->parameters(), torch::optim::SGDOptions(1e-3));
    return [=]() mutable {
      const Tensor loss = torch::mse_loss(block->forward(x), y);
      block->zero_grad(/*set_to_none=*/true);
      loss.backward();
      sgd->step();
    };
  };
}

/// Forward and backward of `op`, with `parameters` vectors of the row's width beside x.
Prepare alone(int rows, int width, int parameters, std::function<Tensor(const std::vector<Tensor>&)> op) {
  return [=] {
    torch::manual_seed(1);
    std::vector<Tensor> inputs{torch::randn({rows, width}).requires_grad_()};
    for (int i = 0; i < parameters; ++i) inputs.push_back(torch::ones({width}).requires_grad_());
    const Tensor seed = torch::randn({rows, width});
    return [=]() mutable {
      const Tensor y = op(inputs);
      for (auto& input : inputs) input.mutable_grad() = Tensor();
      y.backward(y.dim() == 0 ? Tensor() : seed);
    };
  };
}

/// `op` without a graph.
Prepare forward(int rows, int width, std::function<Tensor(const Tensor&)> op) {
  return [=] {
    const Tensor x = torch::randn({rows, width});
    return [=] {
      const torch::NoGradGuard off;
      op(x);
    };
  };
}

template <class Optimizer, class Options>
Prepare update(Options options) {
  return [=] {
    std::vector<Tensor> parameters;
    for (int i = 0; i < 10; ++i) {
      parameters.push_back(torch::randn({1000, 1000}).requires_grad_());
      parameters.back().mutable_grad() = torch::randn({1000, 1000});
    }
    const auto optimizer = std::make_shared<Optimizer>(parameters, options);
    return [=] { optimizer->step(); };
  };
}

struct RegressorImpl : nn::Module {
  RegressorImpl(int features, int d)
      : embed(register_module("embed", nn::Linear(features, d))),
        norm(register_module("norm", nn::LayerNorm(nn::LayerNormOptions({d})))),
        linear1(register_module("linear1", nn::Linear(d, 4 * d))),
        linear2(register_module("linear2", nn::Linear(4 * d, d))),
        head(register_module("head", nn::Linear(d, 1))) {}
  Tensor forward(const Tensor& x) {
    const Tensor h = embed(x);
    return head(h + linear2(torch::dropout(torch::gelu(linear1(norm(h))), 0.1, is_training())));
  }
  nn::Linear embed;
  nn::LayerNorm norm;
  nn::Linear linear1, linear2, head;
};
TORCH_MODULE(Regressor);

/// Biases and the norm's parameters do not decay.
torch::optim::AdamW adamw(Regressor& model) {
  std::vector<Tensor> decaying, others;
  for (const Tensor& p : model->parameters()) (p.dim() > 1 ? decaying : others).push_back(p);
  const auto options = [](double decay) {
    return std::make_unique<torch::optim::AdamWOptions>(torch::optim::AdamWOptions(1e-3).weight_decay(decay));
  };
  return torch::optim::AdamW({{decaying, options(1e-2)}, {others, options(0)}}, torch::optim::AdamWOptions(1e-3));
}

std::function<void()> regression_epoch() {
  torch::manual_seed(1);
  const Tensor xs = torch::randn({kTableRows, kFeatures}), ys = torch::randn({kTableRows, 1});
  Regressor model(kFeatures, 50);
  const auto adam = std::make_shared<torch::optim::AdamW>(adamw(model));
  const std::vector<Tensor> parameters = model->parameters();
  std::vector<Tensor> means;
  for (const Tensor& p : parameters) means.push_back(p.detach().clone());
  return [=]() mutable {
    for (const Tensor& rows : torch::randperm(kTableRows).split(32)) {
      const Tensor loss = torch::mse_loss(model->forward(xs.index_select(0, rows)), ys.index_select(0, rows));
      model->zero_grad(/*set_to_none=*/true);
      loss.backward();
      adam->step();
      const torch::NoGradGuard off;
      for (std::size_t i = 0; i < means.size(); ++i) means[i].lerp_(parameters[i], 0.01);
    }
  };
}

std::function<void()> tiny_ops() {
  const Tensor x = torch::randn({8}).requires_grad_(), w = torch::ones({8}).requires_grad_();
  return [=]() mutable {
    Tensor y = x;
    for (int i = 0; i < 500; ++i) y = y * w + w;
    x.mutable_grad() = w.mutable_grad() = Tensor();
    y.sum().backward();
  };
}

Works all_works() {
  Works works;
  for (const auto& size : kSteps) {
    works["step relu " + size.name()] = step(size, false);
    works["step gelu " + size.name()] = step(size, true);
  }
  for (const int rows : kRows) {
    const std::string size = " " + std::to_string(rows) + "x512";
    works["layer_norm" + size] = alone(rows, kWidth, 2, [](const std::vector<Tensor>& in) {
      return torch::layer_norm(in[0], {kWidth}, in[1], in[2]);
    });
    works["rms_norm" + size] = alone(rows, kWidth, 1, [](const std::vector<Tensor>& in) {
      return in[0] * torch::rsqrt(in[0].square().mean(-1, true) + 1e-5) * in[1];  // 1.13 has none of its own
    });
    works["softmax" + size] =
        alone(rows, kWidth, 0, [](const std::vector<Tensor>& in) { return torch::softmax(in[0], -1); });
    works["gelu" + size] = alone(rows, kWidth, 0, [](const std::vector<Tensor>& in) { return torch::gelu(in[0]); });
    works["dropout" + size] =
        alone(rows, kWidth, 0, [](const std::vector<Tensor>& in) { return torch::dropout(in[0], 0.1, true); });
    works["dropout forward" + size] =
        forward(rows, kWidth, [](const Tensor& x) { return torch::dropout(x, 0.1, true); });
  }
  works["cross_entropy 512x50257"] = alone(512, 50257, 0, [](const std::vector<Tensor>& in) {
    static const Tensor classes = torch::arange(512) * 98;
    return torch::cross_entropy_loss(in[0], classes);
  });
  works["sgd 10M"] = update<torch::optim::SGD>(torch::optim::SGDOptions(1e-3));
  works["sgd momentum 10M"] = update<torch::optim::SGD>(torch::optim::SGDOptions(1e-3).momentum(0.9));
  works["adam 10M"] = update<torch::optim::Adam>(torch::optim::AdamOptions(1e-3));
  works["adamw 10M"] = update<torch::optim::AdamW>(torch::optim::AdamWOptions(1e-3));
  works["epoch of regression"] = regression_epoch;
  works["1000 tiny ops"] = tiny_ops;
  return works;
}

}  // namespace

int main() { return serve(all_works()); }
