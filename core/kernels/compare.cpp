// The comparisons of binary.hpp.
#include "binary.hpp"
#include "broadcast_inline.hpp"

namespace xgrad {

using detail::binary;

template <class T>
Array<T> greater(const Array<T>& a, const Array<T>& b) {
  return binary("greater", a, b, [](T x, T y) { return x > y ? T(1) : T(0); });
}

template <class T>
Array<T> greater_equal(const Array<T>& a, const Array<T>& b) {
  return binary("greater_equal", a, b, [](T x, T y) { return x >= y ? T(1) : T(0); });
}

template <class T>
Array<T> less(const Array<T>& a, const Array<T>& b) {
  return binary("less", a, b, [](T x, T y) { return x < y ? T(1) : T(0); });
}

template <class T>
Array<T> less_equal(const Array<T>& a, const Array<T>& b) {
  return binary("less_equal", a, b, [](T x, T y) { return x <= y ? T(1) : T(0); });
}

template <class T>
Array<T> equal(const Array<T>& a, const Array<T>& b) {
  return binary("equal", a, b, [](T x, T y) { return x == y ? T(1) : T(0); });
}

template <class T>
Array<T> not_equal(const Array<T>& a, const Array<T>& b) {
  return binary("not_equal", a, b, [](T x, T y) { return x != y ? T(1) : T(0); });
}

#define XGRAD_INSTANTIATE(T)                                         \
  template Array<T> greater(const Array<T>&, const Array<T>&);       \
  template Array<T> greater_equal(const Array<T>&, const Array<T>&); \
  template Array<T> less(const Array<T>&, const Array<T>&);          \
  template Array<T> less_equal(const Array<T>&, const Array<T>&);    \
  template Array<T> equal(const Array<T>&, const Array<T>&);         \
  template Array<T> not_equal(const Array<T>&, const Array<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
