#include "run.hpp"

namespace {

using namespace xgrad::testing;

TEST(SeedExamples, PrintsTheNumbersOfTheWorkedExamples) {
  const auto [status, out, err] = run("");
  ASSERT_EQ(status, 0) << err;
  const auto count = [&text = out](const std::string& part) {
    int n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  };
  // Once for the row alone, six times in the batch, once beside the other convention: 1.5 / sqrt(1.25 + 1e-5), ...
  EXPECT_EQ(count("[-1.3416, -0.44721, 0.44721, 1.3416]"), 8) << out;
  EXPECT_EQ(count("[0, 0, 0, 0]"), 1) << out;
  EXPECT_EQ(count("[-1.1619, -0.3873, 0.3873, 1.1619]"), 1) << out;  // 1.5 / (sqrt(5 / 3) + 1e-6), ...
  EXPECT_EQ(count("(2, 10, 512)"), 3) << out;
  EXPECT_NEAR(number_after(out, "mean of a row "), 0, 1e-12);
  EXPECT_NEAR(number_after(out, "standard deviation "), 1, 1e-3);
}

}  // namespace
