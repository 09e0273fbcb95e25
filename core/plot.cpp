#include "plot.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "file.hpp"
#include "finite.hpp"

namespace xgrad {

namespace {

/// In single quotes; gnuplot writes one inside as two, the shell as '\''.
std::string quoted(const std::string& text, const char* quote) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? quote : std::string(1, c);
  return result + "'";
}

std::string point_lines(const Series& s) {
  std::string result;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    if (!std::isfinite(s.x[i]) || !std::isfinite(s.y[i])) continue;
    result += detail::number_text(s.x[i], 9) + ' ' + detail::number_text(s.y[i], 9) + '\n';
  }
  return result;
}

std::string script(const std::string& path, const std::vector<Panel>& panels) {
  const auto quote = [](const std::string& text) { return quoted(text, "''"); };
  // The points stand in named blocks before all else: gnuplot 6 warns of every inline one among several panels.
  std::string blocks, plots;
  int block = 0;
  for (const Panel& panel : panels) {
    std::string plot;
    for (const Series& s : panel.series) {
      const std::string text = point_lines(s);
      if (text.empty()) continue;  // gnuplot takes that for an error
      const std::string name = "$points" + std::to_string(++block);
      blocks += name + " << END\n" + text + "END\n";
      plot += (plot.empty() ? "plot " : ", ") + name + " with " + s.style + " title " + quote(s.title);
    }
    plots += "set title " + quote(panel.title) + "\n" + panel.commands + "\n" + plot + "\n";
  }
  return blocks + "set terminal pngcairo size " + std::to_string(700 * panels.size()) + ",500\nset output " +
         quote(path) + "\nset multiplot layout 1," + std::to_string(panels.size()) + "\nset key top\n" + plots;
}

/// Leaves the script in a file for gnuplot: if that dies, a pipe to it would end this program as well.
bool draw(const std::string& path, const std::string& commands) {
  const std::string file = path + ".gnuplot";
  std::FILE* out = std::fopen(file.c_str(), "w");
  if (!out) return false;
  const bool written = std::fputs(commands.c_str(), out) >= 0;
  const bool good = std::fclose(out) == 0 && written &&
                    std::system(("gnuplot " + quoted(file, "'\\''") + " > /dev/null").c_str()) == 0;
  std::remove(file.c_str());
  return good;
}

}  // namespace

bool plot(const std::string& path, const std::vector<Panel>& panels, std::FILE* log) {
  check_path("plot", path);
  for (const Panel& panel : panels)
    for (const Series& s : panel.series)
      if (s.x.size() != s.y.size())
        fail<std::invalid_argument>("plot", "a series needs as many x as y but \"", s.title, "\" has ", s.x.size(),
                                    " and ", s.y.size());
  std::string text = "no picture: gnuplot is not installed (apt-get install gnuplot-nox)";
  bool drawn = false;
  if (std::system("command -v gnuplot > /dev/null 2>&1") == 0) {
    std::error_code ignored;  // what is wrong with a path shows when it is opened
    if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
      std::filesystem::create_directories(folder, ignored);
    drawn = draw(path, script(path, panels));
    text = drawn ? "picture: " + path : "no picture: gnuplot could not write " + path;
  }
  if (log) std::fprintf(log, "%s\n", text.c_str());
  return drawn;
}

}  // namespace xgrad
