// Pictures by gnuplot, when it is installed.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace xgrad {

/// A series of points.
struct Series {
  std::string title;      ///< In the legend.
  std::string style;      ///< gnuplot's: "points pt 7 ps 0.3", "lines lw 2".
  std::vector<double> x;  ///< Points that are not finite are left out.
  std::vector<double> y;  ///< As many as x.
};

/// A diagram.
struct Panel {
  std::string title;           ///< Above it.
  std::string commands;        ///< Further gnuplot commands, such as "set logscale y".
  std::vector<Series> series;  ///< What it shows.
};

/// Draws the panels side by side into a PNG file, and says in one line where it is, or why there is none: a missing
/// gnuplot is no error. Makes the folder when needed. Without `log` it says nothing. Returns whether there is a
/// picture; throws std::invalid_argument for a series with more x than y or the other way,
/// FileError for an empty path.
bool plot(const std::string& path, const std::vector<Panel>& panels, std::FILE* log = stdout);

}  // namespace xgrad
