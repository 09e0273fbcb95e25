// Error types and the one form of every message: "[who] what must hold, what was got; what to do".
#pragma once

#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>

/// The library. `xgrad::detail` is not for users.
namespace xgrad {

/// Shapes that do not fit together, or an axis or index outside an array.
struct ShapeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// Misuse of the graph: a second backward pass, a saved value that changed, a missing derivative.
struct GraphError : std::logic_error {
  using std::logic_error::logic_error;
};

/// A file that cannot be read or written, or whose content is malformed.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A NaN or infinity where numbers must be finite: what DetectAnomaly, GradGuard and Trainer throw.
struct AnomalyError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace detail {

/// A stream for texts that are the same everywhere: under a locale of the program's, 2000 could print as "2.000".
struct Text : std::ostringstream {
  Text() { imbue(std::locale::classic()); }
};

template <class... Parts>
std::string message(const std::string& who, const Parts&... parts) {
  Text text;
  text << '[' << who << "] ";
  (text << ... << parts);
  return text.str();
}

/// "1 entry", "3 entries".
inline std::string count_text(std::size_t n, const char* one, const char* many) {
  return std::to_string(n) + ' ' + (n == 1 ? one : many);
}

}  // namespace detail

/// Throws Error with "[who] parts..."; every part is printed with <<. Shapes print as "(2, 3)" through `to_string`.
template <class Error, class... Parts>
[[noreturn]] void fail(const std::string& who, const Parts&... parts) {
  throw Error(detail::message(who, parts...));
}

}  // namespace xgrad
