#include "join.hpp"

#include "../accumulate.hpp"
#include "../record.hpp"

namespace xgrad {

namespace {

template <class T>
std::vector<const Array<T>*> arrays_of(const std::vector<Variable<T>>& parts) {
  std::vector<const Array<T>*> arrays;
  for (const Variable<T>& part : parts) arrays.push_back(&part.value());
  return arrays;
}

/// The region that one part takes on an axis.
Slices region(std::size_t axis, Slice part) {
  Slices slices(axis, all());
  slices.push_back(part);
  return slices;
}

Slice run(std::size_t start, std::size_t size) {
  return range(static_cast<std::ptrdiff_t>(start), static_cast<std::ptrdiff_t>(start + size));
}

}  // namespace

template <class T>
Variable<T> concatenate(const std::vector<Variable<T>>& parts, std::ptrdiff_t axis) {
  Array<T> value = xgrad::concatenate(arrays_of(parts), axis);
  const std::size_t at = normalize_axis("concatenate", axis, value.dimension());
  return record<T>("concatenate", parts, saves::nothing, std::move(value), [at](auto& b) {
    std::size_t start = 0;
    for (std::size_t i = 0; i < b.input_count(); ++i) {
      const std::size_t size = b.shape(i)[at];
      if (b.needs(i)) b.add(i, xgrad::slice(b.grad(), region(at, run(start, size))));
      start += size;
    }
  });
}

template <class T>
Variable<T> stack(const std::vector<Variable<T>>& parts, std::ptrdiff_t axis) {
  Array<T> value = xgrad::stack(arrays_of(parts), axis);
  const std::size_t at = normalize_axis("stack", axis, value.dimension());
  return record<T>("stack", parts, saves::nothing, std::move(value), [at](auto& b) {
    for (std::size_t i = 0; i < b.input_count(); ++i)
      if (b.needs(i)) b.add(i, xgrad::slice(b.grad(), region(at, i)));
  });
}

namespace {

/// Each part of x, already cut out, as a node that adds its gradient into its region of x's.
template <class T>
std::vector<Variable<T>> record_parts(const Variable<T>& x, std::vector<Array<T>> parts, std::ptrdiff_t axis) {
  const std::size_t at = normalize_axis("split", axis, x.dimension());
  std::vector<Variable<T>> result;
  std::size_t start = 0;
  for (Array<T>& part : parts) {
    const Slices here = region(at, run(start, part.shape()[at]));
    start += part.shape()[at];
    result.push_back(
        record<T>("split", {x}, saves::nothing, std::move(part), [here](auto& b) { b.add_at(0, here, b.grad()); }));
  }
  return result;
}

}  // namespace

template <class T>
std::vector<Variable<T>> split(const Variable<T>& x, std::size_t parts, std::ptrdiff_t axis) {
  return record_parts(x, xgrad::split(x.value(), parts, axis), axis);
}

template <class T>
std::vector<Variable<T>> split(const Variable<T>& x, const std::vector<std::size_t>& sizes, std::ptrdiff_t axis) {
  return record_parts(x, xgrad::split(x.value(), sizes, axis), axis);
}

#define XGRAD_INSTANTIATE(T)                                                                \
  template Variable<T> concatenate(const std::vector<Variable<T>>&, std::ptrdiff_t);        \
  template Variable<T> stack(const std::vector<Variable<T>>&, std::ptrdiff_t);              \
  template std::vector<Variable<T>> split(const Variable<T>&, std::size_t, std::ptrdiff_t); \
  template std::vector<Variable<T>> split(const Variable<T>&, const std::vector<std::size_t>&, std::ptrdiff_t);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
