// A stranger's program of two files. wide.cpp may be compiled for a wider instruction set than this one.
#include <cstdio>

#include "wide.hpp"

int main() {
  const xgrad::Array<double> m = {{1, 2}, {3, 4}};
  const xgrad::Array<double> product = times_itself(m);
  std::printf("%s\n", xgrad::to_string(product).c_str());
  bool right = xgrad::array_equal<double>(product, {{7, 10}, {15, 22}});
  // Large enough for OpenBLAS, which small ones never reach: a pthread build is pointed out here.
  right = right && xgrad::array_equal<double>(times_itself(xgrad::ones<double>({160, 160})),
                                              xgrad::full<double>({160, 160}, 160));

  // Numbers made here and weighed there, and the other way round: values, gradients and memory cross.
  const xgrad::Array<float> numbers = xgrad::arange<float>(13) + 1.f;
  const xgrad::Variable<float> x(numbers, true);
  weighed_sum(x, ramp(13) * 2.f + numbers).backward();
  right = right && xgrad::array_equal<float>(x.grad(), numbers * 3.f - 2.f);
  xgrad::Array<float> taken = ramp(1000);
  taken = taken * taken + ramp(1000);
  right = right && taken(999) == 999.f * 1000.f;

  // An error raised there is caught here by its type.
  try {
    times_itself(xgrad::zeros<double>({2, 3}));
    right = false;
  } catch (const xgrad::ShapeError&) {
  }
  std::printf("OpenBLAS's kind: %d\n", xgrad::openblas_parallel());  // 2: OpenMP
  std::puts(right ? "two files agree" : "two files DISAGREE");
  return right ? 0 : 1;
}
