#include "verdict.hpp"

#include <algorithm>
#include <cmath>

namespace xgrad::detail {

namespace {

class Judge {
 public:
  Judge(Runs& runs, const Precision& precision, std::size_t t, std::size_t i, double analytic, double blur)
      : runs_(runs), precision_(precision), t_(t), i_(i), analytic_(analytic), blur_(blur), h_(runs.step(t, i)) {}

  Verdict judge() {
    const Slope wide = measure();
    Verdict v{agrees(wide), wide.value, allowed(wide), wide.doubt()};
    v.hidden = hides(wide, precision_.finds);
    if (!std::isfinite(analytic_) || !std::isfinite(wide.value)) return v;
    const double size = std::max(std::abs(wide.low), std::abs(wide.high));
    const bool bent = wide.bend() > wide.side_noise && wide.bend() > std::max(1e-2 * size, 100 * v.allowed);
    if (!v.right || bent) look_closer(wide, v);
    return v;
  }

 private:
  double allowed(const Slope& s) const {
    return precision_.atol + precision_.rtol * std::max(std::abs(analytic_), std::abs(s.value)) + s.doubt() + blur_;
  }
  bool agrees(const Slope& s) const { return std::abs(analytic_ - s.value) <= allowed(s) && std::isfinite(allowed(s)); }
  /// True when an error of `part` of the gradient could not be seen.
  bool hides(const Slope& s, double part) const {
    return !(s.doubt() <= std::max(precision_.atol, part * std::max(std::abs(analytic_), std::abs(s.value))));
  }

  /// The slope by the usual step, or by a wider one where the output is so large that its rounding would hide a fault,
  /// or by a narrower one where extrapolation does not settle.
  Slope measure() {
    Slope best = runs_.slope(t_, i_, h_, precision_.levels);
    double h = h_;
    for (int k = 0; k < precision_.widenings && hides(best, precision_.finds / 10); ++k) {
      const bool rounding = best.noise >= best.spread;
      h *= rounding ? precision_.widen : 1 / shrink();
      const Slope other = runs_.slope(t_, i_, h, std::max(precision_.levels, 2));
      if (!std::isfinite(other.value)) break;  // left the domain of f
      if (!(other.doubt() < best.doubt())) continue;
      best = other;
      h_ = h;
    }
    return best;
  }

  /// Compares steps. As the step shrinks by a factor s, the slopes on both sides close up by s where f is smooth; they
  /// stay apart at a kink, and part by s at a jump, by the root of s at a vertical tangent.
  void look_closer(const Slope& wide, Verdict& v) {
    Verdict kink = v;
    Slope last = wide;
    for (int k = 0; k < 3; ++k) {
      const Slope near = runs_.slope(t_, i_, h_ /= shrink(), precision_.levels);
      if (!std::isfinite(near.value)) break;
      const bool apart = near.bend() > near.side_noise && last.bend() > last.side_noise;
      const double power = std::log(near.bend() / last.bend()) / std::log(shrink());
      const bool sharp = !hides(near, precision_.finds);
      if (apart && power > 0.25) {
        if (power <= 0.75 && v.right) return;
        v.right = false;
        v.point = power > 0.75 ? Point::jump : Point::vertical;
        return;
      }
      if (apart && power > -0.75) {
        const double nearest = std::clamp(analytic_, near.low, near.high), tolerance = allowed(near);
        const bool right = sharp && std::abs(analytic_ - nearest) <= tolerance;
        kink = {right, nearest, tolerance, near.doubt(), !sharp, Point::kink, near.low, near.high};
        if (right && power > -0.1) break;  // else it may lie beside the point
      } else {
        if (v.right) return;  // no kink but a bend
        const bool moved = std::abs(near.value - wide.value) > near.doubt() + wide.doubt();
        if (moved && sharp && agrees(near)) {
          v = {true, near.value, allowed(near), near.doubt(), false, Point::beside_kink, wide.low, wide.high};
          return;
        }
        if (!moved) break;
      }
      last = near;
    }
    if (kink.point == Point::kink && (kink.right || !v.right)) v = kink;
  }

  /// The factor between steps: as far apart as to leave out all steps that were extrapolated from.
  double shrink() const { return std::ldexp(8, precision_.levels - 1); }

  Runs& runs_;
  const Precision& precision_;
  const std::size_t t_, i_;
  const double analytic_, blur_;
  double h_;
};

}  // namespace

Verdict judge(Runs& runs, const Precision& precision, std::size_t t, std::size_t i, double analytic, double blur) {
  return Judge(runs, precision, t, i, analytic, blur).judge();
}

}  // namespace xgrad::detail
