#include <algorithm>
#include <cmath>

#include "run.hpp"

namespace {

using namespace xgrad::testing;

class Concrete : public testing::TestWithParam<int> {};

TEST_P(Concrete, TestErrorIsBelowSix) {
  const std::string picture = temporary("picture.png");
  const auto [status, out, err] = run("--seed " + std::to_string(GetParam()) + " --picture '" + picture + "'");
  ASSERT_EQ(status, 0) << err;
  EXPECT_NE(out.find("1030 rows, 8 features; 927 rows to train on, 103 to test on"), std::string::npos) << out;
  const double rmse = number_after(out, "test RMSE "), r2 = number_after(out, "test R2 ");
  EXPECT_LT(rmse, 6.0);
  EXPECT_GT(rmse, 3.0) << "lower than any published figure: are test rows among those trained on?";
  EXPECT_NEAR(rmse / std::sqrt(1 - r2), 17.53, 0.15);  // the spread of the target in the test rows
  EXPECT_EQ(is_png(picture), have_gnuplot()) << out;
  std::remove(picture.c_str());
}

INSTANTIATE_TEST_SUITE_P(Seeds, Concrete, testing::Values(1, 2, 3));

/// Runs the program on a table with the given text.
Outcome run_on(const std::string& text, const std::string& arguments = "") {
  const std::string file = temporary("table.txt");
  std::ofstream(file, std::ios::binary) << text;
  Outcome outcome = run("'" + file + "' --picture '" + temporary("p.png") + "' " + arguments);
  std::remove(file.c_str());
  std::remove(temporary("p.png").c_str());
  return outcome;
}

/// The one line of an error, with the table's path shortened to FILE.
std::string error_line(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  std::string line = outcome.err.substr(0, outcome.err.find('\n'));
  const std::string file = temporary("table.txt");
  const auto at = line.find(file);
  return at == std::string::npos ? line : line.replace(at, file.size(), "FILE");
}

TEST(Regression, BadInputIsOneLineAndAnExitCode) {
  EXPECT_EQ(error_line(run("no/such/table.txt")),
            "regression: [read_table] cannot open no/such/table.txt: No such file or directory");
  EXPECT_EQ(error_line(run_on("")), "regression: [read_table] FILE is empty");
  EXPECT_EQ(error_line(run_on("1 2 3\n4 5 6\n7 8\n")),
            "regression: [read_table] FILE, line 3, column 3: the row has 2 fields but line 1 has 3");
  EXPECT_EQ(error_line(run_on("a,b\n1,2\n3,x\n")),
            "regression: [read_table] FILE, line 3, column 2: \"x\" is not a number");
  EXPECT_EQ(error_line(run_on("1 2\n3 4\n")),
            "regression: [FILE] needs at least 2 columns and 20 rows but has 2 and 2");
}

/// y = 2 a - b + 5 in 60 rows, with a header and semicolons.
std::string plane() {
  std::string text = "a;y;b\r\n";
  for (int i = 0; i < 60; ++i) {
    const int a = i % 10, b = i * 7 % 13;
    text += std::to_string(a) + ";" + std::to_string(2 * a - b + 5) + ";" + std::to_string(b) + "\r\n";
  }
  return text;
}

TEST(Regression, FindsDelimiterAndHeaderAndTakesATarget) {
  const auto [status, out, err] = run_on(plane(), "--target 2 --epochs 200");
  ASSERT_EQ(status, 0) << err;
  EXPECT_NE(out.find("60 rows, 2 features; 54 rows to train on, 6 to test on"), std::string::npos) << out;
  EXPECT_LT(number_after(out, "test RMSE "), 0.5) << out;  // the target spreads over about 6.8
}

TEST(Regression, RefusesATargetOrTestRowsThatAreNotThere) {
  EXPECT_EQ(error_line(run_on(plane(), "--target 4")), "regression: [FILE] has 3 columns but the target is column 4");
  const std::string rows = temporary("rows.txt");
  std::ofstream(rows) << "3\n60\n";
  EXPECT_EQ(error_line(run_on(plane(), "--test '" + rows + "'")),
            "regression: [" + rows + "] 60 is not the number of a row; they go from 0 to 59");
  std::remove(rows.c_str());
}

}  // namespace
