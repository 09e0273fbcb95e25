#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <xgrad/core/check.hpp>
#include <xgrad/core/table.hpp>
#include <xgrad/optim/metrics.hpp>

#include "folder.hpp"
#include "throws.hpp"

namespace {

using xgrad::Metrics;
using xgrad::MetricsFile;

Metrics row(std::uint64_t step, double train, double validation) { return {step, step / 2, 0.1, train, validation, 0}; }

const char* const header = "step,epoch,lr,train_loss,validation_loss,skipped\n";

TEST(MetricsFile, IsACsvFile) {
  const Folder folder;
  const std::string path = folder / "m.csv";
  {
    MetricsFile file(path, {row(2, 0.5, 0.25)});
    file.append(row(4, 1.0 / 3, NAN));
    file.append(row(~std::uint64_t{0}, 1e-300, INFINITY));
    EXPECT_EQ(bytes_of(path), header + std::string("2,1,0.1,0.5,0.25,0\n"
                                                   "4,2,0.1,0.3333333333333333,,0\n"
                                                   "18446744073709551615,9223372036854775807,0.1,1e-300,inf,0\n"))
        << "lines are there at once";
  }
  const auto rows = MetricsFile::read(path, ~std::uint64_t{0});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].train_loss, 1.0 / 3);
  EXPECT_TRUE(std::isnan(rows[1].validation_loss));
  EXPECT_EQ(rows[2].step, ~std::uint64_t{0});
  EXPECT_EQ(rows[2].train_loss, 1e-300);
  EXPECT_EQ(rows[2].validation_loss, INFINITY);
  MetricsFile again(folder / "again.csv", rows);
  EXPECT_EQ(bytes_of(folder / "again.csv"), bytes_of(path));
}

TEST(MetricsFile, GnuplotReadsIt) {
  if (std::system("command -v gnuplot > /dev/null 2>&1") != 0) return;
  const Folder folder;
  MetricsFile file(folder / "metrics.csv", {row(2, 0.5, 0.25), row(4, 0.4, NAN), row(6, 0.3, 0.125)});
  const std::string script =
      "set datafile separator ','; set key autotitle columnhead; set terminal dumb; "
      "stats 'metrics.csv' using 5 name 'V' nooutput; print V_records, V_min; "
      "plot 'metrics.csv' using 1:4 with lines, '' using 1:5 with lines";
  EXPECT_EQ(std::system(("cd '" + folder.str() + "' && gnuplot -e \"" + script + "\" > out 2>&1").c_str()), 0)
      << bytes_of(folder / "out");
  const std::string out = bytes_of(folder / "out");
  EXPECT_NE(out.find("2 0.125"), std::string::npos) << out;
  EXPECT_NE(out.find("validation_loss"), std::string::npos) << out;
}

TEST(MetricsFile, ReadsUpToAStepAndToWhatIsCutShort) {
  const Folder folder;
  const std::string path = folder / "m.csv", good = header + std::string("2,1,0.1,0.5,0.25,0\n4,2,0.1,,,1\n");
  const auto count = [&](const std::string& bytes, std::uint64_t last = 1000) {
    put_bytes(path, bytes);
    return MetricsFile::read(path, last).size();
  };
  EXPECT_EQ(count(good), 2u);
  EXPECT_EQ(count(good, 4), 2u);
  EXPECT_EQ(count(good, 3), 1u);
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::size_t lines = std::count(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size), '\n');
    EXPECT_EQ(count(good.substr(0, size)), lines < 2 ? 0 : lines - 1) << size;
  }
  EXPECT_EQ(count(good + "5,x,0.1,1,1,0\n6,1,1,1,1,0\n"), 2u);
  EXPECT_EQ(count(good + "5,1,0.1,1,1,0,7\n"), 2u);
  EXPECT_EQ(count(good + "4,1,0.1,1,1,0\n"), 2u) << "steps go up";
  EXPECT_EQ(count("something else\n"), 0u);
  EXPECT_TRUE(MetricsFile::read(folder / "none.csv", 1).empty());
}

TEST(MetricsFile, AFailedAppendLeavesNoPartOfItsLine) {
  const Folder folder;
  const std::string path = folder / "m.csv";
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const std::string next = "4,2,0.1,0.5,0.25,0\n";
  for (std::size_t room = 0; room < next.size(); ++room) {  // as a disk gets full at any byte
    MetricsFile file(path, {row(2, 0.5, 0.25)});
    const std::string old = bytes_of(path);
    const rlimit full{old.size() + room, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
    std::string message;
    for (int attempt = 0; attempt < 2; ++attempt) try {
        file.append(row(4, 0.5, 0.25));
      } catch (const xgrad::FileError& e) {
        message += e.what();
      }
    setrlimit(RLIMIT_FSIZE, &before);
    const std::string once = "[MetricsFile] cannot write " + path + ": File too large";
    EXPECT_EQ(message, once + once);
    EXPECT_EQ(bytes_of(path), old) << room;
    file.append(row(4, 0.5, 0.25));
    EXPECT_EQ(bytes_of(path), old + next) << room;
    EXPECT_EQ(MetricsFile::read(path, 1000).size(), 2u);
  }
  std::signal(SIGXFSZ, handler);
}

TEST(MetricsFile, ALineThatAKilledProcessCutShortIsNotGoneOnWith) {
  const Folder folder;
  const std::string path = folder / "m.csv", good = header + std::string("2,1,0.1,0.5,0.25,0\n");
  const std::string next = "4,2,0.1,0.5,0.25,0\n";
  for (std::size_t size = 0; size < next.size(); ++size) {
    put_bytes(path, good + next.substr(0, size));
    MetricsFile(path, MetricsFile::read(path, 1000)).append(row(4, 0.5, 0.25));
    EXPECT_EQ(bytes_of(path), good + next);
  }
}

TEST(MetricsFile, Errors) {
  EXPECT_THROWS(xgrad::FileError, MetricsFile("/proc/no/m.csv", {}), "[MetricsFile] cannot write /proc/no/m.csv");
}

}  // namespace
