#include <gtest/gtest.h>

#include <cmath>
#include <xgrad/core/checkpoint.hpp>

#include "folder.hpp"
#include "throws.hpp"

namespace {

using xgrad::Array;
using xgrad::array_equal;
using xgrad::FileError;
using xgrad::LoadOptions;
using xgrad::Rng;

/// Two parameters, a buffer and a generator.
template <class T>
struct Part : xgrad::Module<T> {
  explicit Part(T start) : weight(xgrad::full<T>({2, 3}, start), true), mean(xgrad::full<T>({3}, start)) {}
  void visit(xgrad::Visitor<T>& v) override {
    v("weight", weight);
    v("scale", scale);
    v("mean", mean);
    v("rng", rng);
  }
  xgrad::Variable<T> weight, scale{xgrad::full<T>({}, T(0.1)), true};
  Array<T> mean;
  Rng rng{7};
};

template <class T>
struct Model : xgrad::Module<T> {
  explicit Model(T start) : first(start), second(start + 1) {}
  void visit(xgrad::Visitor<T>& v) override {
    v("first", first);
    v("second", second);
  }
  Part<T> first, second;
};

template <class T>
bool same(Model<T>& a, Model<T>& b) {
  const auto x = xgrad::state(a), y = xgrad::state(b);
  for (std::size_t i = 0; i < x.arrays.size(); ++i)
    if (!array_equal(x.arrays[i].second, y.arrays[i].second)) return false;
  return x.generators == y.generators;
}

TEST(Checkpoint, ModuleRoundTrip) {
  const Folder folder;
  Model<double> a(0.1), b(5);
  a.first.rng.next();
  a.second.rng = a.second.rng.split();
  a.second.mean(1) = 4.9e-324;
  xgrad::save(folder / "m", a);
  EXPECT_FALSE(same(a, b));
  const auto report = xgrad::load(folder / "m", b);
  EXPECT_TRUE(same(a, b));
  EXPECT_TRUE(report.missing.empty() && report.unknown.empty());
  EXPECT_TRUE(b.first.weight.requires_grad());

  xgrad::SafetensorsFile file(folder / "m");
  std::vector<std::string> names;
  for (const auto& entry : file.entries()) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"first.weight", "first.scale", "second.weight", "second.scale",
                                             "first.mean", "second.mean"}));
  EXPECT_EQ(file.metadata(),
            (xgrad::Metadata{{"format", "pt"},
                             {"xgrad.generator:first.rng", "7 1 0"},
                             {"xgrad.generator:second.rng", std::to_string(a.second.rng.state().key) + " 0 0"}}));
}

TEST(Checkpoint, FloatAndDoubleConvert) {
  const Folder folder;
  Model<float> narrow(0.1f), narrow_again(0);
  Model<double> wide(0);
  xgrad::save(folder / "f", narrow);
  xgrad::load(folder / "f", wide);
  EXPECT_EQ(wide.first.weight.value()(1, 2), static_cast<double>(0.1f));
  xgrad::save(folder / "d", wide);
  xgrad::load(folder / "d", narrow_again);
  EXPECT_TRUE(same(narrow, narrow_again));
}

TEST(Checkpoint, EverythingThatIsWrongIsNamedAndNothingChanges) {
  const Folder folder;
  xgrad::save_safetensors(folder / "m", {{"first.weight", xgrad::zeros<float>({3, 2})},
                                         {"first.scale", xgrad::Index{1}},
                                         {"first.mean", xgrad::zeros<float>({3})},
                                         {"second.weight", xgrad::zeros<float>({2, 3})},
                                         {"head.weight", xgrad::zeros<float>({1})}});
  Model<double> model(1), before(1);
  EXPECT_THROWS(FileError, xgrad::load(folder / "m", model),
                "[load] " + (folder / "m") +
                    " must have the names and shapes of the module; see LoadOptions for names:"
                    "\n  missing: second.mean"
                    "\n  missing: second.scale"
                    "\n  unknown: head.weight"
                    "\n  shape of first.scale: must be () but is (1,)"
                    "\n  shape of first.weight: must be (2, 3) but is (3, 2)"
                    "\n  type of first.scale: must be F16, BF16, F32 or F64 but is I64");
  EXPECT_TRUE(same(model, before));
  LoadOptions lenient;
  lenient.strict = false;
  EXPECT_THROWS(FileError, xgrad::load(folder / "m", model, lenient), "shape of first.weight");
  EXPECT_TRUE(same(model, before));
}

TEST(Checkpoint, PartialOnRequest) {
  const Folder folder;
  xgrad::save_safetensors(folder / "m",
                          {{"first.mean", xgrad::zeros<float>({3})}, {"head.weight", xgrad::zeros<float>({1})}});
  Model<double> model(1);
  LoadOptions options;
  options.strict = false;
  const auto report = xgrad::load(folder / "m", model, options);
  EXPECT_EQ(report.unknown, std::vector<std::string>{"head.weight"});
  EXPECT_EQ(report.missing,
            (std::vector<std::string>{"first.scale", "first.weight", "second.mean", "second.scale", "second.weight"}));
  EXPECT_EQ(model.first.mean(0), 0);
  EXPECT_EQ(model.first.weight.value()(0, 0), 1);
}

TEST(Checkpoint, PrefixAndRename) {
  const Folder folder;
  xgrad::save_safetensors(folder / "m", {{"net.part.weight", xgrad::full<float>({2, 3}, 8.f)},
                                         {"net.part.gain", xgrad::full<float>({}, 9.f)},
                                         {"net.part.mean", xgrad::full<float>({3}, 10.f)},
                                         {"net.part.steps", xgrad::Index{3}},
                                         {"other", xgrad::zeros<float>({1})}});
  Part<float> part(0);
  LoadOptions options;
  options.prefix = "net.part.";
  options.rename = [](const std::string& name) { return name == "gain" ? "scale" : name == "steps" ? "" : name; };
  xgrad::load(folder / "m", part, options);
  EXPECT_EQ(part.weight.value()(1, 1), 8);
  EXPECT_EQ(xgrad::item(part.scale.value()), 9);
  EXPECT_EQ(part.mean(0), 10);

  // Two names that become one are an error, not a race.
  options.rename = [](const std::string&) { return "scale"; };
  EXPECT_THROWS(FileError, xgrad::load(folder / "m", part, options), "twice: scale");
  EXPECT_EQ(part.weight.value()(1, 1), 8);
}

TEST(Checkpoint, GeneratorsComeBackWhenTheFileHasThem) {
  const Folder folder;
  Part<float> a(1), b(2);
  a.rng.next();
  xgrad::save(folder / "m", a);
  xgrad::load(folder / "m", b);
  EXPECT_EQ(b.rng.state(), a.rng.state());
  // A file from elsewhere has none.
  xgrad::save_safetensors(folder / "m", {{"weight", a.weight.value()}, {"scale", a.scale.value()}, {"mean", a.mean}});
  b.rng = Rng(3);
  xgrad::load(folder / "m", b);
  EXPECT_EQ(b.rng.state(), Rng(3).state());
  // Some but not all is a mistake.
  xgrad::save_safetensors(folder / "m", {{"weight", a.weight.value()}, {"scale", a.scale.value()}, {"mean", a.mean}},
                          {{"xgrad.generator:dropout", "1 2 3"}});
  EXPECT_THROWS(FileError, xgrad::load(folder / "m", b), "\n  missing: rng\n  unknown: dropout");
  for (const char* text : {"1 2", "1 2 3 4", "1 2 -3", "", "a b c", "1 2 99999999999999999999"}) {
    xgrad::save_safetensors(folder / "m", {}, {{"xgrad.generator:rng", text}});
    EXPECT_THROWS(FileError, xgrad::load(folder / "m", b), "metadata \"xgrad.generator:rng\" is malformed");
  }
}

TEST(Checkpoint, OneFileHoldsAWholeRun) {
  const Folder folder;
  Model<float> model(1), other(2);
  Rng shuffle(4);
  shuffle.next();
  xgrad::State<float> all;
  all.append("model.", xgrad::state(model));
  all.generators.emplace_back("shuffle", shuffle.state());
  for (const auto& [name, number] : std::vector<std::pair<std::string, double>>{
           {"epoch", 9007199254740992.0}, {"best", 0.1}, {"worst", HUGE_VAL}, {"least", 4.9e-324}, {"negative", -0.0}})
    all.numbers.emplace_back(name, number);
  xgrad::save_state(folder / "run", all);

  const auto loaded = xgrad::read_state<float>(folder / "run");
  xgrad::load_state(other, loaded.part("model."));
  EXPECT_TRUE(same(model, other));
  EXPECT_EQ(loaded.generator("shuffle"), shuffle.state());
  for (const auto& [name, number] : all.numbers) EXPECT_EQ(loaded.number(name), number);
  EXPECT_TRUE(std::signbit(loaded.number("negative")));
  EXPECT_TRUE(array_equal(loaded.array("model.first.mean"), model.first.mean));
  EXPECT_THROWS(std::invalid_argument, loaded.number("none"), "[State] has no number named \"none\"");

  // The model alone, out of the run's file.
  Model<double> wide(3);
  LoadOptions options;
  options.prefix = "model.";
  xgrad::load(folder / "run", wide, options);
  EXPECT_EQ(wide.second.weight.value()(0, 0), 2);

  all.numbers.emplace_back("epoch", 1.0);
  EXPECT_THROWS(std::invalid_argument, xgrad::save_state(folder / "run", all), "two entries are named \"epoch\"");
}

TEST(Checkpoint, NumbersThatAreMalformedAreRefused) {
  const Folder folder;
  for (const char* text : {"", "one", "1 x", "1e999"}) {
    xgrad::save_safetensors(folder / "m", {}, {{"xgrad.number:epoch", text}});
    EXPECT_THROWS(FileError, xgrad::read_state<float>(folder / "m"), "metadata \"xgrad.number:epoch\" is malformed");
  }
}

TEST(Checkpoint, StateOfAModuleIsCheckedBeforeItIsLoaded) {
  Model<float> model(1), before(1);
  auto state = xgrad::state(model);
  state.arrays[0].second = xgrad::zeros<float>({4});
  state.arrays.pop_back();
  state.generators[0].first = "x";
  EXPECT_THROWS(std::invalid_argument, xgrad::load_state(model, state),
                "[load_state] the state must have the names and shapes of the module:"
                "\n  missing: second.mean\n  missing: first.rng\n  unknown: x"
                "\n  shape of first.weight: must be (2, 3) but is (4,)");
  EXPECT_TRUE(same(model, before));
  state.arrays.erase(state.arrays.begin());
  state.arrays[0].second = xgrad::full<float>({}, 3.f);
  xgrad::load_state(model, state, false);
  EXPECT_EQ(xgrad::item(model.first.scale.value()), 3);
}

}  // namespace
