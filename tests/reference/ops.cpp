// Every row of the op table, and ops at special points, against PyTorch. `test_reference_ops --inputs` prints the
// inputs as JSON, for generate.py.
#include <iostream>
#include <set>

#include "reference.hpp"
#include "special_points.hpp"

using namespace reference;

namespace {

std::vector<Call> calls() {
  std::vector<Call> all = special_points();
  for (const optable::Row& r : optable::rows()) all.push_back({r.name, optable::inputs_of(r), r.f64, r.f32});
  return all;
}

Array<double> cotangent(const Call& c) {
  const Shape shape = c.f64(optable::variables<double>(c.inputs, false)).shape();
  xgrad::Rng rng(optable::seed_of(c.name + "/cotangent"));
  return optable::draw(rng, optable::Domain::nonzero, shape);
}

const json& references() {
  static const json all = load("ops.json");
  return all;
}

class ReferenceOp : public testing::TestWithParam<Call> {};

template <class T>
void compare(const Call& c, const optable::Function<T>& f, const json& want) {
  const auto inputs = optable::variables<T>(c.inputs, true);
  const Variable<T> y = f(inputs);
  y.backward(array<T>(want.at("cotangent")));
  expect_close(y.value(), want.at("value"), "value");
  for (std::size_t i = 0; i < inputs.size(); ++i)
    expect_close(gradient(inputs[i]), want.at("gradients").at(i), "gradient " + std::to_string(i));
}

void print_inputs() {
  json all;
  for (const Call& c : calls()) {
    json inputs = json::array();
    for (const auto& x : c.inputs) inputs.push_back(to_json(x));
    all[c.name] = {{"inputs", inputs}, {"cotangent", to_json(cotangent(c))}};
  }
  std::cout << all << '\n';
}

}  // namespace

namespace reference {
void PrintTo(const Call& c, std::ostream* out) { *out << c.name; }  // for GoogleTest
}  // namespace reference

TEST_P(ReferenceOp, PyTorch) {
  const Call& c = GetParam();
  ASSERT_TRUE(references().contains(c.name)) << "no reference for " << c.name << ": run tests/reference/generate.py";
  const json& want = references()[c.name];
  ASSERT_EQ(c.inputs.size(), want.at("inputs").size());
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    ASSERT_EQ(to_json(c.inputs[i]), to_json(array<double>(want["inputs"][i])))
        << "the inputs of " << c.name << " have changed: run tests/reference/generate.py";
  compare<double>(c, c.f64, want);
  compare<float>(c, c.f32, want);
}

INSTANTIATE_TEST_SUITE_P(Table, ReferenceOp, testing::ValuesIn(calls()),
                         [](const auto& test) { return test.param.name; });

TEST(ReferenceOps, EveryReferenceHasARow) {
  std::set<std::string> rows;
  for (const Call& c : calls()) EXPECT_TRUE(rows.insert(c.name).second) << c.name << " stands twice";
  for (const std::string& name : names(references())) EXPECT_TRUE(rows.count(name)) << name << " is no row any more";
}

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--inputs") {
    print_inputs();
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
