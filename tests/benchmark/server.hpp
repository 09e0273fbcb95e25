// What both measured programs share: a server that reads one request a line from standard input and answers with one
// line, so that the driver can let them take turns within one run.
#pragma once

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>

/// Makes the data of a piece of work and returns what is to be timed.
using Prepare = std::function<std::function<void()>()>;
using Works = std::map<std::string, Prepare>;
/// Answers to requests of one program only.
using Commands = std::map<std::string, std::function<std::string()>>;

struct StepSize {
  int rows, d_model, d_ff;
  std::string name() const { return std::to_string(rows) + "x" + std::to_string(d_model) + "x" + std::to_string(d_ff); }
};
const StepSize kSteps[] = {{20, 512, 2048}, {256, 512, 2048}, {2048, 512, 2048},
                           {32, 64, 256},   {16, 8, 32},      {4096, 64, 256}};
constexpr int kRows[] = {20, 2048, 16384};  // of the single ops, all 512 wide
constexpr int kWidth = 512;
constexpr int kTableRows = 742, kFeatures = 8;  // a training part of the concrete data, four fifths of it

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds for one run of `body`: one batch of 20 ms or of one run, after 5 ms or one run to warm up.
inline double measure(const std::function<void()>& body) {
  const double start = seconds();
  int warm = 0;
  do {
    body();
    ++warm;
  } while (seconds() - start < 5e-3);
  const int count = std::max(1, static_cast<int>(20e-3 / ((seconds() - start) / warm)));
  const double begin = seconds();
  for (int i = 0; i < count; ++i) body();
  return (seconds() - begin) / count;
}

/// A figure of /proc/self/status in bytes: VmRSS, the memory now resident, or VmHWM, its peak.
inline double status(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;)
    if (word == field + ":") {
      double kib = 0;
      file >> kib;
      return kib * 1024;
    }
  return 0;
}

/// Bytes that five runs of `work` add at their peak to a process that has run `tiny`, so that code is loaded.
inline double memory_growth(const Prepare& tiny, const Prepare& work) {
  tiny()();
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak starts from here
  const double idle = status("VmRSS");
  const auto body = work();
  for (int i = 0; i < 5; ++i) body();
  return status("VmHWM") - idle;
}

/// Requests: "list" gives the names of all works, "time NAME" seconds, "memory NAME" bytes, "drop" frees the data of
/// all works, and the commands given.
inline int serve(const Works& works, const Commands& commands = {}) {
  std::map<std::string, std::function<void()>> ready;
  for (std::string request; std::getline(std::cin, request);) {
    const auto space = request.find(' ');
    const std::string verb = request.substr(0, space),
                      name = space == std::string::npos ? "" : request.substr(space + 1);
    if (verb == "list") {
      for (const auto& work : works) std::cout << work.first << ';';
    } else if (verb == "time") {
      auto& body = ready[name];
      if (!body) body = works.at(name)();
      std::cout << measure(body);
    } else if (verb == "memory") {
      std::cout << memory_growth(works.at("step relu 16x8x32"), works.at(name));
    } else if (verb == "drop") {
      ready.clear();
    } else {
      std::cout << commands.at(request)();
    }
    std::cout << std::endl;
  }
  return 0;
}
