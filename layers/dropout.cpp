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
Variable<T> dropout(const Variable<T>& x, double p, Rng& rng, bool training) {
  checked("dropout", p);
  if (!training || p == 0) return x;
  Array<T> mask = rng.bernoulli<T>(x.shape(), 1 - p);
  const T kept = p < 1 ? static_cast<T>(1 / (1 - p)) : T(0);
  for (std::size_t i = 0; i < mask.size(); ++i) mask.data()[i] *= kept;
  Array<T> y = x.value() * mask;
  return record<T>("dropout", {x}, saves::nothing, std::move(y),
                   [mask = std::move(mask)](auto& b) { b.add(0, b.grad() * mask); });
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

#define XGRAD_INSTANTIATE(T)                                            \
  template Variable<T> dropout(const Variable<T>&, double, Rng&, bool); \
  template class Dropout<T>;
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
