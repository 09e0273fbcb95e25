// What a graph is made of: values, edges, nodes, leaves. For the engine; users meet Variable and record().
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "array.hpp"
#include "shared.hpp"

namespace xgrad {

template <class T>
class Node;
template <class T>
class Leaf;
template <class T>
class ArrayBackward;
template <class T>
class GraphBackward;

namespace detail {

/// A vector in pooled memory.
template <class X>
using PoolVector = std::vector<X, memory::Allocator<X>>;

template <class T>
struct Value final : Counted {
  explicit Value(Array<T>&& a) : array(std::move(a)) {}
  std::uint32_t version = 0;  // counts changes through Variable::mutate, so that backward can tell
  Array<T> array;
};

}  // namespace detail

/// One input of a node: where its gradient goes (nowhere for a constant), its shape, and its value if saved.
template <class T>
struct Edge {
  Shared<Node<T>> node;
  Shared<detail::Value<T>> saved;
  std::uint32_t version = 0;
  Shape shape;
};

/// One op application, or a leaf. It owns its parents and the values its derivative reads, and nothing owns a child.
template <class T>
class Node : public Counted {
 public:
  explicit Node(const char* name, bool leaf = false);
  ~Node() override;

  /// The derivative in an ordinary pass, and in a pass whose own graph is wanted.
  virtual void derive(ArrayBackward<T>& b) const = 0;
  virtual void derive(GraphBackward<T>& b) const = 0;
  /// Drops edges, saved values and whatever the derivative captured.
  virtual void drop();
  /// This as a leaf, nullptr for the result of an op.
  Leaf<T>* as_leaf() noexcept { return is_leaf ? static_cast<Leaf<T>*>(this) : nullptr; }

  // In this order, what collecting a graph reads of a node fits one cache line.
  const bool is_leaf;
  bool requires_grad = true;  // a leaf can be switched off
  bool released = false;
  const std::uint64_t id;  // creation order: parents have smaller numbers
  // What the last backward pass wrote here: hints, since passes of several threads may share a leaf.
  mutable std::atomic<std::uint64_t> seen_by{0};    // its number
  mutable std::atomic<std::uint32_t> slot_hint{0};  // where it put this node
  std::uint32_t output_version = 0;
  detail::PoolVector<Edge<T>> edges;
  Shared<detail::Value<T>> saved_output;
  const char* const name;
};

/// Where a leaf's gradient lands.
template <class T>
class Leaf final : public Node<T> {
 public:
  explicit Leaf(Shared<detail::Value<T>> v) : Node<T>("leaf", true), value(std::move(v)) {}
  void derive(ArrayBackward<T>&) const override {}
  void derive(GraphBackward<T>&) const override {}
  void drop() override {}

  Shared<detail::Value<T>> value;
  std::optional<Array<T>> grad;
};

}  // namespace xgrad
