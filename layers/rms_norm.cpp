#include "rms_norm.hpp"

#include "../core/kernels/layer_norm.hpp"
#include "../core/record.hpp"
#include "norm_rows.hpp"

namespace xgrad {

template <class T>
Variable<T> rms_norm(const Variable<T>& x, const Variable<T>& gamma, double eps, std::size_t axes) {
  detail::check_eps("rms_norm", eps);
  const detail::Rows rows = detail::rows_of("rms_norm", x, gamma, axes);
  const bool scaled = gamma.defined();

  Array<T> y = empty<T>(x.shape());
  std::vector<double, memory::Allocator<double>> rrms(rows.count);
  rms_norm_forward(x.value().data(), rows.count, rows.width, scaled ? gamma.value().data() : nullptr, eps, y.data(),
                   rrms.data());

  const Variable<T> inputs[] = {x, gamma};
  auto kernel = [rows, scaled, rrms = std::move(rrms)](ArrayBackward<T>& d) {
    const bool needs_x = d.needs(0), needs_gamma = scaled && d.needs(1);
    Array<T> dx, dgamma;
    if (needs_x) dx = empty<T>(d.shape(0));
    if (needs_gamma) dgamma = empty<T>(d.shape(1));
    rms_norm_backward(d.grad().data(), d.input(0).data(), rows.count, rows.width, scaled ? d.input(1).data() : nullptr,
                      rrms.data(), needs_x ? dx.data() : nullptr, needs_gamma ? dgamma.data() : nullptr);
    if (needs_x) d.add(0, std::move(dx));
    if (needs_gamma) d.add(1, std::move(dgamma));
  };
  auto twin = [eps, scaled, last = rows.axes](const std::vector<Variable<T>>& in) {
    const Variable<T> result = detail::over_rms(in[0], eps, detail::last_axes(last));
    return scaled ? result * in[1] : result;
  };
  return record<T>("rms_norm", detail::Inputs<T>(inputs, scaled ? 2 : 1), saves::inputs, std::move(y),
                   std::move(kernel), std::move(twin));
}

template <class T>
RMSNorm<T>::RMSNorm(std::size_t features)
    : RMSNorm([features] {
        RMSNormOptions options;
        options.shape = {features};
        return options;
      }()) {}

template <class T>
RMSNorm<T>::RMSNorm(const RMSNormOptions& options) : shape_(options.shape), eps_(options.eps) {
  detail::check_row_shape("RMSNorm", shape_);
  detail::check_eps("RMSNorm", eps_);
  if (options.gamma) gamma = Variable<T>(ones<T>(shape_), true);
}

template <class T>
Variable<T> RMSNorm<T>::operator()(const Variable<T>& x) const {
  detail::check_last_axes("RMSNorm", shape_, x.shape());
  return xgrad::rms_norm(x, gamma, eps_, shape_.size());
}

template <class T>
void RMSNorm<T>::visit(Visitor<T>& v) {
  v("weight", gamma);
}

#define XGRAD_INSTANTIATE(T)                                                                  \
  template Variable<T> rms_norm(const Variable<T>&, const Variable<T>&, double, std::size_t); \
  template class RMSNorm<T>;
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
