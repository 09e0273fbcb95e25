#include "layer_norm.hpp"

#include "../core/ops/weigh_inline.hpp"
#include "../core/record.hpp"
#include "norm_rows.hpp"

namespace xgrad {

namespace {

using Statistics = std::vector<double, memory::Allocator<double>>;  // one per row

/// The same function as the kernel, in plain ops: what a recorded pass differentiates.
template <class T>
Variable<T> composed(const Variable<T>& x, double eps, NormForm form, std::size_t axes) {
  const Axes last = detail::last_axes(axes);
  const Variable<T> centred = detail::centred(x, last);
  if (form == NormForm::unbiased) return centred / (xgrad::stddev(x, last, keep_dims, 1) + T(eps));
  return detail::over_rms(centred, eps, last);
}

void check_width(const char* who, NormForm form, std::size_t width) {
  if (form == NormForm::unbiased && width < 2)
    fail<ShapeError>(who, "the unbiased form divides by n - 1 and needs at least 2 numbers a row but got ", width);
}

}  // namespace

template <class T>
Variable<T> layer_norm(const Variable<T>& x, const Variable<T>& gamma, const Variable<T>& beta, double eps,
                       NormForm form, std::size_t axes) {
  detail::check_eps("layer_norm", eps);
  if (gamma.defined() && beta.defined()) check_shape("layer_norm", "beta", gamma.shape(), beta.shape());
  const Variable<T>& parameter = gamma.defined() ? gamma : beta;
  const detail::Rows rows = detail::rows_of("layer_norm", x, parameter, axes);
  check_width("layer_norm", form, rows.width);

  Array<T> y = empty<T>(x.shape());
  Statistics mean(rows.count), rstd(rows.count);
  layer_norm_forward(x.value().data(), rows.count, rows.width, gamma.defined() ? gamma.value().data() : nullptr,
                     beta.defined() ? beta.value().data() : nullptr, eps, form, y.data(), mean.data(), rstd.data());

  // Where gamma and beta stand among the inputs; 0 when they are not there.
  const std::size_t g = gamma.defined() ? 1 : 0, b = beta.defined() ? g + 1 : 0;
  const Variable<T> inputs[] = {x, parameter, beta};
  auto kernel = [g, b, rows, form, mean = std::move(mean), rstd = std::move(rstd)](ArrayBackward<T>& d) {
    const bool needs_x = d.needs(0), needs_gamma = g && d.needs(g), needs_beta = b && d.needs(b);
    Array<T> dx, dgamma, dbeta;
    if (needs_x) dx = empty<T>(d.shape(0));
    if (needs_gamma) dgamma = empty<T>(d.shape(g));
    if (needs_beta) dbeta = empty<T>(d.shape(b));
    layer_norm_backward(d.grad().data(), d.input(0).data(), rows.count, rows.width, g ? d.input(g).data() : nullptr,
                        form, mean.data(), rstd.data(), needs_x ? dx.data() : nullptr,
                        needs_gamma ? dgamma.data() : nullptr, needs_beta ? dbeta.data() : nullptr);
    if (needs_x) d.add(0, std::move(dx));
    if (needs_gamma) d.add(g, std::move(dgamma));
    if (needs_beta) d.add(b, std::move(dbeta));
  };
  auto twin = [g, b, eps, form, last = rows.axes](const std::vector<Variable<T>>& in) {
    Variable<T> result = composed(in[0], eps, form, last);
    if (g) result = result * in[g];
    if (b) result = result + in[b];
    return result;
  };
  return record<T>("layer_norm", detail::Inputs<T>(inputs, 1 + (g ? 1u : 0u) + (b ? 1u : 0u)), saves::inputs,
                   std::move(y), std::move(kernel), std::move(twin));
}

template <class T>
LayerNorm<T>::LayerNorm(std::size_t features)
    : LayerNorm([features] {
        LayerNormOptions options;
        options.shape = {features};
        return options;
      }()) {}

template <class T>
LayerNorm<T>::LayerNorm(const LayerNormOptions& options)
    : shape_(options.shape),
      eps_(options.eps.value_or(options.form == NormForm::unbiased ? 1e-6 : 1e-5)),
      form_(options.form) {
  detail::check_row_shape("LayerNorm", shape_);
  detail::check_eps("LayerNorm", eps_);
  check_width("LayerNorm", form_, element_count(shape_));
  if (options.gamma) gamma = Variable<T>(ones<T>(shape_), true);
  if (options.beta) beta = Variable<T>(zeros<T>(shape_), true);
}

template <class T>
Variable<T> LayerNorm<T>::operator()(const Variable<T>& x) const {
  detail::check_last_axes("LayerNorm", shape_, x.shape());
  return xgrad::layer_norm(x, gamma, beta, eps_, form_, shape_.size());
}

template <class T>
void LayerNorm<T>::visit(Visitor<T>& v) {
  v("weight", gamma);
  v("bias", beta);
}

#define XGRAD_INSTANTIATE(T)                                                                                    \
  template Variable<T> layer_norm(const Variable<T>&, const Variable<T>&, const Variable<T>&, double, NormForm, \
                                  std::size_t);                                                                 \
  template class LayerNorm<T>;
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
