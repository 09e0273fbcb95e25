// Runs properties from a seeded generator. A failure prints the seed of its case;
//
//     XGRAD_SEED=<seed> test_core_properties_<file> --gtest_filter='*<name>*'
//
// runs that case alone. XGRAD_CASES says how many there are.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "draw.hpp"

namespace property {

class Generator final : public Draw {
 public:
  explicit Generator(std::uint64_t seed) : bits_(seed) {}
  std::size_t below(std::size_t n) override { return bits_() % n; }

 private:
  std::mt19937_64 bits_;
};

inline void run(void (*check)(Draw&), const char* type) {
  const auto number = [](const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
  };
  const std::uint64_t first = number("XGRAD_SEED", 1);
  const std::uint64_t end = first + (first > 1 ? 1 : number("XGRAD_CASES", 1000));
  for (std::uint64_t seed = first; seed < end; ++seed) {
    Generator draw(seed);
    try {
      check(draw);
    } catch (const Mismatch& mismatch) {
      FAIL() << "seed " << seed << ", " << type << ": " << mismatch.what();
    }
  }
}

#define XGRAD_PROPERTY(function)                         \
  TEST(Property, function) {                             \
    property::run(property::function<float>, "float");   \
    property::run(property::function<double>, "double"); \
  }

}  // namespace property
