#include "diagnosis.hpp"

#include <algorithm>
#include <cmath>

#include "differences.hpp"

namespace xgrad::detail {

namespace {

/// Compares gradients as far as differences of values can tell, relative to the largest entry. An entry that was not
/// compared, NaN on one side, fits anything.
class Comparison {
 public:
  Comparison(const Array<double>& reference, double rtol, double atol) : rtol_(std::max(1e-5, rtol)), atol_(atol) {
    for (double x : reference)
      if (std::isfinite(x)) scale_ = std::max(scale_, std::abs(x));
  }
  bool same(double a, double b) const {
    return !(std::abs(a - b) > rtol_ * std::max(std::abs(a), 0.01 * scale_) + atol_);
  }
  bool same(const Array<double>& a, const Array<double>& b) const {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!same(a.data()[i], b.data()[i])) return false;
    return true;
  }
  bool zero(const Array<double>& a) const {
    return std::all_of(a.begin(), a.end(), [&](double x) { return same(x, 0); });
  }
  /// The whole number that x is as far as can be told, or 0.
  double whole(double x) const { return std::abs(x - std::round(x)) < rtol_ * x ? std::round(x) : 0; }

 private:
  double rtol_, atol_;
  double scale_ = 0;
};

/// The stretches of an axis: its entries are at offset + k * stride.
struct AxisView {
  AxisView(const Shape& shape, std::size_t axis) : extent(shape[axis]) {
    for (std::size_t i = axis + 1; i < shape.size(); ++i) stride *= shape[i];
  }
  std::size_t extent, stride = 1;
  std::size_t offset(std::size_t line) const { return line / stride * stride * extent + line % stride; }
};

Array<double> swapped(const Array<double>& a, std::size_t p, std::size_t q) {
  Shape shape = a.shape();
  std::swap(shape[p], shape[q]);
  auto result = empty<double>(shape);
  for (std::size_t i = 0; i < a.size(); ++i) {
    Shape index = index_of(i, shape);
    std::swap(index[p], index[q]);
    std::size_t from = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) from = from * a.shape()[axis] + index[axis];
    result.data()[i] = a.data()[from];
  }
  return result;
}

/// Names the axes that have k entries.
std::string who_has(std::size_t k, const GradcheckInput& input, const std::vector<Array<double>>& outputs) {
  const auto look = [&](const Shape& shape, std::size_t size, const std::string& name) -> std::string {
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] == k)
        return "axis " + std::to_string(axis) + " of " + name + " has " + std::to_string(k) +
               " entries: a sum where a mean belongs, or the reverse?";
    return size == k ? name + " has " + std::to_string(k) + " entries: a sum where a mean belongs, or the reverse?"
                     : "";
  };
  std::string found;
  if (outputs.size() == 1) found = look(outputs[0].shape(), outputs[0].size(), "the output");
  return found.empty() ? look(input.analytic.shape(), input.analytic.size(), input.name) : found;
}

std::string factor(const GradcheckInput& input, const Comparison& compare, const std::vector<Array<double>>& outputs) {
  const Array<double>&a = input.analytic, &n = input.numeric;
  double an = 0, nn = 0;
  std::size_t telling = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(n.data()[i])) continue;
    an += a.data()[i] * n.data()[i];
    nn += n.data()[i] * n.data()[i];
    telling += !compare.same(n.data()[i], 0);
  }
  const double ratio = an / nn;
  if (telling == 0 || !std::isfinite(ratio) || ratio == 0) return "";
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!compare.same(a.data()[i], ratio * n.data()[i])) return "";
  const double size = std::abs(ratio);
  const double times = compare.whole(size), part = compare.whole(1 / size);
  if (telling == 1 && times == 0 && part == 0) return "";  // any two numbers have a ratio
  const std::string where = a.size() > 1 ? " everywhere: " : ": ";
  const std::string sign = ratio < 0 ? "-" : "", and_sign = ratio < 0 ? ", and the sign is wrong" : "";
  if (times == 1) return ratio < 0 ? "analytic = -numeric" + where + "the sign is wrong" : "";
  std::string text, count;
  if (times > 1) {
    text = "analytic = " + sign + number_text(times) + " x numeric" + where + "a factor " + number_text(times) +
           " too much";
    count = who_has(static_cast<std::size_t>(times), input, outputs);
  } else if (part > 1) {
    text = "analytic = " + sign + "numeric / " + number_text(part) + where + "a factor " + number_text(part) +
           " is missing";
    count = who_has(static_cast<std::size_t>(part), input, outputs);
  } else {
    text = "analytic = " + number_text(ratio) + " x numeric" + where + "a constant factor is wrong";
    return text;
  }
  return text + and_sign + (count.empty() ? "" : "; " + count);
}

std::string transposed(const GradcheckInput& input, const Comparison& compare) {
  const std::size_t rank = input.analytic.dimension();
  for (std::size_t q = rank; q-- > 1;)
    for (std::size_t p = q; p-- > 0;)
      if (input.analytic.shape()[p] > 1 && input.analytic.shape()[q] > 1 &&
          compare.same(input.analytic, swapped(input.numeric, p, q)))
        return rank == 2 ? "analytic is the numeric gradient transposed"
                         : "analytic is the numeric gradient with axes " + std::to_string(p) + " and " +
                               std::to_string(q) + " exchanged (transposed)";
  if (input.checked < input.analytic.size()) return "";
  Array<double> a = input.analytic, n = input.numeric;
  std::sort(a.begin(), a.end());
  std::sort(n.begin(), n.end());
  if (a.size() > 1 && compare.same(a, n))
    return "analytic holds the right numbers in another order: a wrong index or axis order";
  return "";
}

/// Patterns that need the gradient by parts of the output.
std::string from_parts(const GradcheckInput& input, const Suspect& suspect, const Comparison& compare) {
  if (suspect.parts.empty()) return "";
  if (compare.same(input.analytic, suspect.of_ones))
    return "analytic is the gradient for a cotangent of ones: the derivative ignores the gradient of its output "
           "(b.grad(), or what backward is given last)";
  for (std::size_t axis = 0; axis < suspect.parts.size(); ++axis)
    for (std::size_t k = 0; suspect.parts[axis].size() > 1 && k < suspect.parts[axis].size(); ++k)
      if (compare.same(input.analytic, suspect.parts[axis][k]))
        return "only entry " + std::to_string(k) + " along axis " + std::to_string(axis) +
               " of the output counts: a sum over that axis is missing";
  return "";
}

/// What is missing or too much, where it has a pattern itself.
std::string difference(const GradcheckInput& input, const Comparison& compare,
                       const std::vector<Array<double>>& outputs) {
  const Array<double>&a = input.analytic, &n = input.numeric;
  if (input.checked < a.size()) return "";
  auto d = empty<double>(a.shape());
  for (std::size_t i = 0; i < a.size(); ++i) d.data()[i] = a.data()[i] - n.data()[i];
  const bool like_output = outputs.size() == 1 && outputs[0].shape() == a.shape();
  // Along which axes is d constant, or a multiple of the output?
  for (int multiple = 0; multiple < (like_output ? 2 : 1); ++multiple)
    for (std::size_t axis = a.dimension(); axis-- > 0;) {
      const AxisView view(a.shape(), axis);
      if (view.extent < 2 || a.size() == 0) continue;
      bool fits = view.extent > 2 || a.size() > 2 * view.extent;  // two numbers prove too little
      for (std::size_t line = 0; fits && line < a.size() / view.extent; ++line) {
        const double* at = d.data() + view.offset(line);
        const double* y = multiple ? outputs[0].data() + view.offset(line) : nullptr;
        for (std::size_t k = 1; fits && k < view.extent; ++k) {
          const std::size_t j = k * view.stride;
          fits = multiple ? compare.same(at[j] * y[0], at[0] * y[j]) : compare.same(at[j], at[0]);
        }
      }
      if (fits)
        return std::string(multiple ? "analytic - numeric is a multiple of the output"
                                    : "analytic - numeric is constant") +
               " along axis " + std::to_string(axis) + ": a sum or mean over that axis is missing or too much";
    }
  return "";
}

/// Where the wrong entries lie, when they are not all.
std::string place(const GradcheckInput& input, const Comparison& compare) {
  if (input.wrong == input.checked || input.wrong < 2) return "";
  const Shape& shape = input.analytic.shape();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::optional<std::size_t> at;
    bool one = shape[axis] > 1;
    for (std::size_t i = 0; one && i < input.analytic.size(); ++i) {
      if (compare.same(input.analytic.data()[i], input.numeric.data()[i])) continue;
      const std::size_t here = index_of(i, shape)[axis];
      one = !at || *at == here;
      at = here;
    }
    if (one && at) return "all disagreements lie at index " + std::to_string(*at) + " of axis " + std::to_string(axis);
  }
  return "";
}

std::string hint(const GradcheckReport& report, const Suspect& suspect, const std::vector<Array<double>>& outputs) {
  const GradcheckInput& input = report.inputs[suspect.input];
  for (const std::size_t i : suspect.entries)
    if (const double a = input.analytic.data()[i]; !std::isfinite(a))
      return "the backward pass gives " + number_text(a) + " though the value is finite";
  for (const std::size_t i : suspect.entries)
    if (!std::isfinite(input.numeric.data()[i]))
      return "the value becomes nan or inf within one step: the point lies at the border of the domain";
  const Comparison compare(input.numeric, report.rtol, report.atol + suspect.doubt);
  if (!suspect.reached)
    return "no gradient reaches it: it is cut off from the graph (detach(), value() or NoGrad on the way?)";
  if (compare.zero(input.analytic)) return "the gradient is zero everywhere: the derivative adds nothing for it";
  if (compare.zero(input.numeric)) return "the output does not depend on it, yet it gets a gradient";
  for (std::size_t other = 0; other < report.inputs.size(); ++other)
    if (other != suspect.input && report.inputs[other].wrong > 0 && input.analytic.size() > 1 &&
        compare.same(input.analytic, report.inputs[other].numeric))
      return "analytic is the gradient of " + report.inputs[other].name + ": inputs exchanged";
  std::string text = factor(input, compare, outputs);
  if (text.empty()) text = transposed(input, compare);
  if (text.empty()) text = from_parts(input, suspect, compare);
  if (text.empty()) text = place(input, compare);
  if (text.empty()) text = difference(input, compare, outputs);
  return text;
}

}  // namespace

std::vector<std::string> hints(const GradcheckReport& report, const std::vector<Suspect>& suspects,
                               const std::vector<Array<double>>& outputs) {
  std::vector<std::pair<std::string, std::string>> found;  // names, text
  for (const Suspect& suspect : suspects) {
    const std::string text = hint(report, suspect, outputs);
    if (text.empty()) continue;
    const std::string& name = report.inputs[suspect.input].name;
    const auto same = std::find_if(found.begin(), found.end(), [&](const auto& f) { return f.second == text; });
    if (same == found.end()) found.emplace_back(name, text);
    else same->first += ", " + name;
  }
  std::vector<std::string> lines;
  for (const auto& [names, text] : found) lines.push_back(names + ": " + text);
  return lines;
}

}  // namespace xgrad::detail
