#include "schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace xgrad {

namespace schedule {

namespace {

/// Half a cosine from a to b as `share` goes from 0 to 1; exact at both ends.
double half_cosine(double a, double b, double share) {
  const double pi = 3.14159265358979323846;
  const double weight = (1 + std::cos(pi * share)) / 2;
  return b + (a - b) * weight;
}

}  // namespace

double constant(std::uint64_t, double lr) { return lr; }

double step(std::uint64_t k, double lr, std::uint64_t every, double factor) {
  if (every == 0) fail<std::invalid_argument>("schedule::step", "every must be at least 1 but is 0");
  const std::uint64_t times = k / every;
  return lr * std::pow(factor, static_cast<double>(times));
}

double exponential(std::uint64_t k, double lr, double factor) { return lr * std::pow(factor, static_cast<double>(k)); }

double linear(std::uint64_t k, double lr, std::uint64_t steps, double end) {
  if (k >= steps) return end;
  const double share = static_cast<double>(k) / static_cast<double>(steps);
  return lr + (end - lr) * share;
}

double cosine(std::uint64_t k, double lr, std::uint64_t steps, double end) {
  if (k >= steps) return end;
  return half_cosine(lr, end, static_cast<double>(k) / static_cast<double>(steps));
}

double linear_warmup(std::uint64_t k, double lr, std::uint64_t steps) {
  if (k >= steps) return lr;
  return lr * static_cast<double>(k + 1) / static_cast<double>(steps);
}

double one_cycle(std::uint64_t k, double peak, std::uint64_t steps, const OneCycle& options) {
  const char* who = "schedule::one_cycle";
  if (!(options.rise >= 0 && options.rise <= 1))
    fail<std::invalid_argument>(who, "rise must be in [0, 1] but is ", options.rise);
  if (!(options.start_div > 0) || !(options.final_div > 0))
    fail<std::invalid_argument>(who, "start_div and final_div must be > 0 but are ", options.start_div, " and ",
                                options.final_div);
  const double first = peak / options.start_div, last = first / options.final_div;
  if (k + 1 >= steps) return options.rise < 1 ? last : peak;
  const double at = static_cast<double>(k), end = static_cast<double>(steps - 1);
  const double top = std::max(0.0, options.rise * static_cast<double>(steps) - 1);
  return at < top ? half_cosine(first, peak, at / top) : half_cosine(peak, last, (at - top) / (end - top));
}

}  // namespace schedule

ReduceOnPlateau::ReduceOnPlateau(const PlateauOptions& options) : options_(options) {
  const auto check = [](bool good, const char* what, double value) {
    if (!good) fail<std::invalid_argument>("ReduceOnPlateau", what, " but is ", value);
  };
  check(options.factor > 0 && options.factor < 1, "factor must be in (0, 1)", options.factor);
  check(options.threshold >= 0, "threshold must be >= 0", options.threshold);
  check(options.min_lr >= 0, "min_lr must be >= 0", options.min_lr);
  best_ = (options.maximize ? -1 : 1) * std::numeric_limits<double>::infinity();
}

double ReduceOnPlateau::operator()(double lr, double value) {
  // The first value is better than none, whatever the threshold (a share of infinity is NaN for threshold 1).
  const double sign = options_.maximize ? -1 : 1, best = sign * best_;
  const double margin = options_.relative ? options_.threshold * std::abs(best) : options_.threshold;
  const bool better = std::isinf(best) && best > 0 ? sign * value < best : sign * value < best - margin;
  if (better) {
    best_ = value;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (cooldown_ > 0) {
    --cooldown_;
    bad_ = 0;
  }
  if (bad_ <= options_.patience) return lr;
  bad_ = 0;
  cooldown_ = options_.cooldown;
  return std::min(lr, std::max(lr * options_.factor, options_.min_lr));
}

template <class T>
State<T> ReduceOnPlateau::state() const {
  State<T> result;
  result.numbers = {{"best", best_}, {"bad", static_cast<double>(bad_)}, {"cooldown", static_cast<double>(cooldown_)}};
  return result;
}

template <class T>
void ReduceOnPlateau::load_state(const State<T>& state) {
  const auto count = [&](const char* name) {
    const double value = state.number(name);
    if (!is_count(value))
      fail<std::invalid_argument>("ReduceOnPlateau", name, " must be a whole number from 0 but is ", value);
    return static_cast<std::size_t>(value);
  };
  const double best = state.number("best");
  const std::size_t bad = count("bad"), cooldown = count("cooldown");
  best_ = best;
  bad_ = bad;
  cooldown_ = cooldown;
}

#define XGRAD_INSTANTIATE(T)                        \
  template State<T> ReduceOnPlateau::state() const; \
  template void ReduceOnPlateau::load_state(const State<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
