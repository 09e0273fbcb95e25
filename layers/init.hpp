// Init: the rule by which a weight's first numbers are drawn.
#pragma once

#include "../core/array.hpp"
#include "../core/random.hpp"

namespace xgrad {

/// A rule for drawing the first numbers of a parameter: a distribution, and how its width follows from the shape.
///
/// Made by the functions of namespace `init`, for example `init::xavier_normal(0.02)`; layers take one in their
/// options. A weight has the shape (out, in, ...): fan_in = in * rest, fan_out = out * rest.
class Init {
 public:
  /// An array of the given shape. Rules that need the fans throw ShapeError for a shape with fewer than two axes.
  template <class T>
  Array<T> draw(const Shape& shape, Rng& rng) const;

  /// The same for an array that belongs to a weight, as a bias does: the fans are those of `weight`.
  template <class T>
  Array<T> draw(const Shape& shape, Rng& rng, const Shape& weight) const;

  /// The distribution.
  enum class Law { constant, uniform, normal };
  /// What its width is divided by the root of.
  enum class Scale { fixed, fan_in, fan_out, fan_mean };

  /// The constant a, uniform numbers in [a, b), or normal ones with mean a and deviation b, each over sqrt(fan) unless
  /// `fixed` (a fan of 0 gives zeros; fan_mean is half of fan_in + fan_out). Throws std::invalid_argument unless a and
  /// b are finite and in order.
  Init(Law law, Scale scale, double a, double b);

 private:
  Law law_;
  Scale scale_;
  double a_, b_;
};

/// Which count of connections keeps its scale: inputs (values going forward) or outputs (gradients going back).
enum class Fan { in, out };

/// The usual rules. For U(-b, b) the standard deviation is b / sqrt(3).
namespace init {

/// sqrt(2): what relu needs to keep the scale (He et al. 2015).
inline constexpr double relu_gain = 1.4142135623730951;
/// 5/3, PyTorch's factor for tanh.
inline constexpr double tanh_gain = 5.0 / 3.0;
/// sqrt(2 / (1 + slope^2)) for a leaky relu.
double leaky_relu_gain(double slope);

/// All numbers the same; draws nothing.
/// @{
Init constant(double value);
Init zeros();
/// @}

/// Uniform in [low, high). Throws std::invalid_argument unless low <= high and both are finite.
Init uniform(double low, double high);
/// Normal with the given mean and standard deviation.
Init normal(double mean = 0, double std = 1);

/// Standard deviation gain / sqrt(fan): uniform within sqrt(3) of it, or normal. He et al. 2015.
/// @{
Init kaiming_uniform(double gain = relu_gain, Fan fan = Fan::in);
Init kaiming_normal(double gain = relu_gain, Fan fan = Fan::in);
/// @}

/// Standard deviation gain * sqrt(2 / (fan_in + fan_out)): uniform or normal. Glorot and Bengio 2010.
/// @{
Init xavier_uniform(double gain = 1);
Init xavier_normal(double gain = 1);
/// @}

/// PyTorch's default for the weight and bias of a Linear: uniform within 1 / sqrt(fan_in).
Init linear_default();

}  // namespace init
}  // namespace xgrad
