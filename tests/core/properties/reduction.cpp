#include "core/properties/reduction.hpp"

#include "core/properties/run.hpp"

XGRAD_PROPERTY(reductions)
XGRAD_PROPERTY(special_reductions)
XGRAD_PROPERTY(argmax)
