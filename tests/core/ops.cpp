// Runs the op table: every op and variant against differences, its twin, float, and at small shapes.
#include "op_table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <xgrad/core/gradcheck.hpp>

using namespace optable;

namespace {

class Op : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override { nodes_ = xgrad::live_nodes(); }
  void TearDown() override { EXPECT_EQ(xgrad::live_nodes(), nodes_) << "nodes leaked"; }

 private:
  std::size_t nodes_ = 0;
};

bool has_numbers(const Shapes& shapes) {
  bool any = false;
  for (const Shape& s : shapes) any = any || xgrad::element_count(s) > 0;
  return any;
}

std::string shape_text(const Shapes& shapes) {
  std::string text;
  for (const Shape& s : shapes) text += xgrad::to_string(s) + " ";
  return text;
}

void expect_close(const Array<double>& got, const Array<double>& want, double rel, double abs, const char* what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got.data()[i], want.data()[i], abs + rel * std::abs(want.data()[i])) << what << ", number " << i;
}

double largest(const Array<double>& x) {
  double m = 1;
  for (std::size_t i = 0; i < x.size(); ++i) m = std::max(m, std::abs(x.data()[i]));
  return m;
}

}  // namespace

TEST_P(Op, FirstOrder) {
  const Row& r = GetParam();
  for (std::size_t k = 0; k < r.variants.size(); ++k) {
    if (!has_numbers(r.variants[k])) continue;
    const auto report = xgrad::gradcheck(r.f64, variables<double>(inputs_of(r, k), false));
    EXPECT_TRUE(report.ok()) << shape_text(r.variants[k]) << '\n' << report.text();
  }
}

TEST_P(Op, SecondOrder) {
  const Row& r = GetParam();
  for (std::size_t k = 0; k < r.variants.size(); ++k) {
    if (!has_numbers(r.variants[k])) continue;
    const auto report = xgrad::gradgradcheck(r.f64, variables<double>(inputs_of(r, k), false));
    EXPECT_TRUE(report.ok()) << shape_text(r.variants[k]) << '\n' << report.text();
  }
}

TEST_P(Op, Twin) {
  const Row& r = GetParam();
  if (!r.twin) return;
  for (std::size_t k = 0; k < r.variants.size(); ++k) {
    const auto got = run(r, r.f64, k), want = run(r, r.twin, k);
    expect_close(got.value, want.value, 1e-13, 1e-14, "value");
    for (std::size_t i = 0; i < want.gradients.size(); ++i)
      expect_close(got.gradients[i], want.gradients[i], 1e-12, 1e-13, "gradient");
  }
}

// |float - double| <= 8 2^-24 sqrt(K) scale, K the largest number of terms that can go into one result.
TEST_P(Op, FloatAgainstDouble) {
  const Row& r = GetParam();
  for (std::size_t k = 0; k < r.variants.size(); ++k) {
    const auto f = run(r, r.f32, k);
    const auto d = run(r, r.f64, k);
    std::size_t terms = std::max<std::size_t>(d.value.size(), 1);
    for (const auto& g : d.gradients) terms = std::max(terms, g.size());
    const double bar = 8 * std::ldexp(1.0, -24) * std::sqrt(static_cast<double>(terms));
    expect_close(xgrad::from<double>(f.value), d.value, 0, bar * largest(d.value), "value");
    for (std::size_t i = 0; i < d.gradients.size(); ++i)
      expect_close(xgrad::from<double>(f.gradients[i]), d.gradients[i], 0, bar * largest(d.gradients[i]), "gradient");
  }
}

// Every variant, empty ones included: constants in give a constant out; gradients have their input's shape.
TEST_P(Op, ShapesAndConstants) {
  const Row& r = GetParam();
  for (std::size_t k = 0; k < r.variants.size(); ++k) {
    const auto constants = variables<double>(inputs_of(r, k), false);
    const Variable<double> y = r.f64(constants);
    EXPECT_FALSE(y.requires_grad()) << shape_text(r.variants[k]);
    EXPECT_STREQ(y.op(), "constant");
    const auto got = run(r, r.f64, k);
    EXPECT_TRUE(xgrad::array_equal(got.value, y.value())) << "tracked inputs give another value";
    ASSERT_EQ(got.gradients.size(), constants.size());
    for (std::size_t i = 0; i < constants.size(); ++i) EXPECT_EQ(got.gradients[i].shape(), constants[i].shape());
  }
}

// Each input alone tracked: derivatives look at needs(i), and what is not saved is not read.
TEST_P(Op, OneInputTracked) {
  const Row& r = GetParam();
  const auto want = run(r, r.f64);
  const std::size_t n = r.domains.size();
  for (std::size_t i = 0; n > 1 && i < n; ++i) {
    auto v = variables<double>(inputs_of(r), false);
    v[i].set_requires_grad(true);
    const Variable<double> y = r.f64(v);
    if (!y.requires_grad()) continue;
    y.backward(cotangent_of(r, y.shape()));
    expect_close(v[i].grad(), want.gradients[i], 1e-14, 1e-15, "gradient");
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Op, testing::ValuesIn(rows()), [](const auto& one) { return one.param.name; });

TEST(OpTable, NamesAreUnique) {
  std::set<std::string> names;
  for (const Row& r : rows()) EXPECT_TRUE(names.insert(r.name).second) << r.name;
}
