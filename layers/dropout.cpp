#include "dropout.hpp"

#include "../core/record.hpp"

namespace xgrad {

namespace {

double checked(const char* who, double p) {
  if (!(p >= 0 && p <= 1)) fail<std::invalid_argument>(who, "p must be in [0, 1] but is ", p);
  return p;
}

}  // namespace

template <class T>
Variable<T> dropout(const Variable<T>& x, double p, std::uint64_t key) {
  checked("dropout", p);
  if (p == 0) return x;
  return record<T>("dropout", {x}, saves::nothing, xgrad::dropout(x.value(), p, key), [p, key](auto& b) {
    if (b.needs(0)) b.add(0, xgrad::dropout(b.grad(), p, key));
  });
}

template <class T>
Variable<T> dropout(const Variable<T>& x, double p, Rng& rng, bool training) {
  checked("dropout", p);
  if (!training || p == 0) return x;
  return xgrad::dropout(x, p, rng.next());
}

template <class T>
Dropout<T>::Dropout(double p, Rng& parent) : p_(checked("Dropout", p)), rng(parent.split()) {}

template <class T>
Variable<T> Dropout<T>::operator()(const Variable<T>& x) {
  return xgrad::dropout(x, p_, rng, this->is_training());
}

template <class T>
void Dropout<T>::visit(Visitor<T>& v) {
  v("rng", rng);
}

#define XGRAD_INSTANTIATE(T)                                               \
  template Variable<T> dropout(const Variable<T>&, double, std::uint64_t); \
  template Variable<T> dropout(const Variable<T>&, double, Rng&, bool);    \
  template class Dropout<T>;
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
