// Runs the example of the same name as the test and reads what it printed.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace xgrad::testing {

struct Outcome {
  int status;  // exit code
  std::string out, err;
};

/// A path for a file of the running test, of this process alone: two checkouts may be tested at once.
inline std::string temporary(const std::string& name) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string file =
      "xgrad_" + std::to_string(::getpid()) + "_" + test->test_suite_name() + "_" + test->name() + "_" + name;
  for (char& c : file) c = c == '/' ? '_' : c;  // in the names of parametrised tests
  return ::testing::TempDir() + file;
}

inline std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Runs the program under /bin/sh; `before` may set its environment.
inline Outcome run(const std::string& arguments, const std::string& before = "") {
  const std::string out = temporary("out"), err = temporary("err");
  const int code = std::system((before + " '" EXAMPLE "' " + arguments + " > '" + out + "' 2> '" + err + "'").c_str());
  Outcome outcome{WIFEXITED(code) ? WEXITSTATUS(code) : -1, content(out), content(err)};
  std::remove(out.c_str());
  std::remove(err.c_str());
  return outcome;
}

/// The number that stands behind a text in the output.
inline double number_after(const std::string& output, const std::string& text) {
  const auto at = output.find(text);
  EXPECT_NE(at, std::string::npos) << "\"" << text << "\" is not in:\n" << output;
  return at == std::string::npos ? 0 : std::stod(output.substr(at + text.size()));
}

inline bool is_png(const std::string& path) { return content(path).substr(0, 8) == "\x89PNG\r\n\x1a\n"; }

inline bool have_gnuplot() { return std::system("command -v gnuplot > /dev/null 2>&1") == 0; }

}  // namespace xgrad::testing
