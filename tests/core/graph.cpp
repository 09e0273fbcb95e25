// The graph as text and as DOT.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <xgrad/core/accumulate.hpp>
#include <xgrad/core/backward.hpp>
#include <xgrad/core/graph.hpp>
#include <xgrad/core/ops/pointwise.hpp>
#include <xgrad/core/ops/product.hpp>
#include <xgrad/core/ops/reduction.hpp>
#include <xgrad/layers/feed_forward.hpp>

#include "folder.hpp"
#include "throws.hpp"

namespace {

using namespace xgrad;
using V = Variable<double>;

V leaf(const Shape& shape) { return {ones<double>(shape), true}; }

TEST(GraphText, OneOpALine) {
  const V w = leaf({4, 3}), c(ones<double>({2, 4}));
  const V h = xgrad::tanh(xgrad::matmul(c, w));
  const V loss = xgrad::sum(h * h + h);
  const std::string text = graph_to_text(loss, {{"w", w}});
  EXPECT_EQ(text, R"(%0 = leaf w (4, 3), requires grad
%1 = matmul(constant (2, 4), w) -> (2, 3)
%2 = tanh(%1) -> (2, 3)
%3 = mul(%2, %2) -> (2, 3)
%4 = add(%3, %2) -> (2, 3)
%5 = sum(%4) -> ()
output %5: 5 ops, 1 leaf, 12 numbers that require a gradient
)");
  EXPECT_EQ(graph_to_text(loss, {{"w", w}}), text);
  EXPECT_EQ(graph_to_text(h, {{"input", c}}), R"(%0 = leaf (4, 3), requires grad
%1 = matmul(constant input (2, 4), %0) -> (2, 3)
%2 = tanh(%1) -> (2, 3)
output %2: 2 ops, 1 leaf, 12 numbers that require a gradient
)") << "a constant that the op saved has its name; leaves without one a number";
}

TEST(GraphText, TheSameForTheSameProgram) {
  const auto run = [] {
    const V a = leaf({2}), b = leaf({2});
    leaf({7});  // not part of it
    return graph_to_text(xgrad::sum(b * a + b));
  };
  EXPECT_EQ(run(), run());
}

TEST(GraphText, LeavesAndConstantsAlone) {
  EXPECT_EQ(graph_to_text(leaf({1})),
            "%0 = leaf (1,), requires grad\noutput %0: 0 ops, 1 leaf, 1 number that requires a gradient\n");
  EXPECT_EQ(graph_to_text(V(2.0)), "output constant (): 0 ops, 0 leaves, 0 numbers that require a gradient\n");
}

TEST(GraphText, FrozenAndFreed) {
  V a = leaf({2}), b = leaf({2});
  const V y = xgrad::sum(a * b);
  b.set_requires_grad(false);
  EXPECT_NE(graph_to_text(y).find("%1 = leaf (2,), frozen\n"), std::string::npos);
  EXPECT_NE(graph_to_text(y).find("2 leaves, 2 numbers that"), std::string::npos);
  EXPECT_NE(graph_to_text(xgrad::sum(a * b), {{"b", b}}).find("mul(%0, constant b (2,))"), std::string::npos);
  y.backward();
  EXPECT_EQ(graph_to_text(y), "%0 = sum(freed) -> ()\noutput %0: 1 op, 0 leaves, 0 numbers that require a gradient\n");
  EXPECT_NE(graph_to_dot(y).find("[label=\"sum (freed)\\n()\""), std::string::npos);
}

TEST(GraphText, ParametersOfAModule) {
  Rng rng(1);
  FeedForward<float> ffn({4, 8}, rng);
  const auto y = ffn(Variable<float>(ones<float>({2, 4})));
  const std::string text = graph_to_text(y, ffn), dot = graph_to_dot(y, ffn);
  for (const auto& [name, p] : ffn.named_parameters()) {
    EXPECT_NE(text.find(" = leaf " + name + ' ' + to_string(p.shape()) + ", requires grad\n"), std::string::npos)
        << text;
    EXPECT_NE(dot.find("[label=\"" + name + "\\n" + to_string(p.shape()) + "\", shape=ellipse, style=filled"),
              std::string::npos);
  }
}

TEST(GraphText, RecordedDerivatives) {
  const V x = leaf({2});
  const V g = xgrad::grad(xgrad::sum(xgrad::exp(x)), x, {true});
  EXPECT_NE(graph_to_text(g).find("exp(%0) -> (2,)"), std::string::npos) << graph_to_text(g);
}

TEST(GraphText, NamesAreEscaped) {
  const V x = leaf({2});
  const std::string odd = "a \"b\"\\\n\x7f\xc3\xa9";
  const std::string quoted = "\"a \\\"b\\\"\\\\\\x0a\\x7f\xc3\xa9\"";
  EXPECT_EQ(graph_to_text(x * 2.0, {{odd, x}}), "%0 = leaf " + quoted + " (2,), requires grad\n%1 = scale(" + quoted +
                                                    ") -> (2,)\noutput %1: 1 op, 1 leaf, 2 numbers that require a "
                                                    "gradient\n");
  EXPECT_NE(graph_to_text(x * 2.0, {{"", x}}).find("leaf \"\" (2,)"), std::string::npos);
  EXPECT_NE(graph_to_dot(x * 2.0, {{odd, x}}).find("n0 [label=\"a \\\"b\\\"\\\\\\\\x0a\\\\x7f\xc3\xa9\\n(2,)\""),
            std::string::npos);
}

TEST(GraphText, Errors) {
  const V x = leaf({2}), z = leaf({2});
  const V y = x * z;
  EXPECT_THROWS(std::invalid_argument, graph_to_text(y, {{"x", x}, {"x", z}}),
                "[graph] two Variables are named \"x\"; give each its own name");
  EXPECT_THROWS(std::invalid_argument, graph_to_dot(y, {{"x", x}, {"x", z}}), "[graph] two Variables");
  graph_to_text(y, {{"x", x}, {"x", x}, {"again", x}});
  EXPECT_THROWS(GraphError, graph_to_text(y, {{"x", V()}}), "[graph] the Variable named \"x\" is undefined");
  EXPECT_THROWS(GraphError, graph_to_text(V()), "[Variable] this handle is undefined");
  EXPECT_THROWS(GraphError, graph_to_dot(V()), "[Variable] this handle is undefined");
}

// --- DOT --------------------------------------------------------------------

/// c (constant) and w make h, which goes three ways.
struct Example {
  V w = leaf({4, 3}), c{ones<double>({2, 4})};
  V h = xgrad::matmul(c, w) * 2.0;
  V y = xgrad::matmul(c, xgrad::sum_to(h, Shape{1, 3}) * w) + h - h;
};

TEST(GraphDot, WholeText) {
  const V w = leaf({4, 3}), c(ones<double>({2, 4}));
  const V a = xgrad::matmul(c, w), b = xgrad::matmul(c, w);
  EXPECT_EQ(graph_to_dot(a / b, {{"w", w}}), R"dot(digraph xgrad {
  rankdir=TB;
  node [shape=box, fontname="Helvetica", fontsize=11];
  edge [fontname="Helvetica", fontsize=9];
  n0 [label="w\n(4, 3)", shape=ellipse, style=filled, fillcolor=lightblue];
  n1 [label="matmul\n(2, 3)"];
  c0 [label="constant\n(2, 4)", shape=ellipse, style=dashed, color=gray50, fontcolor=gray30];
  c0 -> n1 [label="0"];
  n0 -> n1 [label="1"];
  n2 [label="matmul\n(2, 3)"];
  c0 -> n2 [label="0"];
  n0 -> n2 [label="1"];
  n3 [label="div\n(2, 3)", peripheries=2];
  n1 -> n3 [label="0"];
  n2 -> n3 [label="1"];
}
)dot");
}

TEST(GraphDot, ConstantAlone) {
  EXPECT_NE(graph_to_dot(V(2.0)).find("  c0 [label=\"constant\\n()\","), std::string::npos);
}

/// Runs Graphviz on a graph and returns its plain output: a line "node NAME ..." or "edge FROM TO ..." for each.
std::string rendered(const std::string& dot, const Folder& folder) {
  const std::string in = folder / "graph.dot", out = folder / "graph.txt", errors = folder / "errors.txt";
  put_bytes(in, dot);
  const std::string command = "dot -Tplain '" + in + "' -o '" + out + "' 2> '" + errors + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(bytes_of(errors), "");
  return bytes_of(out);
}

TEST(GraphDot, GraphvizReadsIt) {
  if (std::system("dot -V > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "Graphviz is not installed (apt-get install graphviz); the other tests compare the text";
  const Folder folder;
  const Example e;
  const std::string name = "w \"{|}\" \\N <b> \n\x01";
  std::istringstream lines(rendered(graph_to_dot(e.y, {{name, e.w}}), folder));
  std::map<std::string, std::string> nodes;
  std::multiset<std::string> edges;
  for (std::string line, kind, a, b; std::getline(lines, line);) {
    std::istringstream words(line);
    words >> kind >> a >> b;
    if (kind == "node") nodes[a] = line;
    if (kind == "edge") edges.insert(a + ' ' + b);
  }
  EXPECT_EQ(nodes.size(), 9u);
  EXPECT_NE(nodes["n0"].find("w \\\"{|}\\\" \\\\N <b> \\\\x0a\\\\x01\\n(4, 3)"), std::string::npos) << nodes["n0"];
  EXPECT_EQ(edges, (std::multiset<std::string>{"c0 n1", "n0 n1", "n1 n2", "n2 n3", "n3 n4", "n0 n4", "c0 n5", "n4 n5",
                                               "n5 n6", "n2 n6", "n6 n7", "n2 n7"}));
}

}  // namespace
