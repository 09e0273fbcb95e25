// Module: names, state, modes, freezing, summary, moving.
#include <gtest/gtest.h>

#include <algorithm>

#include <xgrad/core/module.hpp>

namespace {

using namespace xgrad;
using V = Variable<double>;

template <class T>
struct Dense : Module<T> {
  Dense(std::size_t in, std::size_t out, std::uint64_t seed = 1, bool with_bias = true)
      : weight(Rng(seed).normal<T>({out, in}), true) {
    if (with_bias) bias = Variable<T>(zeros<T>({out}), true);
  }
  void visit(Visitor<T>& v) override { v("weight", weight), v("bias", bias); }
  std::string name() const override { return "Dense"; }
  Variable<T> weight, bias;
};

struct Net : Module<double> {
  Net() {
    layers.emplace_back(2, 3, 1);
    layers.emplace_back(3, 2, 2, false);
    blocks.push_back(std::make_unique<Dense<double>>(2, 2, 3));
    blocks.push_back(nullptr);
    tied = layers[0].weight;
  }
  void visit(Visitor<double>& v) override {
    v("layers", layers);
    v("blocks", blocks);
    v("head", head);
    v("scale", scale);
    v("tied", tied);
    v("extra", extra);
    v("table", table);
    v("mean", mean);
    v("generator", generator);
  }
  std::string name() const override { return "Net"; }
  std::vector<Dense<double>> layers;
  std::vector<std::unique_ptr<Module<double>>> blocks;
  std::optional<Dense<double>> head;
  std::optional<V> scale = V(ones<double>({2}), true);
  V tied, extra;
  std::vector<V> table{V(ones<double>({1}), true), V(ones<double>({2}), true)};
  Array<double> mean = zeros<double>({4});
  Rng generator{9};
};

std::vector<std::string> names(Module<double>& m) {
  std::vector<std::string> result;
  for (const auto& [name, p] : m.named_parameters()) result.push_back(name);
  return result;
}

template <class E, class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}

bool same(const State<double>& a, const State<double>& b) {
  if (a.arrays.size() != b.arrays.size() || a.generators != b.generators) return false;
  for (std::size_t i = 0; i < a.arrays.size(); ++i)
    if (a.arrays[i].first != b.arrays[i].first || !array_equal(a.arrays[i].second, b.arrays[i].second)) return false;
  return true;
}

TEST(Module, NamesFollowVisit) {
  Net net;
  EXPECT_EQ(names(net), (std::vector<std::string>{"layers.0.weight", "layers.0.bias", "layers.1.weight",
                                                  "blocks.0.weight", "blocks.0.bias", "scale", "table.0", "table.1"}))
      << "absent members are passed over, a tied one appears under its first name";
  net.head.emplace(2, 1);
  EXPECT_EQ(names(net)[5], "head.weight");
  EXPECT_EQ(net.parameters().size(), 10u);
  EXPECT_EQ(net.count(), 6u + 3 + 6 + 4 + 2 + (2 + 1) + 2 + 1 + 2);
}

TEST(Module, ParametersAreHandles) {
  Net net;
  net.parameters()[0].mutate([](Array<double>& a) { a.fill(7); });
  EXPECT_EQ(net.layers[0].weight.value().data()[0], 7);
  EXPECT_EQ(net.tied.value().data()[0], 7);
}

struct Twins : Module<double> {
  void visit(Visitor<double>& v) override { v("a", first), v("a", second); }
  Dense<double> first{1, 1}, second{1, 1};
};

TEST(Module, DuplicateNamesAreRefused) {
  Twins twins;
  const std::string text = "[Module] two members are named \"a.weight\"; give each a name of its own in visit()";
  EXPECT_EQ(message<std::invalid_argument>([&] { twins.parameters(); }), text);
  EXPECT_EQ(message<std::invalid_argument>([&] { state(twins); }), text);
  EXPECT_EQ(message<std::invalid_argument>([&] { twins.eval(); }), text);
  EXPECT_TRUE(twins.first.is_training());
}

TEST(Module, ParametersMustBeLeaves) {
  Dense<double> dense(2, 2);
  dense.weight = dense.weight * 0.5;
  EXPECT_EQ(message<GraphError>([&] { dense.freeze(); }),
            "[Module] parameter \"weight\" must be a leaf but is the result of " + std::string(dense.weight.op()) +
                "; change the numbers of a parameter with mutate()");
  EXPECT_TRUE(dense.bias.requires_grad());
}

TEST(Module, TrainAndEvalReachEveryPart) {
  Net net;
  EXPECT_TRUE(net.is_training());
  net.eval();
  EXPECT_FALSE(net.is_training() || net.layers[1].is_training() || net.blocks[0]->is_training());
  EXPECT_TRUE(net.layers[0].weight.requires_grad()) << "modes never touch requires_grad";
  net.train();
  EXPECT_TRUE(net.is_training() && net.layers[1].is_training() && net.blocks[0]->is_training());
}

TEST(EvalScope, PutsMixedModesBack) {
  Net net;
  net.layers[1].eval();
  const auto modes = [&] {
    return std::vector<bool>{net.is_training(), net.layers[0].is_training(), net.layers[1].is_training()};
  };
  const auto before = modes();
  {
    const EvalScope<double> scope(net);
    EXPECT_EQ(modes(), (std::vector<bool>{false, false, false}));
    {
      const EvalScope<double> inner(net.layers[0]);
      net.layers[0].train();
    }
    EXPECT_FALSE(net.layers[0].is_training());
  }
  EXPECT_EQ(modes(), before);
  EXPECT_THROW(
      {
        const EvalScope<double> scope(net);
        throw std::runtime_error("stop");
      },
      std::runtime_error);
  EXPECT_EQ(modes(), before);
  net.eval();
  net.layers[0].train();
  { const EvalScope<double> scope(net); }
  EXPECT_EQ(modes(), (std::vector<bool>{false, true, false})) << "a part in training inside a whole in evaluation";
}

/// Sees a part that stands elsewhere, beside one of its own.
struct Onlooker : Module<double> {
  explicit Onlooker(Dense<double>& other) : part(other) {}
  void visit(Visitor<double>& v) override { v("own", own), v("part", part), v("again", part); }
  Dense<double> own{1, 1};
  Dense<double>& part;
};

TEST(EvalScope, NestsOnOverlappingModules) {
  for (const int modes : {0, 1, 2, 3, 4, 5, 6, 7}) {
    Net net;
    Onlooker onlooker(net.layers[0]);
    net.train(modes & 1);
    onlooker.train(modes & 2);  // its own and the common part
    net.layers[1].train(modes & 4);
    const auto now = [&] {
      return std::vector<bool>{net.is_training(), net.layers[0].is_training(), net.layers[1].is_training(),
                               onlooker.is_training(), onlooker.own.is_training()};
    };
    const auto before = now();
    for (const bool net_first : {true, false}) {
      {
        const EvalScope<double> outer(net_first ? static_cast<Module<double>&>(net) : onlooker);
        net.layers[0].train();  // in the middle of the outer scope
        const auto between = now();
        {
          const EvalScope<double> inner(net_first ? static_cast<Module<double>&>(onlooker) : net);
          EXPECT_EQ(now(), std::vector<bool>(5, false));
          onlooker.train();
        }
        auto expected = between;
        if (!net_first) expected[3] = expected[4] = true;  // changed by hand, and none of the inner scope's
        EXPECT_EQ(now(), expected) << "modes " << modes << ", net first " << net_first;
      }
      EXPECT_EQ(now(), before) << "modes " << modes << ", net first " << net_first;
    }
  }
}

struct Shared2 : Module<double> {  // one part under two names
  void visit(Visitor<double>& v) override { v("part", part), v("again", part); }
  Dense<double> part{2, 2};
};

TEST(Module, OnePartUnderTwoNames) {
  Shared2 shared;
  EXPECT_EQ(names(shared), (std::vector<std::string>{"part.weight", "part.bias"}));
  { const EvalScope<double> scope(shared); }
  EXPECT_TRUE(shared.part.is_training());
}

TEST(Module, FreezeAndCount) {
  Net net;
  const std::size_t all = net.count();
  net.layers[0].freeze();
  EXPECT_FALSE(net.layers[0].weight.requires_grad());
  EXPECT_FALSE(net.tied.requires_grad()) << "tied handles share the switch";
  EXPECT_EQ(net.count(), all - 9);
  EXPECT_EQ(net.count(true), all);
  net.freeze();
  EXPECT_EQ(net.count(), 0u);
  net.freeze(false);
  EXPECT_EQ(net.count(), all);

  Dense<double> dense(2, 2);
  dense.bias = V(zeros<double>({2}));  // a constant until unfrozen
  EXPECT_EQ(dense.count(), 4u);
  dense.freeze(false);
  EXPECT_TRUE(dense.bias.requires_grad());
  EXPECT_EQ(dense.count(), 6u);
}

TEST(Module, ZeroGrad) {
  Net net;
  for (auto& p : net.parameters()) p.set_grad(p.value());
  net.layers[0].bias.set_requires_grad(false);
  net.zero_grad();
  for (const auto& p : net.parameters()) EXPECT_FALSE(p.has_grad());
}

TEST(Module, Summary) {
  Net net;
  net.layers[1].freeze();
  net.layers[1].eval();
  EXPECT_EQ(net.summary(), R"(Net
name             type   shape   count
layers.0         Dense          9
layers.0.weight         (3, 2)  6
layers.0.bias           (3,)    3
layers.1         Dense          6      evaluation mode
layers.1.weight         (2, 3)  6      frozen
blocks.0         Dense          6
blocks.0.weight         (2, 2)  4
blocks.0.bias           (2,)    2
scale                   (2,)    2
tied                    (3, 2)         is layers.0.weight
table.0                 (1,)    1
table.1                 (2,)    2
mean                    (4,)    4      buffer
generator        Rng
parameters: 26 (208 bytes), of which trainable: 20; buffers: 4 (32 bytes)
)");
  net.eval();
  net.tied.set_grad(ones<double>({3, 2}));
  EXPECT_EQ(net.summary().substr(0, 21), "Net, evaluation mode\n");
  EXPECT_NE(net.summary().find("trainable: 20; gradients: 6 (48 bytes); buffers: 4 (32 bytes)\n"), std::string::npos);
  EXPECT_NE(Dense<float>(2, 2).summary().find("parameters: 6 (24 bytes)\n"), std::string::npos);
}

TEST(State, RoundTripWithBuffersAndGenerators) {
  Net net;
  net.layers[0].eval();
  const auto before = state(net);
  EXPECT_EQ(before.arrays.back().first, "mean");
  EXPECT_EQ(before.generators.size(), 1u);
  for (auto& p : net.parameters()) p.mutate([](Array<double>& a) { a.fill(5); });
  net.mean.fill(3);
  net.generator.next();
  net.layers[0].weight.set_grad(ones<double>({3, 2}));
  EXPECT_FALSE(same(before, state(net)));
  load_state(net, before);
  EXPECT_TRUE(same(before, state(net)));
  EXPECT_TRUE(array_equal(net.tied.value(), net.layers[0].weight.value())) << "tied members stay tied";
  EXPECT_TRUE(net.layers[0].weight.has_grad()) << "loading leaves gradients";
  EXPECT_FALSE(net.layers[0].is_training()) << "and modes";
  // A state is a copy.
  net.mean.fill(8);
  EXPECT_FALSE(same(before, state(net)));
}

TEST(State, LoadingCopiesNoArrays) {
  if (!memory::pooled()) GTEST_SKIP() << "allocations are not counted";
  Net net;
  const auto before = state(net);
  memory::release();
  const auto count = memory::system_allocations();
  load_state(net, before);
  EXPECT_EQ(memory::system_allocations(), count);
}

TEST(State, CopyState) {
  Net a, b;
  for (auto& p : a.parameters()) p.mutate([](Array<double>& x) { x.fill(5); });
  a.generator.next();
  copy_state(a, b);
  EXPECT_TRUE(same(state(a), state(b)));
  b.scale->mutate([](Array<double>& x) { x.fill(1); });
  EXPECT_EQ(a.scale->value().data()[0], 5) << "numbers are not shared";
  copy_state(a, a);
}

TEST(State, ComplaintsNameAllAndChangeNothing) {
  Net net;
  auto wrong = state(net);
  wrong.arrays[0].second = zeros<double>({2, 3});
  wrong.arrays[1].first = "layers.0.offset";
  wrong.arrays[2].second.fill(4);
  wrong.arrays.push_back(wrong.arrays[2]);
  wrong.generators[0].first = "rng";
  const auto before = state(net);
  EXPECT_EQ(message<std::invalid_argument>([&] { load_state(net, wrong); }),
            R"([load_state] the state must have the names and shapes of the module:
  twice: layers.1.weight
  missing: layers.0.bias
  unknown: layers.0.offset
  missing: generator
  unknown: rng
  shape of layers.0.weight: must be (3, 2) but is (2, 3))");
  EXPECT_TRUE(same(before, state(net)));
}

TEST(State, LoadingIsSeenByALaterBackward) {
  Dense<double> dense(1, 1);
  const V y = dense.weight * dense.weight;
  load_state(dense, state(dense));
  EXPECT_THROW(y.backward(), GraphError);
}

TEST(Module, MovesAndDoesNotCopy) {
  static_assert(!std::is_copy_constructible_v<Net> && !std::is_copy_assignable_v<Net>);
  static_assert(std::is_move_constructible_v<Net> && std::is_move_assignable_v<Net>);
  Net net;
  net.layers[0].eval();
  const V weight = net.layers[0].weight;
  const auto before = state(net);
  Net moved = std::move(net);
  EXPECT_TRUE(same(before, state(moved)));
  EXPECT_FALSE(moved.layers[0].is_training());
  EXPECT_EQ(moved.layers[0].weight.shared_value(), weight.shared_value());
  Net other;
  other = std::move(moved);
  EXPECT_TRUE(same(before, state(other)));
}

}  // namespace
