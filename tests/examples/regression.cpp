#include <algorithm>
#include <cmath>
#include <filesystem>

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

/// A folder of splits that is removed at the end.
class Folder {
 public:
  explicit Folder(const std::string& data, const std::string& features = "0\n2\n", const std::string& target = "1\n")
      : path(temporary("splits")) {
    std::filesystem::create_directories(path);
    write("data.txt", data);
    write("index_features.txt", features);
    write("index_target.txt", target);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path + "/" + name) << text; }
  Outcome run(const std::string& arguments) const {
    return xgrad::testing::run("--splits '" + path + "' " + arguments);
  }
  /// The one line of an error, with the folder shortened to DIR.
  std::string error() const {
    const Outcome outcome = run("");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    const auto at = outcome.err.find(path);
    return at == std::string::npos ? outcome.err : std::string(outcome.err).replace(at, path.size(), "DIR");
  }
  const std::string path;
};

/// `plane` without its header, tab-separated; the first ten targets moved by `shift`.
std::string rows_of_plane(int shift = 0) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    const int a = i % 10, b = i * 7 % 13, y = 2 * a - b + 5 + (i < 10 ? shift : 0);
    text += std::to_string(a) + "\t" + std::to_string(y) + "\t" + std::to_string(b) + "\n";
  }
  return text;
}
const char* const kFirstTen = "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n";

TEST(RegressionSplits, RunsEverySplitAndPrintsMeanAndStandardError) {
  const Folder folder(rows_of_plane());
  folder.write("index_test_0.txt", kFirstTen);
  folder.write("index_test_1.txt", "10\n59\n");
  folder.write("index_test_3.txt", "1\n");  // behind a gap: does not belong to them
  const auto [status, out, err] = folder.run("--steps 600 --members 3");
  ASSERT_EQ(status, 0) << err;
  const double first = number_after(out, "split 0: 50 rows to train on, RMSE on the other 10: "),
               second = number_after(out, "split 1: 58 rows to train on, RMSE on the other 2: "),
               mean = number_after(out, "test RMSE ");
  EXPECT_LT(mean, 0.7) << out;  // the target spreads over about 6.8
  EXPECT_NEAR(mean, (first + second) / 2, 1e-3);
  EXPECT_NEAR(number_after(out, "+- "), std::abs(first - second) / 2, 1e-3);
  EXPECT_NE(out.find("2 splits"), std::string::npos) << out;
  EXPECT_EQ(folder.run("--steps 600 --members 3 --first 1").out.find("split 1"), std::string::npos);
}

TEST(RegressionSplits, ValidationNeverLooksAtTestRows) {
  const Folder honest(rows_of_plane());
  honest.write("index_test_0.txt", kFirstTen);
  const std::string arguments = "--steps 100 --members 2 --validate";
  const auto before = honest.run(arguments).out;
  EXPECT_NE(before.find("split 0: 40 rows to train on, RMSE on the other 10: "), std::string::npos) << before;
  honest.write("data.txt", rows_of_plane(1000));
  const auto number = [](const std::string& out) { return number_after(out, "validation RMSE "); };
  EXPECT_EQ(number(honest.run(arguments).out), number(before));
}

TEST(RegressionSplits, TrainingNeverLooksAtTestRows) {
  const Folder folder(rows_of_plane(1000));
  folder.write("index_test_0.txt", kFirstTen);
  const auto out = folder.run("--steps 600 --members 2").out;
  EXPECT_NEAR(number_after(out, "test RMSE "), 1000, 3) << out;  // what moved them cannot be guessed
}

TEST(RegressionSplits, LearnsConcrete) {
  const std::string data = XGRAD_SOURCE_DIR "/examples/data/concrete";
  const Folder folder(content(data + ".txt"), "0\n1\n2\n3\n4\n5\n6\n7\n", "8\n");
  folder.write("index_test_0.txt", content(data + "_test.txt"));
  const auto [status, out, err] = folder.run("--steps 2000 --members 3");
  ASSERT_EQ(status, 0) << err;
  EXPECT_LT(number_after(out, "test RMSE "), 6.0) << out;  // one of the harder splits, and a short run
  EXPECT_GT(number_after(out, "test RMSE "), 3.0) << out;
}

TEST(RegressionSplits, BadFoldersAreOneLineAndAnExitCode) {
  const Folder folder(rows_of_plane());
  EXPECT_EQ(folder.error(), "regression: [read_table] cannot open DIR/index_test_0.txt: No such file or directory\n");
  folder.write("index_test_0.txt", "60\n");
  EXPECT_EQ(folder.error(), "regression: [DIR/index_test_0.txt] 60 is not the number of a row; they go from 0 to 59\n");
  folder.write("index_features.txt", "0\n3\n");
  EXPECT_EQ(folder.error(),
            "regression: [DIR/index_features.txt] 3 is not the number of a column; they go from 0 to 2\n");
  folder.write("index_features.txt", "0\n1\n");
  EXPECT_EQ(folder.error(), "regression: [DIR/index_target.txt] column 1 is among the features\n");
  folder.write("index_target.txt", "1\n2\n");
  EXPECT_EQ(folder.error(), "regression: [DIR/index_target.txt] needs one column but has 2\n");
  folder.write("index_features.txt", "0\n");
  folder.write("index_target.txt", "1\n");
  std::string rows;
  for (int i = 0; i < 55; ++i) rows += std::to_string(i) + "\n";
  folder.write("index_test_0.txt", rows);
  EXPECT_EQ(folder.error(), "regression: [DIR/index_test_0.txt] leaves 5 rows to train on; 15 are needed\n");
}

}  // namespace
