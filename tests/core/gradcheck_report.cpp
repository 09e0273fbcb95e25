// The report: its JSON, and samples of entries.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/gradcheck.hpp>

#include "planted.hpp"

namespace {

using namespace xgrad;
using nlohmann::json;
using planted::V;

Array<double> numbers(const Shape& shape, std::uint64_t seed = 3) { return Rng(seed).normal<double>(shape); }

std::vector<double> list(const Array<double>& a) { return {a.begin(), a.end()}; }

GradcheckOptions sampling(std::size_t n, std::uint64_t seed = 0) {
  GradcheckOptions options;
  options.max_entries = n;
  options.seed = seed;
  return options;
}

TEST(ReportJson, HoldsEverything) {
  GradcheckOptions options;
  options.names = {"x", "shift"};
  options.seed = 7;
  const auto f = [](const V& x, const V& shift) { return planted::cube(planted::relu(x), -3) + shift; };
  const auto report = gradcheck(f, {from<double>({1.0, 2.0, 0.5, 0.0}, {2, 2}), 0.25}, options);
  const json j = json::parse(report.json());
  EXPECT_EQ(j["ok"], false);
  EXPECT_EQ(j["order"], 1);
  EXPECT_EQ(j["problem"], "");
  EXPECT_EQ(j["checked"], 5);
  EXPECT_EQ(j["entries"], 5);
  EXPECT_EQ(j["wrong"], 3);
  EXPECT_EQ(j["seed"], 7);
  EXPECT_EQ(j["step"], 6e-6);
  EXPECT_EQ(j["rtol"], 1e-6);
  EXPECT_EQ(j["atol"], 1e-8);
  EXPECT_EQ(j["worst"]["input"], "x");
  EXPECT_EQ(j["worst"]["index"].get<std::vector<std::size_t>>().size(), 2u);
  EXPECT_EQ(j["worst"]["analytic"], report.worst->analytic);
  EXPECT_EQ(j["worst"]["numeric"], report.worst->numeric);
  EXPECT_EQ(j["worst"]["allowed"], report.worst->allowed);
  EXPECT_EQ(j["hints"].get<std::vector<std::string>>(), report.hints);
  EXPECT_EQ(j["notes"].get<std::vector<std::string>>(), report.notes);
  ASSERT_EQ(j["inputs"].size(), 2u);
  EXPECT_EQ(j["inputs"][0]["name"], "x");
  EXPECT_EQ(j["inputs"][0]["checked"], 4);
  EXPECT_EQ(j["inputs"][0]["wrong"], 3);
  EXPECT_EQ(j["inputs"][0]["analytic"]["shape"], json::array({2, 2}));
  EXPECT_EQ(j["inputs"][0]["analytic"]["data"].get<std::vector<double>>(), list(report.inputs[0].analytic));
  EXPECT_EQ(j["inputs"][0]["numeric"]["data"].get<std::vector<double>>(), list(report.inputs[0].numeric));
  EXPECT_EQ(j["inputs"][1]["analytic"]["shape"], json::array());
  EXPECT_EQ(j["cotangents"][0]["data"].get<std::vector<double>>(), list(report.cotangents[0]));
}

TEST(ReportJson, Kinks) {
  const auto report = gradcheck([](const V& x) { return planted::relu(x); }, from<double>({0.0, 1.0}));
  const json j = json::parse(report.json());
  EXPECT_EQ(j["ok"], true);
  EXPECT_EQ(j["worst"], nullptr);
  ASSERT_EQ(j["kinks"].size(), 1u);
  EXPECT_EQ(j["kinks"][0]["index"], json::array({0}));
  EXPECT_EQ(j["kinks"][0]["analytic"], 0.0);
  EXPECT_EQ(j["kinks"][0]["low"], report.kinks[0].low);
  EXPECT_EQ(j["kinks"][0]["high"], report.kinks[0].high);
  EXPECT_EQ(j["kinks"][0]["beside"], false);
}

TEST(ReportJson, NumbersThatJsonLacks) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const auto& [bad, text] : {std::pair(std::nan(""), "nan"), std::pair(inf, "inf"), std::pair(-inf, "-inf")}) {
    const double x = bad;
    const auto report = gradcheck(
        [x](const V& a) {
          return planted::elementwise(
              a, [](double v) { return v; }, [x](double v) { return v > 0 ? x : 1; });
        },
        from<double>({1.0, -1.0}));
    const json j = json::parse(report.json());
    const bool flipped = report.cotangents[0].data()[0] < 0 && std::isinf(x);
    const std::string want = !flipped ? text : x > 0 ? "-inf" : "inf";
    EXPECT_EQ(j["inputs"][0]["analytic"]["data"][0], want);
    EXPECT_EQ(j["worst"]["analytic"], want);
    EXPECT_TRUE(j["inputs"][0]["analytic"]["data"][1].is_number());
  }
}

TEST(ReportJson, ProblemsAndNamesOfAnyBytes) {
  GradcheckOptions options;
  options.names = {"a \"b\"\n\xff"};
  int runs = 0;
  const auto report = gradcheck([&](const V& a) { return a * static_cast<double>(++runs); }, numbers({2}), options);
  const json j = json::parse(report.json());
  EXPECT_EQ(j["problem"], report.problem);
  EXPECT_EQ(j["checked"], 0);
  EXPECT_EQ(j["inputs"][0]["numeric"]["data"], json::array({"nan", "nan"}));
  EXPECT_EQ(j["inputs"][0]["name"], "a \"b\"\n\xef\xbf\xbd");
}

TEST(Sample, OfEachInputBySeed) {
  const auto f = [](const V& a, const V& b) { return planted::cube(a) * b; };
  const GradcheckInputs inputs{numbers({20, 30}), numbers({30}, 4)};
  int runs = 0;
  const auto counted = [&](const V& a, const V& b) { return ++runs, f(a, b); };
  const auto report = gradcheck(counted, inputs, sampling(50, 9));
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.text(), "gradcheck passed: 80 of 630 entries (sampled with seed 9) of 2 inputs checked\n");
  EXPECT_EQ(report.inputs[0].checked, 50u);
  EXPECT_EQ(report.inputs[1].checked, 30u) << "all of it";
  EXPECT_EQ(runs, 3 + 2 * 80) << "twice alike, once on temporaries, and only what is compared";

  const auto where = [&](std::uint64_t seed) {
    std::vector<std::size_t> measured;
    const auto r = gradcheck(f, inputs, sampling(50, seed));
    for (std::size_t i = 0; i < 600; ++i)
      if (!std::isnan(r.inputs[0].numeric.data()[i])) measured.push_back(i);
    return measured;
  };
  EXPECT_EQ(where(9).size(), 50u);
  EXPECT_EQ(where(9), where(9));
  EXPECT_NE(where(9), where(10));
  EXPECT_EQ(gradcheck(f, inputs, sampling(0)).checked(), 630u);
}

/// x^3, its right gradient spoilt.
template <class F>
GradcheckReport spoiled(F spoil, const Shape& shape, std::size_t n) {
  const auto f = [spoil](const V& x) {
    return planted::op(x, planted::map(x, [](double v) { return v * v * v; }), [spoil](ArrayBackward<double>& b) {
      b.add(0, Array<double>(spoil(Array<double>(b.grad() * 3.0 * b.input(0) * b.input(0)))));
    });
  };
  return gradcheck(f, numbers(shape), sampling(n));
}

TEST(Sample, FaultsAreStillNamed) {
  const auto text = [](auto spoil) { return spoiled(spoil, {12, 12}, 20).text(); };
  const auto negative = text([](const Array<double>& g) { return Array<double>(-g); });
  EXPECT_EQ(negative.find("gradcheck failed: 20 of 20 entries checked disagree\n"
                          "  input 0, shape (12, 12): 20 of 20 checked disagree\n"),
            0u)
      << negative;
  EXPECT_NE(negative.find("hint: input 0: analytic = -numeric everywhere: the sign is wrong\n"
                          "cotangent and sample from seed 0\n"),
            std::string::npos)
      << negative;
  EXPECT_NE(text([](const Array<double>& g) { return Array<double>(2.0 * g); }).find("a factor 2 too much"),
            std::string::npos);
  EXPECT_NE(text([](const Array<double>& g) { return Array<double>(xt::transpose(g)); }).find("transposed"),
            std::string::npos);
  EXPECT_NE(text([](const Array<double>& g) { return zeros<double>(g.shape()); }).find("zero everywhere"),
            std::string::npos);
  // One entry of 144: a sample may miss it, all do not.
  const auto one = [](const Array<double>& g) {
    Array<double> r = g;
    r(1, 2) += 1;
    return r;
  };
  EXPECT_EQ(spoiled(one, {12, 12}, 0).wrong(), 1u);
  EXPECT_TRUE(spoiled([](const Array<double>& g) { return g; }, {12, 12}, 20).ok());
}

}  // namespace
