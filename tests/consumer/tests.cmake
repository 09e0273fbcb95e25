# From tests/CMakeLists.txt. tests/consumer as a project of its own, against what this build installs: what must be there to configure, compile
# and link, and nothing of this machine. tests/long/consumers tries every other way.
find_program(PKG_CONFIG pkg-config)
find_package(xsimd QUIET)
if(NOT PKG_CONFIG OR NOT xsimd_FOUND)
  message(FATAL_ERROR "the tests need pkg-config and xsimd (apt-get install pkg-config libxsimd-dev), or configure with -DXGRAD_TESTS=OFF")
endif()
set(prefix ${CMAKE_CURRENT_BINARY_DIR}/installed)
set(consumer ${CMAKE_CURRENT_SOURCE_DIR}/consumer)
set(wide "-march=native -DXTENSOR_USE_XSIMD")
add_test(NAME consumer:install COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DPREFIX=${prefix}
  -DSOURCE=${PROJECT_SOURCE_DIR} -P ${consumer}/installed.cmake)
set_tests_properties(consumer:install PROPERTIES FIXTURES_SETUP installed)
foreach(way package pkgconfig)
  add_test(NAME consumer:CPP_01_${way} COMMAND ${consumer}/try ${way} ${CMAKE_CURRENT_BINARY_DIR}/try_${way} ${prefix})
endforeach()
set_tests_properties(consumer:CPP_01_package consumer:CPP_01_pkgconfig PROPERTIES FIXTURES_REQUIRED installed TIMEOUT 600
  ENVIRONMENT "CMAKE_GENERATOR=${CMAKE_GENERATOR};CXX=${CMAKE_CXX_COMPILER};CXXFLAGS=${CMAKE_CXX_FLAGS};STANDARD=20;WIDE_FLAGS=${wide}"
  PASS_REGULAR_EXPRESSION "all as it should be.*.7, 10.,.*.15, 22.*OpenBLAS's kind: 2.*two files agree")

# What a user reads when something is missing or does not suit.
add_library(pthread_openblas MODULE ${consumer}/pthread_openblas.cpp)
function(says name words)  # says(NAME WORDS ARGUMENTS_OF_CMAKE...)
  add_test(NAME consumer:${name} COMMAND ${CMAKE_COMMAND} -G ${CMAKE_GENERATOR} -S ${consumer}
    -B ${CMAKE_CURRENT_BINARY_DIR}/told_${name} -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} ${ARGN})
  string(REPLACE " " "[ \n]+" words ${words})  # CMake breaks lines
  set_tests_properties(consumer:${name} PROPERTIES FIXTURES_REQUIRED installed PASS_REGULAR_EXPRESSION ${words})
endfunction()
says(no_xtensor "xgrad needs xtensor.*apt-get install libxtensor-dev" -DCMAKE_DISABLE_FIND_PACKAGE_xtensor=ON)
says(other_xtensor "built with xtensor .* but xtensor 0.99.0 is found" -Dxtensor_DIR=${consumer}/other_xtensor)
says(other_xgrad "requested version .0.99" -DCONSUMER_NEEDS=0.99)
if(NOT BUILD_SHARED_LIBS)
  says(no_zlib "apt-get install zlib1g-dev" -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON)
  says(no_openmp "needs .*OpenMP. on Debian and Ubuntu: apt-get install" -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON)
  says(pthread_configured "is a pthread build of OpenBLAS.*apt-get install libopenblas-openmp-dev.*Configuring done"
    -UXGRAD_OPENBLAS_SEEN -DXGRAD_OPENBLAS=$<TARGET_FILE:pthread_openblas>)
endif()

# The same at run time, once a process; not where OpenBLAS keeps to one thread.
foreach(threads 1 2)
  add_test(NAME consumer:pthread_run_${threads} COMMAND consumer_cpp20)
  set_tests_properties(consumer:pthread_run_${threads} PROPERTIES ENVIRONMENT
    "LD_PRELOAD=$<TARGET_FILE:pthread_openblas>;FAKE_THREADS=${threads};OMP_NUM_THREADS=2")
endforeach()
set_tests_properties(consumer:pthread_run_1 PROPERTIES PASS_REGULAR_EXPRESSION "all as it should be"
  FAIL_REGULAR_EXPRESSION "pthread")
set_tests_properties(consumer:pthread_run_2 PROPERTIES
  PASS_REGULAR_EXPRESSION "pthread build of OpenBLAS.*libopenblas-openmp-dev.*all as it should be"
  FAIL_REGULAR_EXPRESSION "pthread.*pthread")
