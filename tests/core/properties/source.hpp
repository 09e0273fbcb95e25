// An array and, with the same numbers, some xtensor expression of other strides.
#pragma once

#if __has_include(<xtensor/views/xstrided_view.hpp>)  // 0.26 and later
#include <xtensor/misc/xmanipulation.hpp>
#include <xtensor/views/xbroadcast.hpp>
#include <xtensor/views/xstrided_view.hpp>
#else
#include <xtensor/xbroadcast.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xstrided_view.hpp>
#endif

#include "draw.hpp"

namespace property {

template <class T>
Array<T> reversed_axes(const Array<T>& x) {
  Array<T> result(Shape(x.shape().rbegin(), x.shape().rend()));
  std::size_t next = 0;
  each(result.shape(),
       [&](const Position& p) { result.data()[next++] = static_cast<T>(at(x, Position(p.rbegin(), p.rend()))); });
  return result;
}

/// Calls f(numbers, expression): the array itself, a transposed one, every second number of a larger one (the other
/// way round along some axes), a column-major one, one repeated along its leading axes, a lazy product.
template <class T, class F>
void with_source(Draw& draw, const Shape& shape, bool special, F f) {
  const Array<T> x = draw.array<T>(shape, special);
  switch (draw.below(6)) {
    case 0:
      return f(x, x);
    case 1: {
      const Array<T> turned = reversed_axes(x);
      return f(x, xt::transpose(turned));
    }
    case 2: {
      Shape larger;
      xt::xstrided_slice_vector part;
      std::vector<bool> backwards;
      for (const std::size_t n : shape) {
        const auto extent = static_cast<std::ptrdiff_t>(n);
        larger.push_back(2 * n + 1);
        backwards.push_back(n > 0 && draw.coin());
        if (backwards.back()) part.push_back(xt::range(2 * extent - 1, xt::placeholders::_, -2));
        else part.push_back(xt::range(1, 2 * extent + 1, 2));
      }
      Array<T> large = draw.array<T>(larger);
      each(shape, [&](const Position& p) {
        Position to;
        for (std::size_t i = 0; i < p.size(); ++i) to.push_back(2 * (backwards[i] ? shape[i] - 1 - p[i] : p[i]) + 1);
        large.element(to.begin(), to.end()) = static_cast<T>(at(x, p));
      });
      return f(x, xt::strided_view(large, part));
    }
    case 3: {
      const xt::xarray<T, xt::layout_type::column_major> other = x;
      return f(x, other);
    }
    case 4: {
      Shape longer;
      for (std::size_t i = draw.below(2); i > 0; --i) longer.push_back(1 + draw.below(3));
      longer.insert(longer.end(), shape.begin(), shape.end());
      Array<T> repeated(longer);
      std::size_t next = 0;
      each(longer, [&](const Position& p) {
        repeated.data()[next++] =
            static_cast<T>(at(x, Position(p.end() - static_cast<std::ptrdiff_t>(shape.size()), p.end())));
      });
      return f(repeated, xt::broadcast(x, longer));
    }
    default:
      return f(x, x * T(1));
  }
}

}  // namespace property
