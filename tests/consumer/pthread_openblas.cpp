// Stands for the pthread build of OpenBLAS: as a file it has the marks of one, preloaded it answers as one.
#include <pthread.h>

#include <cstdlib>

extern "C" {
int openblas_get_parallel() { return 1; }
int openblas_get_num_threads() {
  const char* threads = std::getenv("FAKE_THREADS");
  return threads ? std::atoi(threads) : 2;
}
int pthread_openblas_start(pthread_t* thread, void* (*run)(void*)) {
  return pthread_create(thread, nullptr, run, nullptr);
}
}
