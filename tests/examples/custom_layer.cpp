#include <algorithm>

#include "run.hpp"

namespace {

using namespace xgrad::testing;

TEST(CustomLayer, ChecksItsGradientsAndContract) {
  const auto [status, out, err] = run("");
  EXPECT_EQ(status, 0) << out << err;
  for (const char* line :
       {"gradients of softsign: gradcheck passed: 15 entries of 1 input",
        "gradients of running_sum: gradcheck passed: 15 entries of 1 input",
        "second derivatives of the layer: gradgradcheck (second order) passed", "contract of the layer: kept"})
    EXPECT_NE(out.find(line), std::string::npos) << line << "\nis not in\n" << out;
}

TEST(CustomLayer, IsAShortFile) {
  const std::string source = content(XGRAD_SOURCE_DIR "/examples/custom_layer.cpp");
  EXPECT_LT(std::count(source.begin(), source.end(), '\n'), 100);
}

}  // namespace
