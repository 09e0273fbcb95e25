// The model of the two regression examples.
#pragma once

#include <xgrad/xgrad.hpp>

/// One number from `features` numbers: a linear map to d numbers, a Transformer's feed-forward block on them, and a
/// linear map to one. (LayerNorm stands behind the first Linear: on raw features it would wipe out their scale.)
template <class T>
class Regressor : public xgrad::Module<T> {
 public:
  Regressor(std::size_t features, std::size_t d, xgrad::Rng& rng, double dropout = 0)
      : embed(features, d, rng), norm(d), ffn(ffn_options(d, dropout), rng), head(d, 1, rng) {}

  xgrad::Variable<T> operator()(const xgrad::Variable<T>& x) {  // (batch, features) -> (batch, 1)
    const auto h = embed(x);
    return head(h + ffn(norm(h)));
  }

  void visit(xgrad::Visitor<T>& v) override {
    v("embed", embed);
    v("norm", norm);
    v("ffn", ffn);
    v("head", head);
  }
  std::string name() const override { return "Regressor"; }

  xgrad::Linear<T> embed;
  xgrad::LayerNorm<T> norm;
  xgrad::FeedForward<T> ffn;
  xgrad::Linear<T> head;

 private:
  static xgrad::FeedForwardOptions ffn_options(std::size_t d, double dropout) {
    xgrad::FeedForwardOptions options;
    options.d_model = d;
    options.activation = xgrad::Activation::gelu;
    options.dropout = dropout;
    return options;
  }
};

/// Root of the mean squared difference of two arrays of equal shape.
template <class T>
double rmse(const xgrad::Array<T>& a, const xgrad::Array<T>& b) {
  return std::sqrt(static_cast<double>(xgrad::item(xgrad::mean(xgrad::square(a - b)))));
}
