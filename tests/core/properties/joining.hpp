// Ops that join and cut, and those that add, drop or repeat axes.
#pragma once

#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/kernels/index.hpp>
#include <xgrad/core/kernels/reduce.hpp>
#include <xgrad/core/kernels/shape.hpp>

#include "movement.hpp"

namespace property {

template <class T>
void concatenate(Draw& draw) {
  const Shape shape = draw.shape(draw.rarely() ? 0 : 1);
  const std::ptrdiff_t axis = draw.axis(shape.size());
  const auto a = resolved(axis, shape.size());
  std::vector<Array<T>> parts;
  bool good = a.has_value();
  Shape whole = shape;
  if (a) whole[*a] = 0;
  std::string name;
  for (std::size_t i = draw.rarely() ? 0 : 1 + draw.below(3); i > 0; --i) {
    Shape part = shape;
    if (a) part[*a] = draw.extent();
    if (!parts.empty() && draw.rarely()) part = draw.shape();
    Shape rest = part;
    if (a && *a < rest.size()) rest[*a] = shape[*a];
    good = good && rest == shape;
    if (good) whole[*a] += part[*a];
    parts.push_back(draw.array<T>(part, true));
    name += text(part);
  }
  good = good && !parts.empty();
  check<T>(
      "concatenate of " + name + " along " + std::to_string(axis), good ? std::optional<Shape>(whole) : std::nullopt,
      [&] { return xgrad::concatenate(parts, axis); },
      [&](Position p) {
        std::size_t i = 0;
        for (; p[*a] >= parts[i].shape()[*a]; ++i) p[*a] -= parts[i].shape()[*a];
        return at(parts[i], p);
      });
}

template <class T>
void stack(Draw& draw) {
  const Shape shape = draw.shape();
  std::vector<Array<T>> parts;
  bool good = true;
  for (std::size_t i = draw.rarely() ? 0 : 1 + draw.below(3); i > 0; --i) {
    const Shape part = !parts.empty() && draw.rarely() ? draw.shape() : shape;
    parts.push_back(draw.array<T>(part, true));
    good = good && part == shape;
  }
  const std::ptrdiff_t axis = draw.axis(shape.size() + 1);
  const auto a = resolved(axis, shape.size() + 1);
  good = good && a && !parts.empty();
  Shape whole = shape;
  if (a) whole.insert(whole.begin() + static_cast<std::ptrdiff_t>(*a), parts.size());
  check<T>(
      "stack of " + std::to_string(parts.size()) + " " + text(shape) + " along " + std::to_string(axis),
      good ? std::optional<Shape>(whole) : std::nullopt, [&] { return xgrad::stack(parts, axis); },
      [&](Position p) {
        const std::size_t i = p[*a];
        p.erase(p.begin() + static_cast<std::ptrdiff_t>(*a));
        return at(parts[i], p);
      });
}

template <class T>
void split(Draw& draw) {
  with_source<T>(draw, draw.shape(), true, [&](const Array<T>& x, const auto& e) {
    const std::ptrdiff_t axis = draw.axis(x.dimension());
    const auto a = resolved(axis, x.dimension());
    const std::size_t extent = a ? x.shape()[*a] : 2;
    std::vector<std::size_t> sizes;
    const bool equal = draw.coin();
    bool good = a.has_value();
    const std::size_t count = draw.rarely() ? 0 : 1 + draw.below(4);
    if (equal) {
      good = good && count > 0 && extent % count == 0;
      if (good) sizes.assign(count, extent / count);
    } else {
      std::size_t left = extent;
      for (std::size_t i = 1; i < count; ++i) {
        sizes.push_back(draw.below(left + 1));
        left -= sizes.back();
      }
      if (left > 0) sizes.push_back(left);
      if (!sizes.empty() && draw.rarely()) sizes[draw.below(sizes.size())] += 1;
      if (sizes.size() > 1 && draw.rarely()) sizes[0] += std::size_t(1) << 63, sizes[1] += std::size_t(1) << 63;
      Wide total = 0;
      for (const std::size_t size : sizes) total += size;
      good = good && total == extent;
    }
    const std::string name = "split of " + text(x.shape()) + " into " + (equal ? std::to_string(count) : text(sizes)) +
                             " along " + std::to_string(axis);
    std::vector<Array<T>> parts;
    const auto cut = [&] { return equal ? xgrad::split(e, count, axis) : xgrad::split(e, sizes, axis); };
    check<T>(
        name, good ? std::optional<Shape>(Shape{}) : std::nullopt,
        [&] {
          parts = cut();
          return xgrad::zeros<T>({});
        },
        [](const Position&) { return 0; });
    if (!good) return;
    if (parts.size() != sizes.size()) throw Mismatch(name + " has " + std::to_string(parts.size()) + " parts");
    std::size_t begin = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Shape shape = x.shape();
      shape[*a] = sizes[i];
      compare(
          "part " + std::to_string(i) + " of " + name, parts[i], shape,
          [&](Position p) {
            p[*a] += begin;
            return at(x, p);
          },
          0, 0);
      begin += sizes[i];
    }
  });
}

/// Axes of an array of some rank: {} for all, else a list, now and then with one outside or twice.
struct DrawnAxes {
  std::vector<std::ptrdiff_t> list;
  bool good = true;
  std::vector<bool> chosen;

  DrawnAxes(Draw& draw, std::size_t rank) : chosen(rank, false) {
    if (rank == 0 || draw.below(4) == 0) {
      if (rank == 0 && draw.rarely()) list.push_back(draw.axis(0)), good = false;
      chosen.assign(rank, true);
      return;
    }
    for (std::size_t i = 0; i < rank; ++i) {
      if (draw.coin()) continue;
      const auto n = static_cast<std::ptrdiff_t>(rank), axis = static_cast<std::ptrdiff_t>(i);
      list.push_back(draw.coin() ? axis - n : axis);
      chosen[i] = true;
    }
    if (list.empty() || draw.rarely()) {
      list.push_back(draw.axis(rank));
      const auto a = resolved(list.back(), rank);
      good = a && !chosen[*a];
      if (a) chosen[*a] = true;
    }
    if (draw.coin()) std::reverse(list.begin(), list.end());
  }
};

template <class T>
void squeeze_and_expand(Draw& draw) {
  with_source<T>(draw, draw.shape(), true, [&](const Array<T>& x, const auto& e) {
    std::vector<double> flat;
    each(x.shape(), [&](const Position& p) { flat.push_back(at(x, p)); });
    const DrawnAxes axes(draw, x.dimension());
    bool good = axes.good;
    Shape less;
    for (std::size_t i = 0; i < x.dimension(); ++i) {
      const bool one = x.shape()[i] == 1, named = !axes.list.empty() && axes.chosen[i];
      good = good && (one || !named);
      if (!(named || (axes.list.empty() && one))) less.push_back(x.shape()[i]);
    }
    std::size_t next = 0;
    check<T>(
        "squeeze of " + text(x.shape()) + " by " + text(axes.list), good ? std::optional<Shape>(less) : std::nullopt,
        [&] { return xgrad::squeeze(e, xgrad::Axes(axes.list)); }, [&](const Position&) { return flat[next++]; });

    const std::ptrdiff_t axis = draw.axis(x.dimension() + 1);
    const auto a = resolved(axis, x.dimension() + 1);
    Shape more = x.shape();
    if (a) more.insert(more.begin() + static_cast<std::ptrdiff_t>(*a), 1);
    next = 0;
    check<T>(
        "expand_dims of " + text(x.shape()) + " at " + std::to_string(axis),
        a ? std::optional<Shape>(more) : std::nullopt, [&] { return xgrad::expand_dims(e, axis); },
        [&](const Position&) { return flat[next++]; });
  });
}

/// broadcast_to, and sum_to that undoes it.
template <class T>
void broadcasting(Draw& draw) {
  const Shape to = draw.shape();
  with_source<T>(draw, partner(draw, to), false, [&](const Array<T>& x, const auto& e) {
    const auto both = common_shape(x.shape(), to);
    const bool good = both && *both == to;
    check<T>(
        "broadcast_to of " + text(x.shape()) + " to " + text(to), good ? both : std::nullopt,
        [&] { return xgrad::broadcast_to(e, to); }, [&](const Position& p) { return at(x, p); });
    const Array<T> wide = draw.array<T>(to);
    check<T>(
        "sum_to of " + text(to) + " to " + text(x.shape()), good ? std::optional<Shape>(x.shape()) : std::nullopt,
        [&] { return xgrad::sum_to(wide, x.shape()); },
        [&](const Position& p) {
          double sum = 0;
          each(to, [&](const Position& q) {
            for (std::size_t i = 0; i < p.size(); ++i)
              if (x.shape()[i] != 1 && q[q.size() - p.size() + i] != p[i]) return;
            sum += at(wide, q);
          });
          return sum;
        },
        1e-6);
  });
}

/// Huge shapes, of which only some can be had: refused before anything is allocated.
template <class T>
void too_large(Draw& draw) {
  Shape shape;
  for (std::size_t i = 2 + draw.below(3); i > 0; --i) shape.push_back(std::size_t(1) << (22 + draw.below(42)));
  const Array<T> x = draw.array<T>(Shape(shape.size(), 1));
  Wide count = 1;
  for (const std::size_t extent : shape)
    if (count >> 64 == 0) count *= extent;
  if (count >> 64 == 0) return;  // would be a matter of memory
  const auto refuse = [&](const char* name, auto op) {
    check<T>(name + (" " + text(shape)), std::nullopt, op, [](const Position&) { return 0; });
  };
  refuse("broadcast_to", [&] { return xgrad::broadcast_to(x, shape); });
  refuse("reshape to", [&] { return xgrad::reshape(x, xgrad::Extents(shape)); });
  refuse("zeros of", [&] { return xgrad::zeros<T>(shape); });
  refuse("place in", [&] { return xgrad::place(xgrad::Variable<T>(x), {}, shape).value(); });
}

}  // namespace property
