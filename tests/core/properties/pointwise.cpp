#include "core/properties/pointwise.hpp"

#include "core/properties/run.hpp"

XGRAD_PROPERTY(unary)
XGRAD_PROPERTY(binary)
XGRAD_PROPERTY(where)
XGRAD_PROPERTY(clip)
