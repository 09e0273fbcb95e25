// Pictures by gnuplot, when it is installed.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

/// A series of points: a title, gnuplot's style ("points pt 7 ps 0.3", "lines lw 2") and the numbers.
struct Series {
  std::string title, style;
  std::vector<double> x, y;
};

/// A diagram: its title, further gnuplot commands such as "set logscale y", and what it shows.
struct Panel {
  std::string title, commands;
  std::vector<Series> series;
};

/// Draws the panels side by side into a PNG file, and says in one line where it is, or why there is none.
inline void plot(const std::string& path, const std::vector<Panel>& panels) {
  if (std::system("command -v gnuplot > /dev/null 2>&1") != 0) {
    std::printf("no picture: gnuplot is not installed (apt-get install gnuplot-nox)\n");
    return;
  }
  std::error_code ignored;  // gnuplot itself says what is wrong with a path
  if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, ignored);

  const auto quoted = [](const std::string& text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
    return result + "'";
  };
  std::string script = "set terminal pngcairo size " + std::to_string(700 * panels.size()) + ",500\nset output " +
                       quoted(path) + "\nset multiplot layout 1," + std::to_string(panels.size()) + "\nset key top\n";
  for (const Panel& panel : panels) {
    script += "set title " + quoted(panel.title) + "\n" + panel.commands + "\n";
    for (std::size_t i = 0; i < panel.series.size(); ++i) {
      const Series& s = panel.series[i];
      script += (i ? ", " : "plot ") + std::string("'-' with ") + s.style + " title " + quoted(s.title);
    }
    script += "\n";
    for (const Series& s : panel.series) {
      for (std::size_t i = 0; i < s.x.size(); ++i)
        script += std::to_string(s.x[i]) + " " + std::to_string(s.y[i]) + "\n";
      script += "e\n";
    }
  }
  std::FILE* gnuplot = popen("gnuplot", "w");
  const bool sent = gnuplot && std::fputs(script.c_str(), gnuplot) >= 0;
  if (gnuplot && pclose(gnuplot) == 0 && sent) std::printf("picture: %s\n", path.c_str());
  else std::printf("no picture: gnuplot could not write %s\n", path.c_str());
}
