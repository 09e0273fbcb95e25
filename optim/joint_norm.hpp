// The L2 norm of several arrays together: what clip_grad_norm and gradient_norms share.
#pragma once

#include <vector>

#include "../core/array.hpp"

namespace xgrad::detail {

/// sqrt of the sum of all squares, in double, which neither overflows nor underflows. NaN or infinity if an entry is.
template <class T>
double joint_norm(const std::vector<const Array<T>*>& arrays);

}  // namespace xgrad::detail
