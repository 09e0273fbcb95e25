// The worked examples this project started from: what LayerNorm and the feed-forward network do, with their numbers.
#include <cstdio>
#include <iostream>
#include <xgrad/xgrad.hpp>

using xgrad::Array;
using xgrad::to_string;

/// Mean and (population) standard deviation of the first row of the last axis.
void print_row_statistics(const Array<double>& x) {
  const std::size_t width = x.shape()[x.dimension() - 1];
  const auto row = xgrad::from(x.data(), {width});
  std::printf("mean of a row %.1e, standard deviation %.4f\n", xgrad::item(xgrad::mean(row)),
              std::sqrt(xgrad::item(xgrad::variance(row))));
}

int main() {
  std::printf("1. LayerNorm of two rows, eps = 1e-5: a row becomes (x - mean) / sqrt(variance + eps)\n");
  const Array<double> rows = {{1, 2, 3, 4}, {1, 1, 1, 1}};
  xgrad::LayerNorm<double> norm(4);
  std::cout << to_string(norm(rows), 5) << "\n\n";

  std::printf("2. A (2, 3, 4) batch of rows at six levels and scales: each is normalised by itself\n");
  auto batch = xgrad::empty<double>({2, 3, 4});
  for (std::size_t row = 0; row < 6; ++row)
    for (std::size_t j = 0; j < 4; ++j)
      batch.data()[4 * row + j] = static_cast<double>(100 * row + (row + 1) * (j + 1));
  std::cout << to_string(norm(batch), 5) << "\n\n";

  std::printf("3. A Transformer's sizes: batch 2, sequence 10, d_model 512, d_ff 2048\n");
  xgrad::Rng rng(42);
  xgrad::LayerNorm<double> wide_norm(512);
  xgrad::FeedForwardOptions options;
  options.d_model = 512;
  options.d_ff = 2048;
  xgrad::FeedForward<double> ffn(options, rng);
  const Array<double> x = rng.normal<double>({2, 10, 512}, 3, 5);
  const auto normalized = wide_norm(x);
  const auto y = ffn(normalized);
  std::cout << "input " << to_string(x.shape()) << ", LayerNorm " << to_string(normalized.shape()) << ", FeedForward "
            << to_string(y.shape()) << "\n";
  print_row_statistics(normalized.value());

  std::printf("\n4. Both conventions on [1, 2, 3, 4]\n");
  const Array<double> row = {1, 2, 3, 4};
  xgrad::LayerNormOptions older;
  older.shape = {4};
  older.form = xgrad::NormForm::unbiased;
  std::cout << "divisor n,     eps 1e-5 inside the root:  " << to_string(norm(row), 5) << "\n"
            << "divisor n - 1, eps 1e-6 outside the root: " << to_string(xgrad::LayerNorm<double>(older)(row), 5)
            << "\n";
}
