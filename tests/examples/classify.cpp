#include <cmath>

#include "run.hpp"

namespace {

using namespace xgrad::testing;

class Digits : public testing::TestWithParam<int> {};

TEST_P(Digits, ReadsNineteenInTwenty) {
  const std::string picture = temporary("picture.png");
  const auto [status, out, err] = run("--seed " + std::to_string(GetParam()) + " --picture '" + picture + "'");
  ASSERT_EQ(status, 0) << err;
  EXPECT_NE(out.find("898 digits to train on, 899 to test on"), std::string::npos) << out;
  const double accuracy = number_after(out, "test accuracy ");
  EXPECT_GE(accuracy, 0.955);
  EXPECT_LT(accuracy, 0.999) << "better than any published figure: are test images among those trained on?";
  EXPECT_EQ(is_png(picture), have_gnuplot()) << out;

  // The matrix counts every test image once, and its diagonal is the accuracy.
  std::istringstream matrix(out.substr(out.find("read as)") + 8));
  int all = 0, right = 0;
  std::string word;
  for (int column = 0; column < 10; ++column) matrix >> word;
  for (int digit = 0; digit < 10; ++digit) {
    matrix >> word;
    EXPECT_EQ(word, std::to_string(digit));
    for (int read = 0; read < 10; ++read) {
      matrix >> word;
      const int count = word == "." ? 0 : std::stoi(word);
      all += count;
      if (read == digit) right += count;
    }
  }
  EXPECT_EQ(all, 899);
  EXPECT_NEAR(right / 899.0, accuracy, 1e-4);
  std::remove(picture.c_str());
}

INSTANTIATE_TEST_SUITE_P(Seeds, Digits, testing::Values(1, 2, 3));

TEST(Classify, SaysWhyThereIsNoPicture) {
  const auto without = run("--epochs 1", "PATH=/nonexistent");
  EXPECT_EQ(without.status, 0) << without.err;
  EXPECT_NE(without.out.find("no picture: gnuplot is not installed"), std::string::npos) << without.out;
}

TEST(Classify, LearnsOnlyByTraining) {
  const std::string picture = " --picture '" + temporary("picture.png") + "'";
  const auto short_run = run("--epochs 1" + picture), again = run("--epochs 1" + picture);
  EXPECT_EQ(short_run.out, again.out);
  EXPECT_LT(number_after(short_run.out, "test accuracy "), 0.93);
  std::remove(temporary("picture.png").c_str());
}

}  // namespace
