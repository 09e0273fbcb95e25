#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "../core/kernels/math_inline.hpp"
#include "../core/ops/reduction.hpp"
#include "../core/ops/select.hpp"
#include "../core/ops/softmax.hpp"
#include "../core/record.hpp"
#include "loss.hpp"

namespace xgrad {

namespace {

/// The target distribution of each row: q[k] = (1 - s) w[class] at the class, plus s/C w[k] everywhere.
struct Targets {
  Index classes;
  std::int64_t ignored;
  double smoothing;
  std::vector<double> weights;  // empty: ones
  std::size_t width;            // C
  double weight_sum;

  bool counts(std::size_t row) const { return classes.data()[row] != ignored; }
  std::size_t of(std::size_t row) const { return static_cast<std::size_t>(classes.data()[row]); }
  double weight(std::size_t k) const { return weights.empty() ? 1.0 : weights[k]; }
  double probability(std::size_t row, std::size_t k) const {
    const double here = k == of(row) ? (1 - smoothing) * weight(k) : 0.0;
    return smoothing > 0 ? here + smoothing / static_cast<double>(width) * weight(k) : here;
  }
  double total(std::size_t row) const {  // sum over k of q
    return (1 - smoothing) * weight(of(row)) + smoothing / static_cast<double>(width) * weight_sum;
  }
};

/// The softmax of a row is exp((x - max) - log_sum); keeping the two apart keeps the digits of huge logits.
struct RowScale {
  double max, log_sum;
};

template <class T>
constexpr double kCost = sizeof(T) == 4 ? 0.6 : 5;  // of a logit, in nanoseconds

template <class T>
XGRAD_INLINE inline RowScale scale_of(const T* x, std::size_t width) {
  const T max = detail::lane_max(x, width);
  if (max == -std::numeric_limits<T>::infinity()) {
    bool nan = false;
    for (std::size_t k = 0; k < width; ++k) nan |= x[k] != x[k];
    return {nan ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(max), 0};
  }
  const auto top = static_cast<std::size_t>(std::find(x, x + width, max) - x);
  const auto below = [=](std::size_t k) XGRAD_INLINE { return detail::exp_of(x[k] - max); };
  const auto above = [=](std::size_t k) XGRAD_INLINE { return detail::exp_of(x[top + 1 + k] - max); };
  const double rest = detail::lane_sum<T>(top, below) + detail::lane_sum<T>(width - top - 1, above);
  return {static_cast<double>(max), std::log1p(rest)};
}

bool is_masked(const RowScale& s) { return s.max == -std::numeric_limits<double>::infinity(); }

/// -log softmax(x)[k].
double surprise(double x, const RowScale& s) { return is_masked(s) ? -s.max : (s.max - x) + s.log_sum; }

void check_options(const CrossEntropyOptions& o, std::size_t width) {
  if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
    fail<std::invalid_argument>("cross_entropy", "label_smoothing must be in [0, 1] but is ", o.label_smoothing);
  if (!o.weights.empty() && o.weights.size() != width)
    fail<ShapeError>("cross_entropy", "needs one weight for each of ", width, " classes but got ", o.weights.size());
  for (std::size_t k = 0; k < o.weights.size(); ++k)
    if (!(o.weights[k] >= 0) || !std::isfinite(o.weights[k]))
      fail<std::invalid_argument>("cross_entropy", "weights must be finite and not negative but weights[", k, "] is ",
                                  o.weights[k]);
}

void check_classes(const Shape& logits, const Index& classes, std::int64_t ignored) {
  if (logits.empty()) fail<ShapeError>("cross_entropy", "logits need an axis of classes but are 0-d");
  check_shape("cross_entropy", "classes", Shape(logits.begin(), logits.end() - 1), classes.shape());
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::int64_t c = classes.data()[i];
    if (c != ignored && (c < 0 || static_cast<std::uint64_t>(c) >= logits.back()))
      fail<ShapeError>("cross_entropy", "classes must be in [0, ", logits.back(), ") or ", ignored,
                       " (ignored) but the class of row ", i, " is ", c);
  }
}

/// The loss of each row in plain ops: what a recorded pass differentiates.
template <class T>
Variable<T> composed(const Variable<T>& logits, const Targets& targets) {
  const Shape& shape = logits.shape();
  Shape column = shape;
  column.back() = 1;
  Array<T> q = zeros<T>(shape), counts = zeros<T>(column);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (!targets.counts(i)) continue;
    counts.data()[i] = T(1);
    for (std::size_t k = 0; k < targets.width; ++k)
      q.data()[i * targets.width + k] = static_cast<T>(targets.probability(i, k));
  }
  // Neither an ignored row's NaN nor 0 * -inf gets through.
  const Variable<T> log_p = xgrad::log_softmax(xgrad::where(counts, logits, 0));
  return xgrad::sum(xgrad::where(q, -log_p * q, 0), -1);
}

template <class T>
Variable<T> row_losses(const Variable<T>& logits, const std::shared_ptr<const Targets>& shared) {
  const Targets& targets = *shared;
  const std::size_t width = targets.width, rows = targets.classes.size();
  const T* const x = logits.value().data();
  std::vector<RowScale, memory::Allocator<RowScale>> scales(rows);
  Array<T> losses = zeros<T>(targets.classes.shape());
  RowScale* const scale = scales.data();
  const Targets* const all = shared.get();
  const double cost = kCost<T> * static_cast<double>(width);
  detail::parallel(rows, 1, cost, [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
    for (std::size_t i = begin; i < end; ++i)
      if (all->counts(i)) scale[i] = scale_of(x + i * width, width);
  });
  for (std::size_t i = 0; i < rows; ++i) {
    if (!targets.counts(i)) continue;
    const T* const row = x + i * width;
    double loss = 0;
    if (targets.smoothing > 0) {
      for (std::size_t k = 0; k < width; ++k)
        if (const double p = targets.probability(i, k); p > 0)
          loss += p * surprise(static_cast<double>(row[k]), scales[i]);
    } else if (const double w = targets.weight(targets.of(i)); w > 0) {
      loss = w * surprise(static_cast<double>(row[targets.of(i)]), scales[i]);
    }
    losses.data()[i] = static_cast<T>(loss);
  }

  auto kernel = [shared, scales = std::move(scales), width, rows](ArrayBackward<T>& b) {
    const Targets* const q = shared.get();
    const RowScale* const of_row = scales.data();
    Array<T> dx = empty<T>(b.shape(0));
    T* const to = dx.data();
    const T *const from = b.input(0).data(), *const seed = b.grad().data();
    detail::parallel(rows, 1, kCost<T> * static_cast<double>(width),
                     [=](std::size_t begin, std::size_t end) XGRAD_INLINE {
                       for (std::size_t i = begin; i < end; ++i) {
                         const T* const row = from + i * width;
                         T* const d = to + i * width;
                         if (!q->counts(i) || is_masked(of_row[i])) {
                           std::fill(d, d + width, T(0));
                           continue;
                         }
                         const double g = static_cast<double>(seed[i]);
                         const T max = static_cast<T>(of_row[i].max), log_sum = static_cast<T>(of_row[i].log_sum);
                         const T pull = static_cast<T>(g * q->total(i));
#pragma omp simd
                         for (std::size_t k = 0; k < width; ++k) d[k] = pull * detail::exp_of((row[k] - max) - log_sum);
                         if (q->smoothing > 0)
                           for (std::size_t k = 0; k < width; ++k) d[k] -= static_cast<T>(g * q->probability(i, k));
                         else d[q->of(i)] -= static_cast<T>(g * q->probability(i, q->of(i)));
                       }
                     });
    b.add(0, std::move(dx));
  };
  auto twin = [shared](const std::vector<Variable<T>>& in) { return composed(in[0], *shared); };
  return record<T>("cross_entropy", {logits}, saves::inputs, std::move(losses), std::move(kernel), std::move(twin));
}

}  // namespace

template <class T>
Variable<T> cross_entropy(const Variable<T>& logits, const Index& classes, const CrossEntropyOptions& options) {
  check_classes(logits.shape(), classes, options.ignore_index);
  const std::size_t width = logits.shape().back();
  check_options(options, width);
  double weight_sum = options.weights.empty() ? static_cast<double>(width) : 0;
  for (const double w : options.weights) weight_sum += w;
  const auto targets = std::make_shared<const Targets>(
      Targets{classes, options.ignore_index, options.label_smoothing, options.weights, width, weight_sum});
  Variable<T> losses = row_losses(logits, targets);
  if (options.reduction == Reduction::none) return losses;
  Variable<T> total = xgrad::sum(losses);
  if (options.reduction == Reduction::sum) return total;
  double weight = 0;
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (targets->counts(i)) weight += targets->weight(targets->of(i));
  return total * static_cast<T>(weight > 0 ? 1 / weight : 0);
}

#define XGRAD_INSTANTIATE(T) \
  template Variable<T> cross_entropy(const Variable<T>&, const Index&, const CrossEntropyOptions&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
