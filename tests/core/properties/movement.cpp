#include "core/properties/movement.hpp"

#include "core/properties/run.hpp"

XGRAD_PROPERTY(slice)
XGRAD_PROPERTY(add_to_slice)
XGRAD_PROPERTY(take)
XGRAD_PROPERTY(add_rows)
XGRAD_PROPERTY(reshape)
XGRAD_PROPERTY(permute)
