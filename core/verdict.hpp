// Is the gradient of one entry right? Compares it with differences of several steps, so that kinks and jumps show.
#pragma once

#include "differences.hpp"

namespace xgrad::detail {

enum class Point { smooth, kink, beside_kink, jump, vertical };

struct Verdict {
  bool right;
  double numeric;  // at a kink the slope between both sides that is nearest to the analytic one
  double allowed;
  double doubt;         // how far numeric may be off
  bool hidden = false;  // doubt hides errors that the check should find
  Point point = Point::smooth;
  double low = 0, high = 0;  // the one-sided slopes, unless smooth
};

/// The verdict on entry i of target t, whose largest analytic gradient is of size `largest`.
Verdict judge(Runs& runs, const Precision& precision, std::size_t t, std::size_t i, double analytic, double largest);

}  // namespace xgrad::detail
