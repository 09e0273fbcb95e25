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
  Shared<Node<T>> node;            ///< The parent; null for a constant.
  Shared<detail::Value<T>> saved;  ///< The input's value, or null.
  std::uint32_t version = 0;       ///< Of that value when it was saved.
  Shape shape;                     ///< Of the input, kept even when its value is not.
};

/// One op application, or a leaf. It owns its parents and the values its derivative reads, and nothing owns a child.
template <class T>
class Node : public Counted {
 public:
  /// `name` must outlive the node: a string literal.
  explicit Node(const char* name, bool leaf = false);
  ~Node() override;

  /// The derivative in an ordinary pass, and in a pass whose own graph is wanted.
  /// @{
  virtual void derive(ArrayBackward<T>& b) const = 0;
  virtual void derive(GraphBackward<T>& b) const = 0;
  /// @}
  /// Drops edges, saved values and whatever the derivative captured.
  virtual void drop();
  /// This node as a leaf, or null.
  Leaf<T>* as_leaf() noexcept { return is_leaf ? static_cast<Leaf<T>*>(this) : nullptr; }

  // In this order, what collecting a graph reads of a node fits one cache line.
  const bool is_leaf;         ///< A leaf, not the result of an op.
  bool requires_grad = true;  ///< False for a leaf that was switched off.
  bool released = false;      ///< A backward pass has been here and dropped what it used.
  const std::uint64_t id;     ///< Creation order: parents have smaller numbers.
  /// What the last backward pass wrote here, its number and where it put this node: hints, since passes of several
  /// threads may share a leaf.
  /// @{
  mutable std::atomic<std::uint64_t> seen_by{0};
  mutable std::atomic<std::uint32_t> slot_hint{0};
  /// @}
  std::uint32_t output_version = 0;       ///< Of saved_output when it was saved.
  detail::PoolVector<Edge<T>> edges;      ///< One for each input.
  Shared<detail::Value<T>> saved_output;  ///< The op's value, or null.
  const char* const name;                 ///< Of the op.
};

/// Where a leaf's gradient lands.
template <class T>
class Leaf final : public Node<T> {
 public:
  /// A leaf with these numbers, which requires a gradient.
  explicit Leaf(Shared<detail::Value<T>> v) : Node<T>("leaf", true), value(std::move(v)) {}
  /// Nothing: here a pass ends.
  /// @{
  void derive(ArrayBackward<T>&) const override {}
  void derive(GraphBackward<T>&) const override {}
  void drop() override {}
  /// @}

  Shared<detail::Value<T>> value;  ///< The numbers, shared with every handle.
  std::optional<Array<T>> grad;    ///< What backward passes have added up; nothing before the first.
};

}  // namespace xgrad
