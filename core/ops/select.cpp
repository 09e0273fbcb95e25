#include "select.hpp"

#include "../kernels/elementwise.hpp"
#include "../record.hpp"
#include "weigh_inline.hpp"

namespace xgrad {

namespace {

/// The derivative of both: each input takes its share, which is 0, 1/2 or 1.
template <class T>
Variable<T> extreme(const char* name, const Variable<T>& a, const Variable<T>& b, Array<T> value, int side) {
  return record<T>(name, {a, b}, saves::inputs, std::move(value), [side](auto& d) {
    const auto same = [](T weight) { return weight; };
    if (d.needs(0)) d.add_summed(0, detail::weigh(d.grad(), detail::share(d.input(0), d.input(1), side), same));
    if (d.needs(1)) d.add_summed(1, detail::weigh(d.grad(), detail::share(d.input(1), d.input(0), side), same));
  });
}

}  // namespace

template <class T>
Variable<T> maximum(const Variable<T>& a, const Variable<T>& b) {
  return extreme("maximum", a, b, xgrad::maximum(a.value(), b.value()), 1);
}

template <class T>
Variable<T> minimum(const Variable<T>& a, const Variable<T>& b) {
  return extreme("minimum", a, b, xgrad::minimum(a.value(), b.value()), -1);
}

template <class T>
Variable<T> clip(const Variable<T>& x, typename detail::not_deduced<T>::type lo,
                 typename detail::not_deduced<T>::type hi) {
  return record<T>("clip", {x}, saves::inputs, xgrad::clip(x.value(), lo, hi), [lo, hi](auto& b) {
    b.add(0, detail::weigh(b.grad(), b.input(0), [lo, hi](T v) { return T(v >= lo && v <= hi); }));
  });
}

template <class T>
Variable<T> where(const Variable<T>& condition, const Variable<T>& a, const Variable<T>& b) {
  if (detail::tracks<T>("where", {condition}))
    fail<GraphError>("where", "the condition has no derivative but requires a gradient; compare it (x > 0) or pass ",
                     "detach() of it");
  return record<T>("where", {condition, a, b}, saves::input(0), xgrad::where(condition.value(), a.value(), b.value()),
                   [](auto& d) {
                     const auto& chosen = d.input(0);
                     if (d.needs(1)) d.add_summed(1, xgrad::where(chosen, d.grad(), T(0)));
                     if (d.needs(2)) d.add_summed(2, xgrad::where(chosen, T(0), d.grad()));
                   });
}

template <class T>
Variable<T> sign(const Variable<T>& x) {
  return Variable<T>(xgrad::sign(x.value()));
}

#define XGRAD_INSTANTIATE(T)                                                              \
  template Variable<T> maximum(const Variable<T>&, const Variable<T>&);                   \
  template Variable<T> minimum(const Variable<T>&, const Variable<T>&);                   \
  template Variable<T> clip(const Variable<T>&, typename detail::not_deduced<T>::type,    \
                            typename detail::not_deduced<T>::type);                       \
  template Variable<T> where(const Variable<T>&, const Variable<T>&, const Variable<T>&); \
  template Variable<T> sign(const Variable<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
