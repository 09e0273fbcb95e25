// Losses against PyTorch: value, and gradients by prediction and target.
#include <map>
#include <set>
#include <xgrad/layers/loss.hpp>

#include "reference.hpp"

using namespace reference;

namespace {

const json& references() {
  static const json all = load("losses.json");
  return all;
}

xgrad::Reduction reduction(const json& options) {
  const std::map<std::string, xgrad::Reduction> reductions = {
      {"mean", xgrad::Reduction::mean}, {"sum", xgrad::Reduction::sum}, {"none", xgrad::Reduction::none}};
  return reductions.at(options.at("reduction"));
}

template <class T>
Variable<T> loss(const json& want, const std::vector<Variable<T>>& in) {
  const std::string kind = want.at("kind");
  const json& o = want.at("options");
  if (kind == "mse_loss") return xgrad::mse_loss(in[0], in[1], reduction(o));
  if (kind == "l1_loss") return xgrad::l1_loss(in[0], in[1], reduction(o));
  if (kind == "huber_loss") return xgrad::huber_loss(in[0], in[1], reduction(o), o.value("delta", 1.0));
  if (kind == "bce_with_logits")
    return xgrad::bce_with_logits(in[0], in[1], reduction(o), o.value("pos_weight", std::vector<double>{}));
  if (kind != "cross_entropy") throw std::runtime_error("no loss " + kind);
  xgrad::CrossEntropyOptions options;
  options.reduction = reduction(o);
  options.ignore_index = o.value("ignore_index", options.ignore_index);
  options.label_smoothing = o.value("label_smoothing", options.label_smoothing);
  options.weights = o.value("weights", options.weights);
  return xgrad::cross_entropy(in[0], index(want.at("inputs").at(1)), options);
}

template <class T>
void compare(const json& want) {
  std::vector<Variable<T>> inputs;
  for (std::size_t i = 0; i < want.at("gradients").size(); ++i)
    inputs.emplace_back(array<T>(want.at("inputs").at(i)), true);
  const Variable<T> y = loss(want, inputs);
  y.backward(array<T>(want.at("cotangent")));
  expect_close(y.value(), want.at("value"), "value");
  for (std::size_t i = 0; i < inputs.size(); ++i)
    expect_close(gradient(inputs[i]), want.at("gradients").at(i), "gradient " + std::to_string(i));
}

class ReferenceLoss : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(ReferenceLoss, PyTorch) {
  const json& want = references().at(GetParam());
  compare<double>(want);
  compare<float>(want);
}

INSTANTIATE_TEST_SUITE_P(Losses, ReferenceLoss, testing::ValuesIn(names(references())),
                         [](const auto& test) { return test.param; });

TEST(ReferenceLosses, EveryKindWithEveryReduction) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const json& c : references()) seen.emplace(c.at("kind"), c.at("options").at("reduction"));
  EXPECT_EQ(seen.size(), 5u * 3u);
}
