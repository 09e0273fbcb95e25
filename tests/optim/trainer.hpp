// What the tests of the trainer share: data and a silent trainer.
#pragma once

#include <cmath>
#include <xgrad/xgrad.hpp>

#include "folder.hpp"
#include "net.hpp"

/// y = sin(2 a) + b, and noise.
template <class T>
struct Rows {
  Rows(std::size_t count, std::uint64_t seed) {
    xgrad::Rng rng(seed);
    x = rng.uniform<T>({count, 2}, -1, 1);
    y = rng.normal<T>({count, 1}, 0, T(0.1));
    for (std::size_t i = 0; i < count; ++i) y(i, 0) += std::sin(2 * x(i, 0)) + x(i, 1);
  }
  xgrad::Array<T> x, y;
};

/// Options that print and draw nothing.
inline xgrad::TrainerOptions quiet(std::size_t epochs, std::size_t batch_size, const std::string& folder = "") {
  xgrad::TrainerOptions options;
  options.epochs = epochs;
  options.batch_size = batch_size;
  options.folder = folder;
  options.picture = false;
  options.log = nullptr;
  return options;
}

/// Name by name, bit by bit; generators too.
template <class T>
bool same_state(const xgrad::State<T>& a, const xgrad::State<T>& b) {
  if (a.arrays.size() != b.arrays.size() || a.generators != b.generators) return false;
  for (std::size_t i = 0; i < a.arrays.size(); ++i)
    if (a.arrays[i].first != b.arrays[i].first || !xgrad::array_equal(a.arrays[i].second, b.arrays[i].second))
      return false;
  return true;
}
