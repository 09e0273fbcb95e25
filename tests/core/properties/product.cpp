#include "core/properties/product.hpp"

#include "core/properties/run.hpp"

XGRAD_PROPERTY(matmul)
XGRAD_PROPERTY(softmax)
