// Reads the reference numbers that generate.py wrote from PyTorch, and holds results against them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>
#include <xgrad/core/variable.hpp>

namespace reference {

using nlohmann::json;
using xgrad::Array;
using xgrad::Shape;
using xgrad::Variable;

/// One of the files beside this one; throws when it is missing or empty, so that no test passes for want of numbers.
inline json load(const std::string& file) {
  const std::string path = std::string(XGRAD_SOURCE_DIR) + "/tests/reference/" + file;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  json all = json::parse(in);
  if (all.empty()) throw std::runtime_error(path + " holds no references");
  return all;
}

/// The keys of an object, for a test each.
inline std::vector<std::string> names(const json& object) {
  std::vector<std::string> result;
  for (const auto& entry : object.items()) result.push_back(entry.key());
  return result;
}

/// JSON has no infinities, so they are strings: "inf", "-inf", "nan".
inline double number(const json& j) { return j.is_string() ? std::stod(j.get<std::string>()) : j.get<double>(); }

template <class T>
Array<T> array(const json& j) {
  const auto extents = j.at("shape").get<std::vector<std::size_t>>();
  auto a = xgrad::empty<T>(Shape(extents.begin(), extents.end()));
  if (j.at("data").size() != a.size()) throw std::runtime_error("shape and numbers do not fit");
  for (std::size_t i = 0; i < a.size(); ++i) a.data()[i] = static_cast<T>(number(j["data"][i]));
  return a;
}

inline xgrad::Index index(const json& j) { return xgrad::from<std::int64_t>(array<double>(j)); }

inline json to_json(const Array<double>& a) {
  json data = json::array();
  for (const double v : a)
    data.push_back(std::isfinite(v) ? json(v) : json(std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf"));
  return {{"shape", std::vector<std::size_t>(a.shape().begin(), a.shape().end())}, {"data", data}};
}

/// How far a result may be from the reference.
///
/// In double 1e-12 of the number, or 1e-13. In float 8 u sqrt(terms) scale with u = 2^-24: `terms` numbers are summed
/// in one entry and `scale` is the largest magnitude among them; torch_case.py says how it finds both.
template <class T>
double bar(double want, double terms, double scale) {
  if (std::is_same_v<T, double>) return std::max(1e-13, 1e-12 * std::abs(want));
  return 8 * std::ldexp(1.0, -24) * std::sqrt(terms) * scale;
}

/// True for what counts as equal: within the bar, or the same infinity, or both NaN.
inline bool within(double got, double want, double allowed) {
  if (std::isnan(want)) return std::isnan(got);
  return got == want || std::abs(got - want) <= allowed;
}

/// Compares shape and all numbers with a reference; reports the worst number only.
template <class T>
void expect_close(const Array<T>& got, const json& want, double terms, double scale, const std::string& what) {
  const Array<double> reference = array<double>(want);
  ASSERT_EQ(got.shape(), reference.shape()) << what;
  std::size_t wrong = 0, worst = 0;
  double excess = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double g = static_cast<double>(got.data()[i]), w = reference.data()[i], allowed = bar<T>(w, terms, scale);
    if (within(g, w, allowed)) continue;
    ++wrong;
    const double over = std::abs(g - w) / allowed;
    if (wrong == 1 || !(over <= excess)) worst = i, excess = over;
  }
  const double w = reference.size() ? reference.data()[worst] : 0;
  EXPECT_EQ(wrong, 0u) << what << " in " << (std::is_same_v<T, double> ? "double" : "float") << ", number " << worst
                       << ": " << testing::PrintToString(got.data()[worst]) << " and not " << testing::PrintToString(w)
                       << "; may differ by " << bar<T>(w, terms, scale);
}

/// The same with terms and scale from the reference itself.
template <class T>
void expect_close(const Array<T>& got, const json& want, const std::string& what) {
  expect_close(got, want, number(want.at("terms")), number(want.at("scale")), what);
}

/// The gradient that backward left, or zeros when none came.
template <class T>
Array<T> gradient(const Variable<T>& x) {
  return x.has_grad() ? x.grad() : xgrad::zeros<T>(x.shape());
}

}  // namespace reference
