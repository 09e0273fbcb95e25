#include "gradcheck_report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace xgrad {

namespace {

using Json = nlohmann::ordered_json;

Json number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

Json list(const Shape& shape) {
  Json result = Json::array();
  for (const std::size_t n : shape) result.push_back(n);
  return result;
}

Json array(const Array<double>& a) {
  Json data = Json::array();
  for (const double x : a) data.push_back(number(x));
  return {{"shape", list(a.shape())}, {"data", data}};
}

}  // namespace

std::size_t GradcheckReport::checked() const {
  std::size_t n = 0;
  for (const auto& input : inputs) n += input.checked;
  return n;
}

std::size_t GradcheckReport::entries() const {
  std::size_t n = 0;
  for (const auto& input : inputs) n += input.analytic.size();
  return n;
}

std::size_t GradcheckReport::wrong() const {
  std::size_t n = 0;
  for (const auto& input : inputs) n += input.wrong;
  return n;
}

std::string GradcheckReport::text() const {
  detail::Text out;
  out.precision(9);
  out << (order == 2 ? "gradgradcheck (second order) " : "gradcheck ") << (ok() ? "passed: " : "failed: ");
  if (!problem.empty()) {
    out << problem << '\n';
    return out.str();
  }
  const bool sampled = checked() < entries();
  const std::string total = sampled ? std::to_string(checked()) + " of " +
                                          detail::count_text(entries(), "entry", "entries") + " (sampled with seed " +
                                          std::to_string(seed) + ")"
                                    : detail::count_text(checked(), "entry", "entries");
  if (ok()) {
    out << total << " of " << detail::count_text(inputs.size(), "input", "inputs") << " checked\n";
  } else {
    out << wrong() << " of " << (sampled ? detail::count_text(checked(), "entry", "entries") + " checked" : total)
        << " disagree\n";
    std::size_t agreeing = 0;
    for (const GradcheckInput& input : inputs)
      if (input.wrong > 0)
        out << "  " << input.name << ", shape " << to_string(input.analytic.shape()) << ": " << input.wrong << " of "
            << input.checked << (input.checked < input.analytic.size() ? " checked" : "") << " disagree\n";
      else ++agreeing;
    if (agreeing > 0) out << "  " << detail::count_text(agreeing, "other input agrees\n", "other inputs agree\n");
    out << "worst: " << worst->input << " at " << to_string(worst->index) << ": analytic " << worst->analytic
        << ", numeric " << worst->numeric;
    out.precision(2);
    out << " (apart by " << std::abs(worst->analytic - worst->numeric) << ", allowed " << worst->allowed << ")\n";
    for (const std::string& hint : hints) out << "hint: " << hint << '\n';
    out << "cotangent" << (sampled ? " and sample" : "") << " from seed " << seed;
    if (cotangents.size() == 1 && cotangents[0].size() <= 12) {
      std::string numbers = to_string(cotangents[0], 4);
      numbers.erase(std::remove(numbers.begin(), numbers.end(), '\n'), numbers.end());
      out << ": " << numbers;
    }
    out << '\n';
  }
  for (const std::string& note : notes) out << "note: " << note << '\n';
  return out.str();
}

std::string GradcheckReport::json() const {
  Json root = {{"ok", ok()},           {"order", order},   {"problem", problem},   {"checked", checked()},
               {"entries", entries()}, {"wrong", wrong()}, {"step", number(step)}, {"rtol", number(rtol)},
               {"atol", number(atol)}, {"seed", seed}};
  root["worst"] = nullptr;
  if (worst)
    root["worst"] = {{"input", worst->input},
                     {"index", list(worst->index)},
                     {"analytic", number(worst->analytic)},
                     {"numeric", number(worst->numeric)},
                     {"allowed", number(worst->allowed)}};
  root["hints"] = hints;
  root["notes"] = notes;
  root["kinks"] = Json::array();
  for (const GradcheckKink& kink : kinks)
    root["kinks"].push_back({{"input", kink.input},
                             {"index", list(kink.index)},
                             {"analytic", number(kink.analytic)},
                             {"low", number(kink.low)},
                             {"high", number(kink.high)},
                             {"beside", kink.beside}});
  root["inputs"] = Json::array();
  for (const GradcheckInput& input : inputs)
    root["inputs"].push_back({{"name", input.name},
                              {"checked", input.checked},
                              {"wrong", input.wrong},
                              {"analytic", array(input.analytic)},
                              {"numeric", array(input.numeric)}});
  root["cotangents"] = Json::array();
  for (const auto& c : cotangents) root["cotangents"].push_back(array(c));
  // Names are the caller's bytes: what is not UTF-8 becomes the replacement character.
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::ostream& operator<<(std::ostream& out, const GradcheckReport& report) { return out << report.text(); }

}  // namespace xgrad
