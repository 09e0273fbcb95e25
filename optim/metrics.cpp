#include "metrics.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "../core/check.hpp"
#include "../core/file.hpp"

namespace xgrad {

namespace {

constexpr std::string_view header = "step,epoch,lr,train_loss,validation_loss,skipped\n";

template <class N>
std::string text(N number) {
  if constexpr (std::is_floating_point_v<N>)
    if (std::isnan(number)) return "";
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

std::string line(const Metrics& m) {
  return text(m.step) + ',' + text(m.epoch) + ',' + text(m.lr) + ',' + text(m.train_loss) + ',' +
         text(m.validation_loss) + ',' + text(m.skipped) + '\n';
}

/// Takes a field and the mark behind it off the front; false when that is not there.
template <class N>
bool take(std::string_view& rest, N& number, char mark) {
  const std::size_t end = rest.find(mark);
  if (end == std::string_view::npos) return false;
  const char* last = rest.data() + end;
  bool good;
  if (std::is_floating_point_v<N> && end == 0) {
    number = std::numeric_limits<N>::quiet_NaN();
    good = true;
  } else {
    const auto [stop, error] = std::from_chars(rest.data(), last, number);
    good = error == std::errc() && stop == last;
  }
  rest.remove_prefix(end + 1);
  return good;
}

}  // namespace

MetricsFile::MetricsFile(std::string path, const std::vector<Metrics>& rows) : path_(std::move(path)) {
  std::string content(header);
  for (const Metrics& row : rows) content += line(row);
  OutputFile out("MetricsFile", path_);
  out.write(content.data(), content.size());
  out.commit();
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) fail<FileError>("MetricsFile", "cannot write ", path_, ": ", std::strerror(errno));
}

MetricsFile::~MetricsFile() { ::close(descriptor_); }

void MetricsFile::append(const Metrics& row) {
  const off_t old_size = ::lseek(descriptor_, 0, SEEK_END);
  const std::string bytes = line(row);
  for (std::size_t done = 0; done < bytes.size();) {
    const auto count = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      const int error = errno;
      const bool restored = ::ftruncate(descriptor_, old_size) == 0;
      fail<FileError>("MetricsFile", "cannot write ", path_, ": ", std::strerror(error),
                      restored ? "" : "; its last line is cut short");
    }
  }
}

std::vector<Metrics> MetricsFile::read(const std::string& path, std::uint64_t last_step) {
  if (!std::filesystem::exists(path)) return {};
  InputFile file("MetricsFile", path);
  std::string content(file.size(), '\0');
  file.read(content.data(), content.size());
  std::string_view rest = content;
  std::vector<Metrics> result;
  if (rest.substr(0, header.size()) != header) return result;
  rest.remove_prefix(header.size());
  Metrics m;
  while (take(rest, m.step, ',') && take(rest, m.epoch, ',') && take(rest, m.lr, ',') &&
         take(rest, m.train_loss, ',') && take(rest, m.validation_loss, ',') && take(rest, m.skipped, '\n')) {
    if (m.step > last_step || (!result.empty() && m.step <= result.back().step)) break;
    result.push_back(m);
  }
  return result;
}

}  // namespace xgrad
