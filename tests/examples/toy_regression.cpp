#include "run.hpp"

namespace {

using namespace xgrad::testing;

class ToyRegression : public testing::TestWithParam<int> {};

TEST_P(ToyRegression, ReachesTheNoise) {
  const std::string picture = temporary("folder") + "/picture.png";  // a folder that does not exist yet
  const auto [status, out, err] = run("--seed " + std::to_string(GetParam()) + " --picture '" + picture + "'");
  ASSERT_EQ(status, 0) << err;
  const double sigma = number_after(out, "sigma = ");
  EXPECT_LE(number_after(out, "test data "), 1.1 * sigma);
  EXPECT_GE(number_after(out, "test data "), 0.9 * sigma);  // nothing can be better than the noise
  EXPECT_GE(number_after(out, "best straight line "), 3 * sigma);
  EXPECT_EQ(out.find('\r'), std::string::npos) << "a log is plain";
  EXPECT_EQ(is_png(picture), have_gnuplot()) << out;
  std::remove(picture.c_str());
  std::remove(temporary("folder").c_str());
}

INSTANTIATE_TEST_SUITE_P(Seeds, ToyRegression, testing::Values(1, 2, 3));

TEST(ToyRegressionProgram, RepeatsItselfForOneSeed) {
  const std::string arguments = "--epochs 3 --picture '" + temporary("picture.png") + "'";
  const auto first = run(arguments), second = run(arguments), other = run("--seed 7 " + arguments);
  EXPECT_EQ(first.out, second.out);
  EXPECT_NE(first.out, other.out);
  std::remove(temporary("picture.png").c_str());
}

TEST(ToyRegressionProgram, SaysWhyThereIsNoPicture) {
  const auto without = run("--epochs 1", "PATH=/nonexistent");
  EXPECT_EQ(without.status, 0) << without.err;
  EXPECT_NE(without.out.find("no picture: gnuplot is not installed"), std::string::npos) << without.out;
  if (!have_gnuplot()) return;
  const auto unwritable = run("--epochs 1 --picture /proc/no/picture.png");
  EXPECT_EQ(unwritable.status, 0);
  EXPECT_NE(unwritable.out.find("no picture: gnuplot could not write /proc/no/picture.png"), std::string::npos)
      << unwritable.out;
}

TEST(ToyRegressionProgram, RefusesUnknownOptions) {
  EXPECT_NE(run("--sed 3").status, 0);
  EXPECT_NE(run("--epochs 0").status, 0);
  EXPECT_EQ(run("--help").status, 0);
}

}  // namespace
