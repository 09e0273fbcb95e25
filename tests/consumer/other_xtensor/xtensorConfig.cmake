# Stands for an xtensor of another version than the one that xgrad was built with.
add_library(xtensor INTERFACE IMPORTED)
