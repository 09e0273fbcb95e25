# What stands behind xgrad. CMakeLists.txt includes this file, and so does the installed xgradConfig.cmake: whoever links
# a static xgrad links these too. `xgrad_missing` ends as "" or as one sentence that names Debian's package.
# `xgrad_rpath` is the link option that programs need; a target behind a static library cannot hand it on.
set(xgrad_missing "")
set(xgrad_rpath "")

# The first sentence stays: one thing at a time.
macro(xgrad_needs found what package)
  if(NOT xgrad_missing AND NOT ${found})
    set(xgrad_missing "xgrad needs ${what}; on Debian and Ubuntu: apt-get install ${package}")
  endif()
endmacro()

# Users' code sees xtensor. 0.24 and 0.25 are flat; from 0.26 on headers lie in folders and want C++20, which the target
# says by itself.
if(TARGET xtensor)
  set(xtensor_FOUND ON)  # a project may bring its own
else()
  find_package(xtensor 0.24 QUIET)
endif()
xgrad_needs(xtensor_FOUND "xtensor 0.24 or later" libxtensor-dev)

# The rest is behind the library: a shared one brings it along.
if(NOT xgrad_shared)
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    xgrad_needs(OpenMP_CXX_FOUND "clang's OpenMP" "libomp-dev (libomp-N-dev for clang++-N)")
  else()
    xgrad_needs(OpenMP_CXX_FOUND "OpenMP" g++)
  endif()
  find_package(ZLIB QUIET)
  xgrad_needs(ZLIB_FOUND zlib zlib1g-dev)

  # The OpenMP build of OpenBLAS shares one pool of threads with our kernels; the pthread build fights with it. Debian
  # keeps each build in a folder of its own, and plain -lopenblas would take whichever "alternative" is selected, so the
  # OpenMP folder is searched first, and programs get it as their RPATH, installed ones too.
  find_library(XGRAD_OPENBLAS openblas
    HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib PATH_SUFFIXES openblas-openmp NO_DEFAULT_PATH)
  find_library(XGRAD_OPENBLAS openblas PATH_SUFFIXES openblas)
  xgrad_needs(XGRAD_OPENBLAS OpenBLAS libopenblas-openmp-dev)
  get_filename_component(xgrad_openblas_folder "${XGRAD_OPENBLAS}" DIRECTORY)
  if(XGRAD_OPENBLAS AND NOT xgrad_openblas_folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    set(xgrad_rpath LINKER:-rpath,${xgrad_openblas_folder})
  endif()
  if(XGRAD_OPENBLAS AND NOT TARGET xgrad::openblas)
    add_library(xgrad::openblas INTERFACE IMPORTED)
    target_link_libraries(xgrad::openblas INTERFACE ${XGRAD_OPENBLAS})
    # Said once a build folder and library.
    if(NOT XGRAD_OPENBLAS_SEEN STREQUAL XGRAD_OPENBLAS)
      file(STRINGS ${XGRAD_OPENBLAS} xgrad_openmp LIMIT_COUNT 1 REGEX "^(GOMP_parallel|__kmpc_fork_call)$")
      file(STRINGS ${XGRAD_OPENBLAS} xgrad_pthread LIMIT_COUNT 1 REGEX "^pthread_create$")
      if(xgrad_pthread AND NOT xgrad_openmp)
        message(WARNING "${XGRAD_OPENBLAS} is a pthread build of OpenBLAS: its threads fight with xgrad's, and a "
          "training step can take several times as long. For the OpenMP build, on Debian and Ubuntu: "
          "apt-get install libopenblas-openmp-dev, then configure with -UXGRAD_OPENBLAS")
      endif()
      set(XGRAD_OPENBLAS_SEEN ${XGRAD_OPENBLAS} CACHE INTERNAL "The OpenBLAS whose kind the user has been told")
    endif()
  endif()

  # oneDNN, when installed, takes the larger float products (see core/product_onednn.cpp).
  if(xgrad_onednn)
    find_library(XGRAD_DNNL dnnl)
    find_path(XGRAD_DNNL_HEADERS dnnl.hpp)
    if(XGRAD_DNNL AND XGRAD_DNNL_HEADERS AND NOT TARGET xgrad::onednn)
      add_library(xgrad::onednn INTERFACE IMPORTED)
      target_link_libraries(xgrad::onednn INTERFACE ${XGRAD_DNNL})
      target_include_directories(xgrad::onednn SYSTEM INTERFACE ${XGRAD_DNNL_HEADERS})
    elseif(NOT xgrad_onednn STREQUAL AUTO)
      xgrad_needs(XGRAD_DNNL "oneDNN (XGRAD_ONEDNN=ON)" libdnnl-dev)
      xgrad_needs(XGRAD_DNNL_HEADERS "oneDNN's headers (XGRAD_ONEDNN=ON)" libdnnl-dev)
    endif()
  endif()
endif()
