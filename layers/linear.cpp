#include "linear.hpp"

#include "../core/ops/product.hpp"
#include "last_axes.hpp"

namespace xgrad {

template <class T>
Linear<T>::Linear(std::size_t in, std::size_t out, Rng& rng)
    : Linear(
          [&] {
            LinearOptions options;
            options.in = in;
            options.out = out;
            return options;
          }(),
          rng) {}

template <class T>
Linear<T>::Linear(const LinearOptions& options, Rng& rng) {
  if (options.in == 0 || options.out == 0)
    fail<std::invalid_argument>("Linear", "in and out must be at least 1 but are ", options.in, " and ", options.out);
  const Shape shape{options.out, options.in};
  weight = Variable<T>(options.init.template draw<T>(shape, rng), true);
  if (options.bias) bias = Variable<T>(options.bias_init.template draw<T>({options.out}, rng, shape), true);
}

template <class T>
Variable<T> Linear<T>::operator()(const Variable<T>& x) const {
  if (weight.dimension() == 2) detail::check_last_axes("Linear", {weight.shape()[1]}, x.shape());
  return xgrad::linear(x, weight, bias);
}

template <class T>
void Linear<T>::visit(Visitor<T>& v) {
  v("weight", weight);
  v("bias", bias);
}

template class Linear<float>;
template class Linear<double>;

}  // namespace xgrad
