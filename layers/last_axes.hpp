// The one check that all layers on the last axes share. Internal to layers.
#pragma once

#include "../core/array.hpp"

namespace xgrad::detail {

/// Throws ShapeError "[who] last axis must be 8 but input is (2, 5, 6)" unless the last axes of `input` are `want`.
inline void check_last_axes(const char* who, const Shape& want, const Shape& input) {
  bool same = input.size() >= want.size();
  for (std::size_t i = 0; same && i < want.size(); ++i) same = input[input.size() - want.size() + i] == want[i];
  if (same) return;
  if (want.size() == 1) fail<ShapeError>(who, "last axis must be ", want[0], " but input is ", to_string(input));
  fail<ShapeError>(who, "last axes must be ", to_string(want), " but input is ", to_string(input));
}

}  // namespace xgrad::detail
