#pragma once

#include <xgrad/xgrad.hpp>

xgrad::Array<double> times_itself(const xgrad::Array<double>& m);
xgrad::Array<float> ramp(std::size_t count);  // 0, 1, 2, ...
xgrad::Variable<float> weighed_sum(const xgrad::Variable<float>& x, const xgrad::Array<float>& weights);
