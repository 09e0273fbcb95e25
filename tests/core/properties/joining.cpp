#include "core/properties/joining.hpp"

#include "core/properties/run.hpp"

XGRAD_PROPERTY(concatenate)
XGRAD_PROPERTY(stack)
XGRAD_PROPERTY(split)
XGRAD_PROPERTY(squeeze_and_expand)
XGRAD_PROPERTY(broadcasting)
XGRAD_PROPERTY(too_large)
