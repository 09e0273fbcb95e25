#include "graph.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace xgrad {

namespace {

template <class T>
using Names = std::vector<std::pair<std::string, Variable<T>>>;

bool is_plain(const std::string& name) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), plain);
}

/// Safe between double quotes: a backslash before backslashes and quotes, and control characters as \x1b. In DOT, where
/// a label goes through escapes of its own, their backslash is doubled.
std::string escaped(const std::string& text, const char* hex = "\\x") {
  static constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) result += hex + std::string{digits[code >> 4], digits[code & 15]};
    else if (c == '"' || c == '\\') result += {'\\', c};
    else result += c;
  }
  return result;
}

/// What leads to an output, in order of creation.
template <class T>
struct Graph {
  struct Entry {
    Node<T>* node;
    Shape shape;  // of its value
  };

  Graph(const Variable<T>& output, const Names<T>& given) {
    std::map<std::string, const void*> taken;
    for (const auto& [name, v] : given) {
      if (!v.defined()) fail<GraphError>("graph", "the Variable named \"", escaped(name), "\" is undefined");
      const void* value = v.shared_value().get();
      if (taken.emplace(name, value).first->second != value)
        fail<std::invalid_argument>("graph", "two Variables are named \"", escaped(name), "\"; give each its own name");
      names.emplace(value, name);
    }
    collect(output);
  }

  void collect(const Variable<T>& output) {
    const Shape& shape = output.shape();
    if (!output.node()) return;
    std::unordered_set<const Node<T>*> seen{output.node().get()};
    entries.push_back({output.node().get(), shape});
    for (std::size_t next = 0; next < entries.size(); ++next) {
      const Node<T>& node = *entries[next].node;
      for (const Edge<T>& edge : node.edges)
        if (edge.node && seen.insert(edge.node.get()).second) entries.push_back({edge.node.get(), edge.shape});
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.node->id < b.node->id; });
  }

  std::size_t number(const Node<T>& node) const {
    const auto at = std::lower_bound(entries.begin(), entries.end(), node.id,
                                     [](const Entry& entry, std::uint64_t id) { return entry.node->id < id; });
    return static_cast<std::size_t>(at - entries.begin());
  }
  const std::string* name(const detail::Value<T>* value) const {
    const auto found = names.find(value);
    return found == names.end() ? nullptr : &found->second;
  }

  std::vector<Entry> entries;
  std::unordered_map<const void*, std::string> names;  // by value, which copies of a handle share
};

std::string in_text(const std::string& name) { return is_plain(name) ? name : '"' + escaped(name) + '"'; }

}  // namespace

template <class T>
std::string graph_to_text(const Variable<T>& output, const Names<T>& names) {
  const Graph<T> graph(output, names);
  detail::Text out;
  const auto constant = [&](const detail::Value<T>* value, const Shape& shape) {
    const std::string* name = graph.name(value);
    out << "constant " << (name ? in_text(*name) + ' ' : "") << to_string(shape);
  };
  const auto refer = [&](const Edge<T>& edge) {
    if (!edge.node) return constant(edge.saved.get(), edge.shape);
    const Leaf<T>* leaf = edge.node->as_leaf();
    if (const std::string* name = leaf ? graph.name(leaf->value.get()) : nullptr) out << in_text(*name);
    else out << '%' << graph.number(*edge.node);
  };

  std::size_t leaves = 0, trained = 0;
  for (std::size_t i = 0; i < graph.entries.size(); ++i) {
    Node<T>& node = *graph.entries[i].node;
    out << '%' << i << " = ";
    if (const Leaf<T>* leaf = node.as_leaf()) {
      const std::string* name = graph.name(leaf->value.get());
      out << "leaf " << (name ? in_text(*name) + ' ' : "") << to_string(leaf->value->array.shape())
          << (leaf->requires_grad ? ", requires grad\n" : ", frozen\n");
      ++leaves;
      if (leaf->requires_grad) trained += leaf->value->array.size();
      continue;
    }
    out << escaped(node.name) << '(';
    for (std::size_t k = 0; k < node.edges.size(); ++k) {
      if (k) out << ", ";
      refer(node.edges[k]);
    }
    out << (node.released ? "freed) -> " : ") -> ") << to_string(graph.entries[i].shape) << '\n';
  }
  out << "output ";
  if (output.node()) out << '%' << graph.number(*output.node());
  else constant(output.shared_value().get(), output.shape());
  const std::size_t ops = graph.entries.size() - leaves;
  out << ": " << detail::count_text(ops, "op", "ops") << ", " << detail::count_text(leaves, "leaf", "leaves") << ", "
      << detail::count_text(trained, "number that requires", "numbers that require") << " a gradient\n";
  return out.str();
}

template <class T>
std::string graph_to_dot(const Variable<T>& output, const Names<T>& names) {
  const Graph<T> graph(output, names);
  detail::Text out;
  const auto label = [&](const std::string& title, const Shape& shape) {
    out << "[label=\"" << escaped(title, "\\\\x") << "\\n" << to_string(shape) << '"';
  };
  std::unordered_map<const detail::Value<T>*, std::size_t> shown;  // constants that were saved, by number
  std::size_t constants = 0;
  /// Declares a constant unless it was, and returns its number.
  const auto constant = [&](const detail::Value<T>* value, const Shape& shape) {
    if (const auto before = shown.find(value); value && before != shown.end()) return before->second;
    if (value) shown.emplace(value, constants);
    const std::string* name = graph.name(value);
    out << "  c" << constants << ' ';
    label(name ? *name : "constant", shape);
    out << ", shape=ellipse, style=dashed, color=gray50, fontcolor=gray30];\n";
    return constants++;
  };

  out << "digraph xgrad {\n  rankdir=TB;\n  node [shape=box, fontname=\"Helvetica\", fontsize=11];\n"
         "  edge [fontname=\"Helvetica\", fontsize=9];\n";
  for (std::size_t i = 0; i < graph.entries.size(); ++i) {
    const auto& [node, shape] = graph.entries[i];
    const bool last = node == output.node().get();
    out << "  n" << i << ' ';
    if (const Leaf<T>* leaf = node->as_leaf()) {
      const std::string* name = graph.name(leaf->value.get());
      label(name ? *name : "leaf", shape);
      out << (leaf->requires_grad ? ", shape=ellipse, style=filled, fillcolor=lightblue"
                                  : ", shape=ellipse, style=dashed, color=gray50, fontcolor=gray30");
    } else {
      label(node->released ? std::string(node->name) + " (freed)" : node->name, shape);
    }
    out << (last ? ", peripheries=2];\n" : "];\n");
    for (std::size_t k = 0; k < node->edges.size(); ++k) {
      const Edge<T>& edge = node->edges[k];
      const char kind = edge.node ? 'n' : 'c';
      const std::size_t from = edge.node ? graph.number(*edge.node) : constant(edge.saved.get(), edge.shape);
      out << "  " << kind << from << " -> n" << i;
      if (node->edges.size() > 1) out << " [label=\"" << k << "\"]";
      out << ";\n";
    }
  }
  if (!output.node()) constant(output.shared_value().get(), output.shape());
  out << "}\n";
  return out.str();
}

#define XGRAD_INSTANTIATE(T)                                               \
  template std::string graph_to_text(const Variable<T>&, const Names<T>&); \
  template std::string graph_to_dot(const Variable<T>&, const Names<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
