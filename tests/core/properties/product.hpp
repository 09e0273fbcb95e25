// Matrix products, and softmax along any axis.
#pragma once

#include <xgrad/core/kernels/softmax.hpp>
#include <xgrad/core/linalg.hpp>

#include "joining.hpp"

namespace property {

template <class T>
void matmul(Draw& draw) {
  const std::size_t m = draw.extent(), k = draw.extent(), n = draw.extent();
  const Shape batch = draw.shape();
  bool flag[2] = {draw.coin(), draw.coin()};
  const auto operand = [&](std::size_t rows, std::size_t columns, bool transposed, bool left) {
    if (draw.rarely()) return draw.shape();
    const std::size_t kind = draw.below(4);
    if (kind == 0 && !transposed) return Shape{left ? columns : rows};  // one axis
    Shape shape = kind < 2 ? Shape{} : partner(draw, batch);
    shape.push_back(transposed ? columns : rows);
    shape.push_back(transposed ? rows : columns);
    return shape;
  };
  const Shape sa = operand(m, k, flag[0], true), sb = operand(k, n, flag[1], false);
  with_source<T>(draw, sa, false, [&](const Array<T>& a, const auto& ea) {
    const Array<T> b = draw.array<T>(sb);
    const std::size_t ra = a.dimension(), rb = b.dimension();
    std::optional<Shape> shape;
    Shape lead_a, lead_b;
    std::size_t inner = 0;
    bool good = ra > 0 && rb > 0 && !(ra == 1 && flag[0]) && !(rb == 1 && flag[1]);
    if (good) {
      lead_a.assign(a.shape().begin(), a.shape().end() - (ra > 1 ? 2 : 1));
      lead_b.assign(b.shape().begin(), b.shape().end() - (rb > 1 ? 2 : 1));
      inner = a.shape()[flag[0] ? ra - 2 : ra - 1];
      good = inner == b.shape()[rb == 1 ? 0 : flag[1] ? rb - 1 : rb - 2];
      shape = common_shape(lead_a, lead_b);
      good = good && shape;
    }
    const std::size_t leading = good ? shape->size() : 0;
    if (good && ra > 1) shape->push_back(a.shape()[flag[0] ? ra - 1 : ra - 2]);
    if (good && rb > 1) shape->push_back(b.shape()[flag[1] ? rb - 2 : rb - 1]);
    const auto want = [&](const Position& p) {
      const auto batch_at = [&](std::size_t rank) {  // positions along leading axes; at() takes care of extents of 1
        return Position(p.begin() + static_cast<std::ptrdiff_t>(leading - rank),
                        p.begin() + static_cast<std::ptrdiff_t>(leading));
      };
      double sum = 0;
      for (std::size_t i = 0; i < inner; ++i) {
        Position pa = batch_at(lead_a.size()), pb = batch_at(lead_b.size());
        for (std::size_t j = 0; j < pa.size(); ++j)
          if (lead_a[j] == 1) pa[j] = 0;
        for (std::size_t j = 0; j < pb.size(); ++j)
          if (lead_b[j] == 1) pb[j] = 0;
        if (ra > 1) pa.push_back(p[leading]);
        pa.push_back(i);
        if (ra > 1 && flag[0]) std::swap(pa[pa.size() - 1], pa[pa.size() - 2]);
        pb.push_back(i);
        if (rb > 1) pb.push_back(p[leading + (ra > 1)]);
        if (rb > 1 && flag[1]) std::swap(pb[pb.size() - 1], pb[pb.size() - 2]);
        sum += at(a, pa) * at(b, pb);
      }
      return sum;
    };
    check<T>(
        "matmul of " + text(a.shape()) + (flag[0] ? "^T" : "") + " and " + text(sb) + (flag[1] ? "^T" : ""),
        good ? shape : std::nullopt, [&] { return xgrad::matmul(ea, b, flag[0], flag[1]); }, want,
        8 * reference::unit<T>());
  });
}

/// softmax, masked softmax and log_softmax.
template <class T>
void softmax(Draw& draw) {
  with_source<T>(draw, draw.shape(), true, [&](const Array<T>& x, const auto& e) {
    const std::ptrdiff_t axis = draw.axis(x.dimension());
    const auto a = resolved(axis, x.dimension());
    Array<T> mask = draw.array<T>(draw.coin() ? x.shape() : partner(draw, x.shape()));
    for (std::size_t i = 0; i < mask.size(); ++i)
      if (draw.below(4) == 0) mask.data()[i] = 0;
    const auto both = common_shape(x.shape(), mask.shape());
    const bool fits = both && *both == x.shape();
    const auto row = [&](Position p, const auto& f) {
      for (p[*a] = 0; p[*a] < x.shape()[*a]; ++p[*a]) f(p);
    };
    // The number at p as e^x / sum(e^x), or its logarithm, over the entries that are kept.
    const auto want = [&](bool masked, bool logarithm) {
      return [&, masked, logarithm](const Position& p) {
        const auto kept = [&](const Position& q) { return !masked || at(mask, q) != 0; };
        if (!kept(p)) return 0.0;
        double largest = -HUGE_VAL;
        bool nan = false;
        row(p, [&](const Position& q) {
          if (!kept(q)) return;
          nan = nan || std::isnan(at(x, q));
          if (at(x, q) > largest) largest = at(x, q);
        });
        if (nan || largest == HUGE_VAL) return std::nan("");
        if (largest == -HUGE_VAL) return logarithm ? -HUGE_VAL : 0.0;
        long double sum = 0;
        row(p, [&](const Position& q) {
          if (kept(q)) sum += std::exp(static_cast<long double>(at(x, q)) - largest);
        });
        const long double shifted = static_cast<long double>(at(x, p)) - largest;
        return static_cast<double>(logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum);
      };
    };
    const std::string of = " of " + xgrad::to_string(x, 9) + " along " + std::to_string(axis);
    const auto good = [&](bool all) { return a && all ? std::optional<Shape>(x.shape()) : std::nullopt; };
    const double few = static_cast<double>(32 + x.size()) * reference::unit<T>(), tiny = std::numeric_limits<T>::min();
    check<T>(
        "softmax" + of, good(true), [&] { return xgrad::softmax(e, axis); }, want(false, false), few, tiny);
    check<T>(
        "softmax" + of + " with mask " + xgrad::to_string(mask), good(fits),
        [&] { return xgrad::softmax(e, mask, axis); }, want(true, false), few, tiny);
    check<T>(
        "log_softmax" + of, good(true), [&] { return xgrad::log_softmax(e, axis); }, want(false, true), few, few);
  });
}

}  // namespace property
