// A user's whole program, for compile time: the same as train_peer.cpp.
#include <iostream>
#include <xgrad/xgrad.hpp>

using xgrad::Variable;

struct Model : xgrad::Module<float> {
  explicit Model(xgrad::Rng& rng) : in(1, 8, rng), norm(8), ffn(options(), rng), out(8, 1, rng) {}
  Variable<float> operator()(const Variable<float>& x) {
    const auto h = in(x);
    return out(h + ffn(norm(h)));
  }
  void visit(xgrad::Visitor<float>& v) override { v("in", in), v("norm", norm), v("ffn", ffn), v("out", out); }

  static xgrad::FeedForwardOptions options() {
    xgrad::FeedForwardOptions o;
    o.d_model = 8;
    o.dropout = 0.1;
    return o;
  }
  xgrad::Linear<float> in;
  xgrad::LayerNorm<float> norm;
  xgrad::FeedForward<float> ffn;
  xgrad::Linear<float> out;
};

int main() {
  xgrad::Rng rng(1);
  Model model(rng);
  xgrad::SGDOptions options;
  options.lr = 1e-2;
  options.momentum = 0.9;
  xgrad::SGD<float> sgd(model.parameters(), options);
  const Variable<float> x(rng.normal<float>({64, 1})), y(xgrad::sin(x).detach());
  for (int i = 0; i < 100; ++i) {
    const auto loss = xgrad::mse_loss(model(x), y);
    sgd.zero_grad();
    loss.backward();
    sgd.step();
    if (i % 10 == 9) std::cout << loss.item() << '\n';
  }
}
