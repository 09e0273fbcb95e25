#include "loss.hpp"

#include <cmath>

#include "../core/kernels/math_inline.hpp"
#include "../core/ops/activation.hpp"
#include "../core/ops/pointwise.hpp"
#include "../core/ops/reduction.hpp"
#include "../core/ops/select.hpp"
#include "../core/record.hpp"

namespace xgrad {

namespace {

/// A loss of each prediction against its target, reduced in the same pass. `formula` offers, for one pair (x, t) at
/// position i: value(x, t, i), by_prediction and by_target (its derivatives), and composed(x, t), the same in plain
/// ops.
template <class T, class Formula>
Variable<T> pointwise_loss(const char* name, const Variable<T>& x, const Variable<T>& t, Reduction reduction,
                           const Formula& formula) {
  check_shape(name, "the target", x.shape(), t.shape());
  const std::size_t n = x.size();
  if (reduction == Reduction::mean && n == 0)
    fail<ShapeError>(name, "the mean needs at least one number but the shape is ", to_string(x.shape()));

  const T* const px = x.value().data();
  const T* const pt = t.value().data();
  const Formula* const of = &formula;
  Array<T> value = empty<T>(reduction == Reduction::none ? x.shape() : Shape{});
  T* const out = value.data();
  if (reduction == Reduction::none) {
    detail::parallel(n, 1024, Formula::cost, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
      for (std::size_t i = begin; i < end; ++i) out[i] = of->value(px[i], pt[i], i);
    });
  } else {
    const double total = detail::parallel_sum<T>(
        n, Formula::cost, [=](std::size_t i) XGRAD_INLINE { return of->value(px[i], pt[i], i); });
    out[0] = static_cast<T>(reduction == Reduction::mean ? total / static_cast<double>(n) : total);
  }

  auto kernel = [reduction, formula, n](ArrayBackward<T>& b) {
    const T* const g = b.grad().data();
    const T* const a = b.input(0).data();
    const T* const c = b.input(1).data();
    const bool each = reduction == Reduction::none;
    const T shared = each ? T(0) : reduction == Reduction::mean ? g[0] / static_cast<T>(n) : g[0];
    const auto fill = [&](std::size_t input, auto derivative) {
      if (!b.needs(input)) return;
      Array<T> d = empty<T>(b.shape(input));
      T* const to = d.data();
      detail::parallel(n, 1024, Formula::cost, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
#pragma omp simd
        for (std::size_t i = begin; i < end; ++i) to[i] = (each ? g[i] : shared) * derivative(a[i], c[i], i);
      });
      b.add(input, std::move(d));
    };
    const Formula* const f = &formula;
    fill(0, [f](T p, T q, std::size_t i) XGRAD_INLINE { return f->by_prediction(p, q, i); });
    fill(1, [f](T p, T q, std::size_t i) XGRAD_INLINE { return f->by_target(p, q, i); });
  };
  auto twin = [reduction, formula](const std::vector<Variable<T>>& in) {
    const Variable<T> losses = formula.composed(in[0], in[1]);
    return reduction == Reduction::none  ? losses
           : reduction == Reduction::sum ? xgrad::sum(losses)
                                         : xgrad::mean(losses);
  };
  return record<T>(name, {x, t}, saves::inputs, std::move(value), std::move(kernel), std::move(twin));
}

template <class T>
struct SquaredError {
  static constexpr double cost = 0.2;  // of a number, in nanoseconds
  XGRAD_INLINE T value(T x, T t, std::size_t) const { return (x - t) * (x - t); }
  XGRAD_INLINE T by_prediction(T x, T t, std::size_t) const { return T(2) * (x - t); }
  XGRAD_INLINE T by_target(T x, T t, std::size_t) const { return T(2) * (t - x); }
  Variable<T> composed(const Variable<T>& x, const Variable<T>& t) const { return xgrad::square(x - t); }
};

template <class T>
struct AbsoluteError {
  static constexpr double cost = 0.2;                                           // of a number, in nanoseconds
  XGRAD_INLINE static T sign(T d) { return d > 0 ? T(1) : d < 0 ? T(-1) : d; }  // a NaN stays
  XGRAD_INLINE T value(T x, T t, std::size_t) const { return std::abs(x - t); }
  XGRAD_INLINE T by_prediction(T x, T t, std::size_t) const { return sign(x - t); }
  XGRAD_INLINE T by_target(T x, T t, std::size_t) const { return sign(t - x); }
  Variable<T> composed(const Variable<T>& x, const Variable<T>& t) const { return xgrad::abs(x - t); }
};

template <class T>
struct HuberError {
  static constexpr double cost = 0.3;  // of a number, in nanoseconds
  T delta;
  XGRAD_INLINE T held(T d) const { return d > delta ? delta : d < -delta ? -delta : d; }
  XGRAD_INLINE T value(T x, T t, std::size_t) const {
    const T d = std::abs(x - t);
    return d <= delta ? T(0.5) * d * d : delta * (d - T(0.5) * delta);
  }
  XGRAD_INLINE T by_prediction(T x, T t, std::size_t) const { return held(x - t); }
  XGRAD_INLINE T by_target(T x, T t, std::size_t) const { return held(t - x); }
  Variable<T> composed(const Variable<T>& x, const Variable<T>& t) const {
    const Variable<T> d = x - t, size = xgrad::abs(d);
    const Variable<T> inner = xgrad::clip(d, -delta, delta);  // d, but no square of what is outside
    return xgrad::where(xgrad::less_equal(size, delta), T(0.5) * xgrad::square(inner), delta * (size - T(0.5) * delta));
  }
};

template <class T>
struct LogisticError {
  static constexpr double cost = 10;  // of a number, in nanoseconds
  T weight;                           // of the positive term,
  std::vector<T> weights;             // or one for each entry of the last axis

  XGRAD_INLINE T at(std::size_t i) const { return weights.empty() ? weight : weights[i % weights.size()]; }
  XGRAD_INLINE static T softplus(T x) { return (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::abs(x))); }
  XGRAD_INLINE static T sigmoid(T x) { return T(1) / (T(1) + std::exp(-x)); }

  // Both terms are sums of positive numbers, so nothing cancels and nothing overflows.
  XGRAD_INLINE T value(T x, T t, std::size_t i) const { return at(i) * t * softplus(-x) + (T(1) - t) * softplus(x); }
  XGRAD_INLINE T by_prediction(T x, T t, std::size_t i) const {
    return (T(1) - t) * sigmoid(x) - at(i) * t * sigmoid(-x);
  }
  XGRAD_INLINE T by_target(T x, T, std::size_t i) const { return at(i) * softplus(-x) - softplus(x); }
  Variable<T> composed(const Variable<T>& x, const Variable<T>& t) const {
    const Variable<T> w = weights.empty() ? Variable<T>(weight) : Variable<T>(from(weights));
    return w * t * xgrad::softplus(-x) + (T(1) - t) * xgrad::softplus(x);
  }
};

}  // namespace

template <class T>
Variable<T> mse_loss(const Variable<T>& prediction, const detail::LossTarget<T>& target, Reduction reduction) {
  return pointwise_loss("mse_loss", prediction, target, reduction, SquaredError<T>{});
}

template <class T>
Variable<T> l1_loss(const Variable<T>& prediction, const detail::LossTarget<T>& target, Reduction reduction) {
  return pointwise_loss("l1_loss", prediction, target, reduction, AbsoluteError<T>{});
}

template <class T>
Variable<T> huber_loss(const Variable<T>& prediction, const detail::LossTarget<T>& target, Reduction reduction,
                       double delta) {
  if (!(delta > 0) || !std::isfinite(delta))
    fail<std::invalid_argument>("huber_loss", "delta must be finite and above 0 but is ", delta);
  return pointwise_loss("huber_loss", prediction, target, reduction, HuberError<T>{static_cast<T>(delta)});
}

template <class T>
Variable<T> bce_with_logits(const Variable<T>& logits, const detail::LossTarget<T>& target, Reduction reduction,
                            const std::vector<double>& pos_weight) {
  LogisticError<T> formula{pos_weight.empty() ? T(1) : static_cast<T>(pos_weight[0]), {}};
  if (pos_weight.size() > 1) {
    if (logits.dimension() == 0 || pos_weight.size() != logits.shape().back())
      fail<ShapeError>("bce_with_logits", "pos_weight must have 1 number or one for each entry of the last axis of ",
                       to_string(logits.shape()), " but has ", pos_weight.size());
    for (const double w : pos_weight) formula.weights.push_back(static_cast<T>(w));
  }
  return pointwise_loss("bce_with_logits", logits, target, reduction, formula);
}

#define XGRAD_INSTANTIATE(T)                                                                            \
  template Variable<T> mse_loss(const Variable<T>&, const detail::LossTarget<T>&, Reduction);           \
  template Variable<T> l1_loss(const Variable<T>&, const detail::LossTarget<T>&, Reduction);            \
  template Variable<T> huber_loss(const Variable<T>&, const detail::LossTarget<T>&, Reduction, double); \
  template Variable<T> bce_with_logits(const Variable<T>&, const detail::LossTarget<T>&, Reduction,     \
                                       const std::vector<double>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
