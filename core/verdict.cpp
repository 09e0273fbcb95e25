#include "verdict.hpp"

#include <algorithm>
#include <cmath>

namespace xgrad::detail {

namespace {

class Judge {
 public:
  Judge(Runs& runs, const Precision& precision, std::size_t t, std::size_t i, double analytic, double largest)
      : runs_(runs),
        precision_(precision),
        t_(t),
        i_(i),
        analytic_(analytic),
        blur_(precision.blur * largest),
        floor_(precision.floor * largest),
        h_(runs.step(t, i)) {}

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
  bool between(const Slope& s) const { return analytic_ >= s.low - allowed(s) && analytic_ <= s.high + allowed(s); }
  /// True when an error of `part` of the gradient (or of `floor`, where that is larger) could not be seen.
  bool hides(const Slope& s, double part) const {
    return !(s.doubt() <= std::max(precision_.atol, part * std::max({std::abs(analytic_), std::abs(s.value), floor_})));
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
    Slope last = wide, best = wide;
    bool grew = false;
    const double gap = std::abs(analytic_ - wide.value);
    for (int k = 0; k < 3; ++k) {
      Slope near = runs_.slope(t_, i_, h_ /= shrink(), precision_.levels);
      if (!std::isfinite(near.value)) break;
      const bool apart = near.bend() > near.side_noise && last.bend() > last.side_noise;
      const double power = std::log(near.bend() / last.bend()) / std::log(shrink());
      const bool sharp = near.doubt() < 0.25 * gap;  // enough to overrule the wide step
      const bool grows = apart && power > 0.25;
      if (grows && grew && !(power <= 0.75 && v.right)) {  // twice, since one step may hide what the next shows
        v.right = false;
        v.point = power > 0.75 ? Point::jump : Point::vertical;
        return;
      }
      grew = grows;
      if (apart && !grows && power > -0.75) {
        const double nearest = std::clamp(analytic_, near.low, near.high), tolerance = allowed(near);
        const bool right = between(near);
        kink = {right,       nearest,  tolerance, near.doubt(), v.hidden || !(v.right || sharp),
                Point::kink, near.low, near.high};
        if (right && power > -0.01) break;  // else it may lie beside the point
      } else if (v.right && !grows) {
        break;  // no kink but a bend, or too near for this step
      } else if (!grows && std::abs(near.value - wide.value) <= near.doubt() + wide.doubt()) {
        // Wide steps of float often cross kinks: where rounding does not let closer ones tell, nothing is proved.
        v.hidden = v.right = precision_.narrow && !sharp && gap <= wide.bend() && agrees(near);
        break;
      } else if (!v.right && sharp && (agrees(near) || agrees(limit(last, near)))) {
        v = {true, near.value, allowed(near), near.doubt(), v.hidden, Point::beside_kink, wide.low, wide.high};
        return;
      } else if (!v.right && sharp && !between(near)) {
        v.numeric = near.value;
        v.allowed = allowed(near);
        kink.point = Point::smooth;
      }
      near.spread = std::max(near.spread, std::abs(near.value - last.value));
      if (k == 0) best.spread = near.spread;
      if (near.doubt() < best.doubt()) best = near;
      last = near;
    }
    if (kink.point == Point::kink && (kink.right || !v.right)) v = kink;
    // Where the steps of float contradict each other, the best of them says how little is known.
    if (precision_.narrow && !v.right && best.spread > wide.spread && agrees(best))
      v = {true,     best.value, allowed(best), best.doubt(), hides(best, precision_.finds), Point::beside_kink,
           wide.low, wide.high};
  }

  /// Where slopes of steps that shrink go when their error falls with the step, as at a jump of the second derivative.
  Slope limit(const Slope& wide, Slope near) const {
    near.value += (near.value - wide.value) / (shrink() - 1);
    return near;
  }

  /// The factor between steps: as far apart as to leave out all steps that were extrapolated from.
  double shrink() const { return std::ldexp(precision_.narrow ? 4 : 8, precision_.levels - 1); }

  Runs& runs_;
  const Precision& precision_;
  const std::size_t t_, i_;
  const double analytic_, blur_, floor_;
  double h_;
};

}  // namespace

Verdict judge(Runs& runs, const Precision& precision, std::size_t t, std::size_t i, double analytic, double largest) {
  return Judge(runs, precision, t, i, analytic, largest).judge();
}

}  // namespace xgrad::detail
