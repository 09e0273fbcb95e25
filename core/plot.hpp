// Pictures by gnuplot, when it is installed.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace xgrad {

/// A series of points: a title, gnuplot's style ("points pt 7 ps 0.3", "lines lw 2") and the numbers. Points that are
/// not finite are left out.
struct Series {
  std::string title, style;
  std::vector<double> x, y;
};

/// A diagram: its title, further gnuplot commands such as "set logscale y", and what it shows.
struct Panel {
  std::string title, commands;
  std::vector<Series> series;
};

/// Draws the panels side by side into a PNG file, and says in one line where it is, or why there is none: a missing
/// gnuplot is no error. Makes the folder when needed. Without `log` it says nothing. Returns whether there is a
/// picture; throws std::invalid_argument for a series with more x than y or the other way.
bool plot(const std::string& path, const std::vector<Panel>& panels, std::FILE* log = stdout);

}  // namespace xgrad
