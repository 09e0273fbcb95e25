#include "pointwise.hpp"

#include "../record.hpp"
#include "weigh_inline.hpp"

namespace xgrad {

template <class T>
Variable<T> exp(const Variable<T>& x) {
  return record<T>("exp", {x}, saves::output, xgrad::exp(x.value()), [](auto& b) { b.add(0, b.grad() * b.output()); });
}

template <class T>
Variable<T> log(const Variable<T>& x) {
  return record<T>("log", {x}, saves::inputs, xgrad::log(x.value()),
                   [](auto& b) { b.add(0, detail::quotient(b.grad(), b.input(0))); });
}

template <class T>
Variable<T> log1p(const Variable<T>& x) {
  return record<T>("log1p", {x}, saves::inputs, xgrad::log1p(x.value()),
                   [](auto& b) { b.add(0, b.grad() / (T(1) + b.input(0))); });
}

template <class T>
Variable<T> expm1(const Variable<T>& x) {
  return record<T>("expm1", {x}, saves::output, xgrad::expm1(x.value()),
                   [](auto& b) { b.add(0, b.grad() * (b.output() + T(1))); });
}

template <class T>
Variable<T> sqrt(const Variable<T>& x) {
  return record<T>("sqrt", {x}, saves::output, xgrad::sqrt(x.value()),
                   [](auto& b) { b.add(0, T(0.5) * detail::quotient(b.grad(), b.output())); });
}

template <class T>
Variable<T> rsqrt(const Variable<T>& x) {
  return record<T>("rsqrt", {x}, saves::output, xgrad::rsqrt(x.value()), [](auto& b) {
    const auto& y = b.output();
    b.add(0, b.grad() * (T(-0.5) * y * y * y));
  });
}

template <class T>
Variable<T> abs(const Variable<T>& x) {
  return record<T>("abs", {x}, saves::inputs, xgrad::abs(x.value()), [](auto& b) {
    const auto sign = [](T v) { return v > T(0) ? T(1) : v < T(0) ? T(-1) : v; };  // of NaN: NaN
    b.add(0, detail::weigh(b.grad(), b.input(0), sign));
  });
}

template <class T>
Variable<T> square(const Variable<T>& x) {
  return record<T>("square", {x}, saves::inputs, xgrad::square(x.value()),
                   [](auto& b) { b.add(0, b.grad() * (T(2) * b.input(0))); });
}

template <class T>
Variable<T> sin(const Variable<T>& x) {
  return record<T>("sin", {x}, saves::inputs, xgrad::sin(x.value()),
                   [](auto& b) { b.add(0, b.grad() * xgrad::cos(b.input(0))); });
}

template <class T>
Variable<T> cos(const Variable<T>& x) {
  return record<T>("cos", {x}, saves::inputs, xgrad::cos(x.value()),
                   [](auto& b) { b.add(0, -b.grad() * xgrad::sin(b.input(0))); });
}

namespace {

template <class T>
Variable<T> tanh_backward(const Variable<T>& g, const Variable<T>& y) {  // as the array kernel, in ops
  return g * (T(1) - y * y);
}

}  // namespace

template <class T>
Variable<T> tanh(const Variable<T>& x) {
  return record<T>("tanh", {x}, saves::output, xgrad::tanh(x.value()), [](auto& b) {
    if (b.needs(0)) b.add(0, tanh_backward(b.grad(), b.output()));
  });
}

template <class T>
Variable<T> erf(const Variable<T>& x) {
  return record<T>("erf", {x}, saves::inputs, xgrad::erf(x.value()), [](auto& b) {
    const T two_over_root_pi = T(1.12837916709551257390);
    const auto v = detail::held(b.input(0));
    b.add(0, b.grad() * (two_over_root_pi * xgrad::exp(-v * v)));
  });
}

template <class T>
Variable<T> pow(const Variable<T>& x, typename detail::not_deduced<T>::type p) {
  return record<T>("pow", {x}, saves::inputs, xgrad::pow(x.value(), p), [p](auto& b) {
    // x^(p-1) is infinite at 0 for p = 0, where the result is constant.
    if (p == T(0)) b.add(0, b.grad() * T(0));
    else b.add(0, b.grad() * (p * xgrad::pow(b.input(0), p - T(1))));
  });
}

namespace {

/// 1 where a^b stands at a corner with an infinite factor: a = 0, and b accepted by `at`; a constant.
template <class G, class At>
G corner(const G& a, const G& b, At at) {
  using T = typename G::value_type;
  return G(detail::binary("pow", detail::array_of(a), detail::array_of(b),
                          [at](T x, T p) { return T(x == T(0) && at(p)); }));
}

}  // namespace

template <class T>
Variable<T> pow(const Variable<T>& a, const Variable<T>& b) {
  const Saves keep = b.requires_grad() ? saves::all : saves::inputs;
  return record<T>("pow", {a, b}, keep, xgrad::pow(a.value(), b.value()), [](auto& d) {
    const auto& a_ = d.input(0);
    const auto& b_ = d.input(1);
    // 0 times inf at a corner: moving a or b by 1 there makes the infinite factor finite, and the product 0.
    if (d.needs(0)) {
      const auto lift = corner(a_, b_, [](T p) { return p == T(0); });
      d.add_summed(0, xgrad::mul(d.grad(), xgrad::mul(b_, xgrad::pow(a_, xgrad::add(b_, lift - T(1))))));
    }
    if (d.needs(1)) {
      const auto lift = corner(a_, b_, [](T p) { return p >= T(0); });
      d.add_summed(1, xgrad::mul(d.grad(), xgrad::mul(d.output(), xgrad::log(xgrad::add(a_, lift)))));
    }
  });
}

#define XGRAD_INSTANTIATE(T)                                                           \
  template Variable<T> exp(const Variable<T>&);                                        \
  template Variable<T> log(const Variable<T>&);                                        \
  template Variable<T> log1p(const Variable<T>&);                                      \
  template Variable<T> expm1(const Variable<T>&);                                      \
  template Variable<T> sqrt(const Variable<T>&);                                       \
  template Variable<T> rsqrt(const Variable<T>&);                                      \
  template Variable<T> abs(const Variable<T>&);                                        \
  template Variable<T> square(const Variable<T>&);                                     \
  template Variable<T> sin(const Variable<T>&);                                        \
  template Variable<T> cos(const Variable<T>&);                                        \
  template Variable<T> tanh(const Variable<T>&);                                       \
  template Variable<T> erf(const Variable<T>&);                                        \
  template Variable<T> pow(const Variable<T>&, typename detail::not_deduced<T>::type); \
  template Variable<T> pow(const Variable<T>&, const Variable<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
