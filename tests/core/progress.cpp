#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <xgrad/core/progress.hpp>

namespace {

using xgrad::Progress;

/// What f prints into a file.
template <class F>
std::string logged(F f) {
  std::FILE* out = std::tmpfile();
  f(out);
  const auto size = static_cast<std::size_t>(std::ftell(out));
  std::rewind(out);
  std::string result(size, '\0');
  EXPECT_EQ(std::fread(result.data(), 1, size, out), size);
  std::fclose(out);
  return result;
}

/// What f prints into a terminal of this many columns.
template <class F>
std::string shown(unsigned short columns, F f) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_GE(master, 0);
  EXPECT_EQ(::grantpt(master), 0);
  EXPECT_EQ(::unlockpt(master), 0);
  std::FILE* out = std::fopen(::ptsname(master), "r+");
  EXPECT_NE(out, nullptr);
  struct winsize size {
    24, columns, 0, 0
  };
  EXPECT_EQ(::ioctl(::fileno(out), TIOCSWINSZ, &size), 0);
  f(out);
  std::fclose(out);
  std::string result;
  char part[1024];
  for (ssize_t count; (count = ::read(master, part, sizeof part)) > 0;)  // ends with an error: nobody writes any more
    result.append(part, static_cast<std::size_t>(count));
  ::close(master);
  return result;
}

TEST(Progress, ALogHasTenPlainLines) {
  const auto run = [](std::uint64_t steps) {
    return logged([&](std::FILE* out) {
      Progress progress(steps, 0, out);
      for (std::uint64_t i = 1; i <= steps; ++i) progress.show(i, "step " + std::to_string(i));
    });
  };
  EXPECT_EQ(run(3), "step 1\nstep 2\nstep 3\n");
  EXPECT_EQ(run(30),
            "step 3\nstep 6\nstep 9\nstep 12\nstep 15\nstep 18\nstep 21\nstep 24\nstep 27\n"
            "step 30\n");
  const std::string text = run(997);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
}

TEST(Progress, ATerminalHasABarWithRateAndTimeLeft) {
  const std::string text = shown(100, [](std::FILE* out) {
    Progress progress(8, 2, out);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    progress.show(4, "loss 0.5");  // two steps in 0.1 s, so four more take 0.2 s
    progress.show(8, "loss 0.1");
  });
  EXPECT_EQ(text.find("\rloss 0.5  [##########          ] 50%  "), 0u) << text;
  EXPECT_NE(text.find(" left\x1b[K\rloss 0.1  [####################] 100%  "), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  double rate = 0, minutes = -1, seconds = -1;
  EXPECT_EQ(std::sscanf(text.c_str() + text.find("50%"), "50%%  %lf/s  %lf:%lf left", &rate, &minutes, &seconds), 3);
  EXPECT_NEAR(60 * minutes + seconds, 4 / rate, 0.6) << text;  // 0:00 unless the machine stood still meanwhile
  EXPECT_LE(rate, 20.0) << "steps of an earlier run counted";
  EXPECT_GT(rate, 0.0);
}

TEST(Progress, ATerminalIsWrittenTwentyTimesASecondAtMost) {
  double seconds = 0;
  const std::string text = shown(60, [&](std::FILE* out) {
    using Clock = std::chrono::steady_clock;
    Progress progress(1'000'000'000, 0, out);
    const auto start = Clock::now();
    for (std::uint64_t step = 1; seconds < 0.2; ++step) {
      progress.show(step, "loss 0.5");
      seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    while (!progress.due(2)) {
    }
    progress.show(2, "loss 0.5");  // a second line, whatever the machine did meanwhile
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  });
  int lines = 0;
  for (std::size_t at = 0; (at = text.find("\x1b[K", at)) != std::string::npos; ++at) ++lines;
  EXPECT_GE(lines, 2);
  EXPECT_LE(lines, 1 + 20 * seconds);
}

TEST(Progress, ALineFitsTheTerminalAndIsEnded) {
  const std::string text = shown(60, [](std::FILE* out) {
    Progress progress(10, 0, out);
    progress.show(1, std::string(200, 'x'));
  });
  ASSERT_EQ(text.front(), '\r');
  EXPECT_LT(text.find("\x1b[K"), 61u);
  EXPECT_NE(text.find("] 10%"), std::string::npos);
  EXPECT_EQ(text.back(), '\n') << "an error message would stand on the bar's line";
}

TEST(Progress, MoreStepsThanWereToldAreShownAsTheLast) {
  for (const std::uint64_t steps : {0, 10}) {
    const std::string text = shown(100, [&](std::FILE* out) {
      Progress progress(steps, 0, out);
      progress.show(12, "late");
    });
    EXPECT_EQ(text.find("\rlate  [####################] 100%  "), 0u) << text;
    EXPECT_EQ(text.back(), '\n');
  }
  EXPECT_EQ(logged([](std::FILE* out) { Progress(0, 0, out).show(1, "done"); }), "done\n");
}

TEST(Progress, StepsBeforeTheOnesDoneHaveNoRate) {
  const std::string text = shown(100, [](std::FILE* out) { Progress(10, 5, out).show(3, "back"); });
  EXPECT_NE(text.find("] 30%  0/s  100 hours and more left"), std::string::npos) << text;
}

TEST(Progress, SilentWithoutAFile) {
  Progress progress(1, 0, nullptr);
  EXPECT_FALSE(progress.due(1));
  progress.show(1, "nothing");
}

}  // namespace
