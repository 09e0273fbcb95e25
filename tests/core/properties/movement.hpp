// Ops that move numbers: slices, rows, shapes, joining and splitting.
#pragma once

#include <xgrad/core/kernels/index.hpp>
#include <xgrad/core/kernels/reduce.hpp>
#include <xgrad/core/kernels/shape.hpp>

#include "source.hpp"

namespace property {

/// The indices that Python's slice(start, stop, step).indices(n) walks over.
inline std::vector<std::size_t> python_range(std::optional<std::ptrdiff_t> start, std::optional<std::ptrdiff_t> stop,
                                             std::ptrdiff_t step, std::size_t extent) {
  const Wide n = static_cast<Wide>(extent), low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  const auto bound = [&](std::optional<std::ptrdiff_t> end, Wide otherwise) {
    if (!end) return otherwise;
    const Wide counted = *end < 0 ? *end + n : *end;
    return counted < low ? low : counted > high ? high : counted;
  };
  const Wide first = bound(start, step > 0 ? low : high), last = bound(stop, step > 0 ? high : low);
  std::vector<std::size_t> result;
  for (Wide i = first; step > 0 ? i < last : i > last; i += step) result.push_back(static_cast<std::size_t>(i));
  return result;
}

/// Slices of an array of some shape, and what they take: the indices along each axis; nothing when they are bad.
struct DrawnSlices {
  std::string name;
  xgrad::Slices slices;
  bool good = true;
  std::vector<std::vector<std::size_t>> indices;
  std::vector<bool> dropped;

  DrawnSlices(Draw& draw, const Shape& shape) {
    std::ostringstream out;
    const std::size_t count = draw.rarely() ? shape.size() + 1 : draw.below(shape.size() + 1);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t extent = i < shape.size() ? shape[i] : 1;
      std::vector<std::size_t> taken;
      bool drop = false;
      out << (i ? ", " : "");
      const std::size_t kind = draw.below(3);
      if (kind == 0) {
        slices.push_back(xgrad::all());
        taken = python_range({}, {}, 1, extent);
        out << ":";
      } else if (kind == 1) {
        const std::ptrdiff_t index = draw.rarely() ? draw.integer(extent) : draw.axis(extent);
        slices.emplace_back(index);
        const auto where = resolved(index, extent);
        good = good && where;
        taken = {where.value_or(0)};
        drop = true;
        out << index;
      } else {
        std::optional<std::ptrdiff_t> ends[2];
        for (auto& end : ends)
          if (draw.coin()) end = draw.integer(extent);
        std::ptrdiff_t step = draw.integer(3);
        if (step == 0) step = 1;
        slices.push_back(xgrad::range(ends[0], ends[1], step));
        taken = python_range(ends[0], ends[1], step, extent);
        for (const auto& end : ends) out << (end ? std::to_string(*end) : "") << ':';
        out << step;
      }
      indices.push_back(taken);
      dropped.push_back(drop);
    }
    good = good && count <= shape.size();
    for (std::size_t i = count; i < shape.size(); ++i) {
      indices.push_back(python_range({}, {}, 1, shape[i]));
      dropped.push_back(false);
    }
    name = "[" + out.str() + "]";
  }

  std::optional<Shape> shape() const {
    if (!good) return std::nullopt;
    Shape result;
    for (std::size_t i = 0; i < indices.size(); ++i)
      if (!dropped[i]) result.push_back(indices[i].size());
    return result;
  }
  /// Where the number at p of the slice stands in the whole.
  Position whole(const Position& p) const {
    Position result;
    auto next = p.begin();
    for (std::size_t i = 0; i < indices.size(); ++i) result.push_back(indices[i][dropped[i] ? 0 : *next++]);
    return result;
  }
};

template <class T>
void slice(Draw& draw) {
  with_source<T>(draw, draw.shape(), true, [&](const Array<T>& x, const auto& e) {
    const DrawnSlices s(draw, x.shape());
    check<T>(
        "slice of " + text(x.shape()) + s.name, s.shape(), [&] { return xgrad::slice(e, s.slices); },
        [&](const Position& p) { return at(x, s.whole(p)); });
  });
}

template <class T>
void add_to_slice(Draw& draw) {
  const Array<T> x = draw.array<T>(draw.shape());
  const DrawnSlices s(draw, x.shape());
  const bool other = draw.rarely();
  const Array<T> values = draw.array<T>(s.good && !other ? *s.shape() : draw.shape());
  const bool fits = s.good && values.shape() == *s.shape();
  Array<T> want = x;
  if (fits)
    each(values.shape(), [&](const Position& p) {
      const Position to = s.whole(p);
      want.element(to.begin(), to.end()) += static_cast<T>(at(values, p));
    });
  Array<T> target = x;
  check<T>(
      "add_to_slice of " + text(x.shape()) + s.name + " and " + text(values.shape()),
      fits ? std::optional<Shape>(x.shape()) : std::nullopt,
      [&] {
        xgrad::add_to_slice(target, s.slices, values);
        return target;
      },
      [&](const Position& p) { return at(want, p); });
  compare(
      "the target of add_to_slice", target, x.shape(), [&](const Position& p) { return at(want, p); }, 0, 0);
}

/// Rows of `table`, and whether all of them are there.
struct DrawnRows {
  xgrad::Index rows;
  bool good;

  DrawnRows(Draw& draw, const Shape& table) : good(!table.empty()) {
    rows = xgrad::Index(draw.shape());
    const std::size_t n = table.empty() ? 1 : table[0];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::ptrdiff_t row = 0;
      if (n == 0 || draw.below(64) == 63) row = draw.integer(n);
      else row = static_cast<std::ptrdiff_t>(draw.below(n));
      rows.data()[i] = row;
      good = good && row >= 0 && row < static_cast<std::ptrdiff_t>(n);
    }
  }
  Shape shape(const Shape& table) const {
    Shape result = rows.shape();
    result.insert(result.end(), table.begin() + 1, table.end());
    return result;
  }
  Position whole(const Position& p) const {
    const auto rank = static_cast<std::ptrdiff_t>(rows.dimension());
    Position result{static_cast<std::size_t>(at(rows, Position(p.begin(), p.begin() + rank)))};
    result.insert(result.end(), p.begin() + rank, p.end());
    return result;
  }
};

template <class T>
void take(Draw& draw) {
  with_source<T>(draw, draw.shape(), true, [&](const Array<T>& x, const auto& e) {
    const DrawnRows r(draw, x.shape());
    check<T>(
        "take of " + text(x.shape()) + ", rows " + xgrad::to_string(r.rows),
        r.good ? std::optional<Shape>(r.shape(x.shape())) : std::nullopt, [&] { return xgrad::take(e, r.rows); },
        [&](const Position& p) { return at(x, r.whole(p)); });
  });
}

template <class T>
void add_rows(Draw& draw) {
  const Array<T> x = draw.array<T>(draw.shape());
  const DrawnRows r(draw, x.shape());
  const bool other = draw.rarely();
  const Array<T> values = draw.array<T>(r.good && !other ? r.shape(x.shape()) : draw.shape());
  const bool fits = r.good && values.shape() == r.shape(x.shape());
  Array<T> want = x, target = x;
  if (fits)
    each(values.shape(), [&](const Position& p) {
      const Position to = r.whole(p);
      want.element(to.begin(), to.end()) += static_cast<T>(at(values, p));
    });
  check<T>(
      "add_rows to " + text(x.shape()) + ", rows " + xgrad::to_string(r.rows),
      fits ? std::optional<Shape>(x.shape()) : std::nullopt,
      [&] {
        xgrad::add_rows(target, r.rows, values);
        return target;
      },
      [&](const Position& p) { return at(want, p); });
  compare(
      "the target of add_rows", target, x.shape(), [&](const Position& p) { return at(want, p); }, 0, 0);
}

template <class T>
void reshape(Draw& draw) {
  with_source<T>(draw, draw.shape(), true, [&](const Array<T>& x, const auto& e) {
    std::vector<std::ptrdiff_t> to;
    std::size_t left = x.size();
    for (std::size_t i = draw.below(4); i > 0; --i) {  // extents that mostly divide what is left
      std::size_t extent = 1 + draw.below(6);
      while (left % extent != 0) --extent;
      to.push_back(static_cast<std::ptrdiff_t>(draw.rarely() ? extent + 1 : extent));
      left = left / extent;
    }
    if (left != 1) to.push_back(static_cast<std::ptrdiff_t>(left));
    if (!to.empty() && draw.coin()) to[draw.below(to.size())] = draw.rarely() ? draw.extreme(2) : -1;

    Wide known = 1, above = 1;  // the product of all extents, and of those above 0, which must stay below 2^63
    std::size_t open = 0;
    bool good = true;
    for (const std::ptrdiff_t extent : to) {
      if (extent == -1) ++open;
      else if (extent < 0) good = false;
      else known = known > 1000000 && extent > 0 ? known : known * extent;
      if (extent > 0 && above >> 63 == 0) above *= extent;
    }
    const auto size = static_cast<Wide>(x.size());
    good = good && above >> 63 == 0 && open < 2 && (open == 0 ? known == size : known > 0 && size % known == 0);
    Shape shape;
    for (const std::ptrdiff_t extent : to)
      shape.push_back(static_cast<std::size_t>(extent == -1 && good ? size / known : extent));
    std::vector<double> flat;
    each(x.shape(), [&](const Position& p) { flat.push_back(at(x, p)); });
    std::size_t next = 0;
    check<T>(
        "reshape of " + text(x.shape()) + " to " + text(to), good ? std::optional<Shape>(shape) : std::nullopt,
        [&] { return xgrad::reshape(e, xgrad::Extents(to)); }, [&](const Position&) { return flat[next++]; });
  });
}

template <class T>
void permute(Draw& draw) {
  with_source<T>(draw, draw.shape(), true, [&](const Array<T>& x, const auto& e) {
    const std::size_t rank = x.dimension();
    std::vector<std::ptrdiff_t> order;
    for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<std::ptrdiff_t>(i));
    for (std::size_t i = rank; i > 1; --i) std::swap(order[i - 1], order[draw.below(i)]);
    if (draw.rarely()) order.push_back(draw.axis(rank));
    for (auto& axis : order)
      if (draw.rarely()) axis = draw.axis(rank);
    std::vector<std::size_t> from;
    for (const std::ptrdiff_t axis : order)
      if (const auto a = resolved(axis, rank); a && std::find(from.begin(), from.end(), *a) == from.end())
        from.push_back(*a);
    const bool good = from.size() == rank && order.size() == rank;
    Shape shape;
    for (const std::size_t axis : from) shape.push_back(x.shape()[axis]);
    const auto want = [&](const Position& p) {
      Position source(rank);
      for (std::size_t i = 0; i < rank; ++i) source[from[i]] = p[i];
      return at(x, source);
    };
    check<T>(
        "permute of " + text(x.shape()) + " by " + text(order), good ? std::optional<Shape>(shape) : std::nullopt,
        [&] { return xgrad::permute(e, xgrad::AxisOrder(order)); }, want);
    check<T>(
        "transpose of " + text(x.shape()), Shape(x.shape().rbegin(), x.shape().rend()),
        [&] { return xgrad::transpose(e); }, [&](const Position& p) { return at(x, Position(p.rbegin(), p.rend())); });
  });
}

}  // namespace property
