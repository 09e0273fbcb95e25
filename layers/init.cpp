#include "init.hpp"

#include <cmath>

namespace xgrad {

namespace {

/// fan_in, fan_out or their mean for a weight of shape (out, in, ...).
double fan_of(Init::Scale scale, const Shape& weight) {
  if (weight.size() < 2)
    fail<ShapeError>("init", "fans need a weight of shape (out, in, ...) but got ", to_string(weight),
                     "; use init::uniform or init::normal");
  double rest = 1;
  for (std::size_t i = 2; i < weight.size(); ++i) rest *= static_cast<double>(weight[i]);
  const double out = static_cast<double>(weight[0]) * rest, in = static_cast<double>(weight[1]) * rest;
  return scale == Init::Scale::fan_in ? in : scale == Init::Scale::fan_out ? out : (in + out) / 2;
}

Init::Scale scale_by(Fan fan) { return fan == Fan::in ? Init::Scale::fan_in : Init::Scale::fan_out; }

Init uniform_within(double bound, Init::Scale scale) { return {Init::Law::uniform, scale, -bound, bound}; }

}  // namespace

Init::Init(Law law, Scale scale, double a, double b) : law_(law), scale_(scale), a_(a), b_(b) {
  if (!std::isfinite(a) || !std::isfinite(b))
    fail<std::invalid_argument>("init", "needs finite numbers but got ", a, " and ", b);
  if (law == Law::uniform && a > b)
    fail<std::invalid_argument>("init", "the range must not end below its start but is [", a, ", ", b, ")");
  if (law == Law::normal && b < 0) fail<std::invalid_argument>("init", "the deviation must not be negative but is ", b);
}

template <class T>
Array<T> Init::draw(const Shape& shape, Rng& rng) const {
  return draw<T>(shape, rng, shape);
}

template <class T>
Array<T> Init::draw(const Shape& shape, Rng& rng, const Shape& weight) const {
  double factor = 1;
  if (scale_ != Scale::fixed) {
    const double fan = fan_of(scale_, weight);
    factor = fan > 0 ? 1 / std::sqrt(fan) : 0;
  }
  const T a = static_cast<T>(a_ * factor), b = static_cast<T>(b_ * factor);
  if (law_ == Law::uniform) return rng.uniform<T>(shape, a, b);
  if (law_ == Law::normal) return rng.normal<T>(shape, a, b);
  return full<T>(shape, a);
}

namespace init {

double leaky_relu_gain(double slope) { return std::sqrt(2 / (1 + slope * slope)); }

Init constant(double value) { return {Init::Law::constant, Init::Scale::fixed, value, value}; }
Init zeros() { return constant(0); }

Init uniform(double low, double high) { return {Init::Law::uniform, Init::Scale::fixed, low, high}; }
Init normal(double mean, double std) { return {Init::Law::normal, Init::Scale::fixed, mean, std}; }

Init kaiming_uniform(double gain, Fan fan) { return uniform_within(std::sqrt(3.0) * gain, scale_by(fan)); }
Init kaiming_normal(double gain, Fan fan) { return {Init::Law::normal, scale_by(fan), 0, gain}; }

Init xavier_uniform(double gain) { return uniform_within(std::sqrt(3.0) * gain, Init::Scale::fan_mean); }
Init xavier_normal(double gain) { return {Init::Law::normal, Init::Scale::fan_mean, 0, gain}; }

Init linear_default() { return uniform_within(1, Init::Scale::fan_in); }

}  // namespace init

#define XGRAD_INSTANTIATE(T)                                 \
  template Array<T> Init::draw<T>(const Shape&, Rng&) const; \
  template Array<T> Init::draw<T>(const Shape&, Rng&, const Shape&) const;
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
