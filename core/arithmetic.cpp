#include "arithmetic.hpp"

#include <string_view>

#include "kernels/binary.hpp"
#include "record.hpp"

namespace xgrad {

template <class T>
Variable<T> add(const Variable<T>& a, const Variable<T>& b) {
  return record<T>("add", {a, b}, saves::nothing, xgrad::add(a.value(), b.value()), [](auto& d) {
    d.add_summed(0, d.grad());
    d.add_summed(1, d.grad());
  });
}

template <class T>
Variable<T> sub(const Variable<T>& a, const Variable<T>& b) {
  return record<T>("sub", {a, b}, saves::nothing, xgrad::sub(a.value(), b.value()), [](auto& d) {
    d.add_summed(0, d.grad());
    d.add_summed(1, -d.grad());
  });
}

template <class T>
Variable<T> mul(const Variable<T>& a, const Variable<T>& b) {
  return record<T>("mul", {a, b}, detail::factors(a, b), xgrad::mul(a.value(), b.value()), [](auto& d) {
    if (d.needs(0)) d.add_summed(0, xgrad::mul(d.grad(), d.input(1)));
    if (d.needs(1)) d.add_summed(1, xgrad::mul(d.grad(), d.input(0)));
  });
}

template <class T>
Variable<T> div(const Variable<T>& a, const Variable<T>& b) {
  const Saves keep = b.requires_grad() ? saves::input(1) | saves::output : saves::input(1);
  return record<T>("div", {a, b}, keep, xgrad::div(a.value(), b.value()), [](auto& d) {
    const auto& b_ = d.input(1);
    if (d.needs(0)) d.add_summed(0, xgrad::div(d.grad(), b_));
    // b * b could overflow or vanish where y / b does not.
    if (d.needs(1)) d.add_summed(1, -xgrad::mul(d.grad(), xgrad::div(d.output(), b_)));
  });
}

template <class T>
Variable<T> neg(const Variable<T>& x) {
  return record<T>("neg", {x}, saves::nothing, -x.value(), [](auto& d) { d.add(0, -d.grad()); });
}

template <class T>
Variable<T> shift(const Variable<T>& x, T offset) {
  return record<T>("shift", {x}, saves::nothing, x.value() + offset, [](auto& d) { d.add(0, d.grad()); });
}

template <class T>
Variable<T> scale(const Variable<T>& x, T factor) {
  return record<T>("scale", {x}, saves::nothing, x.value() * factor,
                   [factor](auto& d) { d.add(0, d.grad() * factor); });
}

template <class T>
Variable<T> reciprocal(const Variable<T>& x) {
  return record<T>("reciprocal", {x}, saves::output, T(1) / x.value(), [](auto& d) {
    const auto& y = d.output();
    d.add(0, -d.grad() * y * y);
  });
}

template <class T>
Variable<T> compare(const Variable<T>& a, const Variable<T>& b, const char* relation) {
  const std::string_view r = relation;
  const Array<T>& x = a.value();
  const Array<T>& y = b.value();
  if (r == "<") return Variable<T>(xgrad::less(x, y));
  if (r == "<=") return Variable<T>(xgrad::less_equal(x, y));
  if (r == ">") return Variable<T>(xgrad::greater(x, y));
  if (r == ">=") return Variable<T>(xgrad::greater_equal(x, y));
  if (r == "==") return Variable<T>(xgrad::equal(x, y));
  if (r != "!=")
    fail<std::invalid_argument>("compare", "the relation must be <, <=, >, >=, == or != but is ", relation);
  return Variable<T>(xgrad::not_equal(x, y));
}

#define XGRAD_INSTANTIATE(T)                                        \
  template Variable<T> add(const Variable<T>&, const Variable<T>&); \
  template Variable<T> sub(const Variable<T>&, const Variable<T>&); \
  template Variable<T> mul(const Variable<T>&, const Variable<T>&); \
  template Variable<T> div(const Variable<T>&, const Variable<T>&); \
  template Variable<T> neg(const Variable<T>&);                     \
  template Variable<T> shift(const Variable<T>&, T);                \
  template Variable<T> scale(const Variable<T>&, T);                \
  template Variable<T> reciprocal(const Variable<T>&);              \
  template Variable<T> compare(const Variable<T>&, const Variable<T>&, const char*);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
