#include "embedding.hpp"

#include "../core/accumulate.hpp"
#include "../core/ops/product.hpp"
#include "last_axes.hpp"

namespace xgrad {

template <class T>
Embedding<T>::Embedding(std::size_t count, std::size_t features, Rng& rng)
    : Embedding(
          [&] {
            EmbeddingOptions options;
            options.count = count;
            options.features = features;
            return options;
          }(),
          rng) {}

template <class T>
Embedding<T>::Embedding(const EmbeddingOptions& options, Rng& rng) {
  if (options.count == 0 || options.features == 0)
    fail<std::invalid_argument>("Embedding", "count and features must be at least 1 but are ", options.count, " and ",
                                options.features);
  weight = Variable<T>(options.init.template draw<T>({options.count, options.features}, rng), true);
}

template <class T>
Variable<T> Embedding<T>::operator()(const Index& ids) const {
  return xgrad::take(weight, ids);
}

template <class T>
Variable<T> Embedding<T>::as_linear(const Variable<T>& x) const {
  detail::check_last_axes("Embedding", {weight.shape().back()}, x.shape());
  return xgrad::linear(x, weight);
}

template <class T>
void Embedding<T>::visit(Visitor<T>& v) {
  v("weight", weight);
}

template class Embedding<float>;
template class Embedding<double>;

}  // namespace xgrad
