// The model that tests of training share.
#pragma once

#include <xgrad/xgrad.hpp>

/// LayerNorm and FFN; with dropout, so that a run depends on a generator's state, unless it is 0.
template <class T>
class Net : public xgrad::Module<T> {
 public:
  explicit Net(xgrad::Rng& rng, double dropout = 0.2, std::size_t features = 2)
      : embed(features, 8, rng), norm(8), ffn(ffn_options(dropout), rng), head(8, 1, rng) {}
  xgrad::Variable<T> operator()(const xgrad::Variable<T>& x) {
    const auto h = embed(x);
    return head(h + ffn(norm(h)));
  }
  void visit(xgrad::Visitor<T>& v) override {
    v("embed", embed);
    v("norm", norm);
    v("ffn", ffn);
    v("head", head);
  }

  xgrad::Linear<T> embed;
  xgrad::LayerNorm<T> norm;
  xgrad::FeedForward<T> ffn;
  xgrad::Linear<T> head;

 private:
  static xgrad::FeedForwardOptions ffn_options(double dropout) {
    xgrad::FeedForwardOptions options;
    options.d_model = 8;
    options.dropout = dropout;
    return options;
  }
};
