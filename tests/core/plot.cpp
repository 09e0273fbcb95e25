#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <xgrad/core/plot.hpp>

#include "folder.hpp"
#include "foreign_locale.hpp"
#include "throws.hpp"

namespace {

using xgrad::plot;

bool have_gnuplot() { return std::system("command -v gnuplot > /dev/null 2>&1") == 0; }

/// The line that plot writes.
std::string line_of(const std::string& path, const std::vector<xgrad::Panel>& panels, bool* drawn = nullptr) {
  std::FILE* log = std::tmpfile();
  const bool result = plot(path, panels, log);
  if (drawn) *drawn = result;
  std::rewind(log);
  char text[1024] = "";
  EXPECT_NE(std::fgets(text, sizeof text, log), nullptr);
  std::fclose(log);
  return text;
}

TEST(Plot, DrawsAndSaysWhere) {
  const Folder folder;
  const std::string path = folder / "new folder/it's.png";
  bool drawn = false;
  ::testing::internal::CaptureStderr();
  const std::string line =
      line_of(path,
              {{"a", "set logscale y", {{"s", "lines", {1, 2, 3}, {1, NAN, 1e-30}}, {"none", "lines", {}, {}}}},
               {"b", "", {{"t", "points", {1, 2}, {1, 2}}}}},
              &drawn);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "gnuplot warns";
  EXPECT_EQ(drawn, have_gnuplot());
  if (!drawn) return;
  EXPECT_EQ(line, "picture: " + path + "\n");
  EXPECT_EQ(bytes_of(path).substr(0, 8), "\x89PNG\r\n\x1a\n");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "new folder")) files += entry.exists();
  EXPECT_EQ(files, 1u) << "the script stayed";
}

TEST(Plot, ThePictureIsTheSameInEveryLocale) {
  if (!have_gnuplot()) GTEST_SKIP() << "gnuplot is not installed (apt-get install gnuplot-nox)";
  const Folder folder;
  const std::vector<xgrad::Panel> panels{{"a", "", {{"s", "lines", {0.5, 1234.5}, {0.25, 0.75}}}}};
  ASSERT_TRUE(plot(folder / "a.png", panels, nullptr));
  const ForeignLocale locale;
  const bool decimal_comma = *std::localeconv()->decimal_point == ',';
  if (!decimal_comma) GTEST_SKIP() << "this machine has no locale with a decimal comma (apt-get install locales-all)";
  ASSERT_TRUE(plot(folder / "b.png", panels, nullptr));
  EXPECT_EQ(bytes_of(folder / "a.png"), bytes_of(folder / "b.png"));
}

TEST(Plot, SaysWhyThereIsNone) {
  const std::vector<xgrad::Panel> panels{{"a", "", {{"s", "lines", {1, 2}, {1, 2}}}}};
  if (have_gnuplot()) {
    EXPECT_EQ(line_of("/proc/no/p.png", panels), "no picture: gnuplot could not write /proc/no/p.png\n");
  }
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nonexistent", 1);
  const std::string line = line_of("p.png", panels);
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(line, "no picture: gnuplot is not installed (apt-get install gnuplot-nox)\n");
}

TEST(Plot, ASeriesHasAsManyXAsY) {
  EXPECT_THROWS(std::invalid_argument, plot("p.png", {{"a", "", {{"s", "lines", {1, 2}, {1}}}}}),
                "[plot] a series needs as many x as y but \"s\" has 2 and 1");
}

}  // namespace
