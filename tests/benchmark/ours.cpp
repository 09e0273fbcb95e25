// Our side: every work as a user writes it, and the floors, which use no graph.
#include <omp.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <vector>
#include <xgrad/xgrad.hpp>

#include "../../examples/regressor.hpp"
#include "server.hpp"

namespace {

using xgrad::Array;
using xgrad::Variable;
using Inputs = std::vector<Variable<float>>;

struct Block : xgrad::Module<float> {
  Block(StepSize size, xgrad::Activation activation, xgrad::Rng& rng)
      : norm(static_cast<std::size_t>(size.d_model)), ffn(options(size, activation), rng) {}
  Variable<float> operator()(const Variable<float>& x) { return x + ffn(norm(x)); }
  void visit(xgrad::Visitor<float>& v) override { v("norm", norm), v("ffn", ffn); }

  static xgrad::FeedForwardOptions options(StepSize size, xgrad::Activation activation) {
    xgrad::FeedForwardOptions o;
    o.d_model = static_cast<std::size_t>(size.d_model);
    o.d_ff = static_cast<std::size_t>(size.d_ff);
    o.activation = activation;
    o.dropout = 0.1;
    return o;
  }
  xgrad::LayerNorm<float> norm;
  xgrad::FeedForward<float> ffn;
};

Array<float> normal(int rows, int columns) {
  static xgrad::Rng rng(1);
  return rng.normal<float>({static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)});
}

Prepare step(StepSize size, xgrad::Activation activation) {
  return [=] {
    xgrad::Rng rng(1);
    const auto block = std::make_shared<Block>(size, activation, rng);
    const Variable<float> x(normal(size.rows, size.d_model)), y(normal(size.rows, size.d_model));
    const auto sgd = std::make_shared<xgrad::SGD<float>>(block->parameters(), xgrad::SGDOptions{});
    return [=] {
      const auto loss = xgrad::mse_loss((*block)(x), y);
      sgd->zero_grad();
      loss.backward();
      sgd->step();
    };
  };
}

/// The six products of that step on buffers that are there.
Prepare six_products(StepSize size) {
  return [=] {
    const auto r = static_cast<std::size_t>(size.rows), d = static_cast<std::size_t>(size.d_model),
               f = static_cast<std::size_t>(size.d_ff);
    const auto x = normal(size.rows, size.d_model), h = normal(size.rows, size.d_ff),
               w1 = normal(size.d_ff, size.d_model), w2 = normal(size.d_model, size.d_ff);
    auto rd = x, rf = h, fd = w1, df = w2;
    const auto product = [](bool ta, bool tb, std::size_t m, std::size_t n, std::size_t k, const Array<float>& a,
                            const Array<float>& b, Array<float>& c) {
      xgrad::gemm<float>(ta, tb, m, n, k, 1, a.data(), ta ? m : k, b.data(), tb ? k : n, 0, c.data(), n);
    };
    return [=]() mutable {
      product(false, true, r, f, d, x, w1, rf);
      product(false, true, r, d, f, h, w2, rd);
      product(false, false, r, f, d, x, w2, rf);
      product(true, false, d, f, r, x, h, df);
      product(false, false, r, d, f, h, w1, rd);
      product(true, false, f, d, r, h, x, fd);
    };
  };
}

/// Copies `bytes` on the number of threads that suits.
Prepare copy(double bytes) {
  return [=] {
    const auto n = static_cast<std::size_t>(bytes);
    const std::vector<char> from(n, 1);
    std::vector<char> to(n);
    return [=]() mutable {
#pragma omp parallel if (n > 1 << 20)
      {
        const auto threads = static_cast<std::size_t>(omp_get_num_threads()),
                   mine = static_cast<std::size_t>(omp_get_thread_num());
        const std::size_t begin = n * mine / threads, end = n * (mine + 1) / threads;
        std::memcpy(to.data() + begin, from.data() + begin, end - begin);
      }
    };
  };
}

/// Forward and backward of `op`, with `parameters` vectors of the row's width beside x.
Prepare alone(int rows, int width, int parameters, std::function<Variable<float>(const Inputs&)> op) {
  return [=] {
    Inputs inputs{{normal(rows, width), true}};
    for (int i = 0; i < parameters; ++i)
      inputs.push_back({xgrad::ones<float>({static_cast<std::size_t>(width)}), true});
    const auto seed = normal(rows, width);
    return [=]() mutable {
      const auto y = op(inputs);
      for (auto& input : inputs) input.zero_grad();
      y.dimension() == 0 ? y.backward() : y.backward(seed);
    };
  };
}

/// `op` without a graph.
Prepare forward(int rows, int width, std::function<Variable<float>(const Variable<float>&)> op) {
  return [=] {
    const Variable<float> x(normal(rows, width));
    return [=] {
      const xgrad::NoGrad off;
      op(x);
    };
  };
}

template <class Optimizer, class Options>
Prepare update(Options options) {
  return [=] {
    Inputs parameters;
    for (int i = 0; i < 10; ++i) {
      parameters.push_back({normal(1000, 1000), true});
      parameters.back().set_grad(normal(1000, 1000));
    }
    const auto optimizer = std::make_shared<Optimizer>(parameters, options);
    return [=] { optimizer->step(); };
  };
}

/// An epoch of examples/regression --splits: batches, AdamW, moving average of the weights.
std::function<void()> regression_epoch() {
  struct Training {
    xgrad::Rng rng{1};
    Array<float> x = rng.normal<float>({kTableRows, kFeatures}), y = rng.normal<float>({kTableRows, 1});
    Regressor<float> model{kFeatures, 50, rng, 0.1};
    xgrad::AdamW<float> adam{xgrad::decay_groups(model)};
    xgrad::Ema<float> ema{model, 0.99};
  };
  return [t = std::make_shared<Training>()] {
    for (auto [x, y] : xgrad::batches(t->x, t->y, 32, t->rng)) {
      const auto loss = xgrad::mse_loss(t->model(x), y);
      t->adam.zero_grad();
      loss.backward();
      t->adam.step();
      t->ema.update();
    }
  };
}

std::function<void()> tiny_ops() {
  xgrad::Rng rng(1);
  Variable<float> x(rng.normal<float>({8}), true), w(xgrad::ones<float>({8}), true);
  return [=]() mutable {
    Variable<float> y = x;
    for (int i = 0; i < 500; ++i) y = y * w + w;
    x.zero_grad(), w.zero_grad();
    xgrad::sum(y).backward();
  };
}

/// Seconds for one barrier between two threads that spin: how far apart the two cores are. Best of 20 batches.
double spin_barrier() {
  constexpr int count = 2000;
  double best = 1;
  for (int batch = 0; batch < 20; ++batch) {
    struct alignas(64) Line {
      std::atomic<int> at{-1};
    } arrived[2];
    const double start = seconds();
#pragma omp parallel num_threads(2)
    {
      const int me = omp_get_thread_num(), rounds = omp_get_num_threads() == 2 ? count : 0;
      for (int i = 0; i < rounds; ++i) {
        arrived[me].at.store(i, std::memory_order_release);
        while (arrived[1 - me].at.load(std::memory_order_acquire) < i) {
        }
      }
    }
    best = std::min(best, (seconds() - start) / count);
  }
  return best;
}

Works all_works() {
  Works works;
  for (const auto& size : kSteps) {
    works["step relu " + size.name()] = step(size, xgrad::Activation::relu);
    works["step gelu " + size.name()] = step(size, xgrad::Activation::gelu);
    works["products " + size.name()] = six_products(size);
  }
  static xgrad::Rng rng(1);
  for (const int rows : kRows) {
    const std::string size = " " + std::to_string(rows) + "x512";
    works["layer_norm" + size] =
        alone(rows, kWidth, 2, [](const Inputs& in) { return xgrad::layer_norm(in[0], in[1], in[2]); });
    works["rms_norm" + size] = alone(rows, kWidth, 1, [](const Inputs& in) { return xgrad::rms_norm(in[0], in[1]); });
    works["softmax" + size] = alone(rows, kWidth, 0, [](const Inputs& in) { return xgrad::softmax(in[0]); });
    works["gelu" + size] = alone(rows, kWidth, 0, [](const Inputs& in) { return xgrad::gelu(in[0]); });
    works["dropout" + size] = alone(rows, kWidth, 0, [](const Inputs& in) { return xgrad::dropout(in[0], 0.1, rng); });
    works["dropout forward" + size] =
        forward(rows, kWidth, [](const Variable<float>& x) { return xgrad::dropout(x, 0.1, rng); });
    works["relu forward" + size] = forward(rows, kWidth, [](const Variable<float>& x) { return xgrad::relu(x); });
    works["2 copies" + size] = copy(2 * 4.0 * kWidth * rows);
    works["2.5 copies" + size] = copy(2.5 * 4.0 * kWidth * rows);
  }
  works["cross_entropy 512x50257"] = alone(512, 50257, 0, [](const Inputs& in) {
    static const xgrad::Index classes = xgrad::arange<std::int64_t>(512) * 98;
    return xgrad::cross_entropy(in[0], classes);
  });
  works["1.5 copies 512x50257"] = copy(1.5 * 4 * 512 * 50257);
  xgrad::SGDOptions momentum;
  momentum.momentum = 0.9;
  works["sgd 10M"] = update<xgrad::SGD<float>>(xgrad::SGDOptions{});
  works["sgd momentum 10M"] = update<xgrad::SGD<float>>(momentum);
  works["adam 10M"] = update<xgrad::Adam<float>>(xgrad::AdamOptions{});
  works["adamw 10M"] = update<xgrad::AdamW<float>>(xgrad::AdamWOptions{});
  works["3.5 copies 10M"] = copy(3.5 * 4 * 10e6);
  works["1.5 copies 10M"] = copy(1.5 * 4 * 10e6);
  works["2.5 copies 10M"] = copy(2.5 * 4 * 10e6);
  works["epoch of regression"] = regression_epoch;
  works["1000 tiny ops"] = tiny_ops;
  return works;
}

}  // namespace

int main() {
  using xgrad::GemmProvider;
  const bool onednn = xgrad::gemm_provider() == GemmProvider::onednn;
  const auto use = [](GemmProvider provider) {
    return [provider] { return std::string(xgrad::set_gemm_provider(provider) ? "ok" : "not built in"); };
  };
  return serve(all_works(), {{"barrier", [] { return std::to_string(spin_barrier() * 1e9); }},
                             {"providers", [=] { return std::string(onednn ? "onednn openblas" : "openblas"); }},
                             {"provider openblas", use(GemmProvider::openblas)},
                             {"provider onednn", use(GemmProvider::onednn)}});
}
