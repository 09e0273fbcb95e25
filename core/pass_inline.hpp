// One run of a backward pass through a graph; included by backward.cpp alone.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include "accumulate.hpp"
#include "anomaly.hpp"
#include "record.hpp"

namespace xgrad {

/// A number for each pass of the process, of whatever T and G: they mark the same nodes.
inline std::uint64_t next_pass() {
  static std::atomic<std::uint64_t> passes{0};
  return passes.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// One run through a graph, G being what gradients are made of: arrays, or Variables when their graph is wanted.
/// First collects and checks, then runs the derivatives from the newest node to the oldest.
template <class T, class G>
class Pass {
 public:
  /// A gradient on its way. In a block of its own, since few live at a time: the pool hands out the same warm ones.
  class Gradient {
   public:
    explicit Gradient(G&& g) : own_(std::move(g)) {}
    explicit Gradient(const G* lent) : lent_(lent) {}
    static void* operator new(std::size_t bytes) { return memory::allocate(bytes); }
    static void operator delete(void* p, std::size_t bytes) noexcept { memory::deallocate(p, bytes); }

    const G& get() const { return lent_ ? *lent_ : own_; }
    G& own() {
      if (lent_) own_ = *std::exchange(lent_, nullptr);
      return own_;
    }

   private:
    G own_;
    const G* lent_ = nullptr;  // a seed, which is the caller's: copied when it is to be changed, kept or handed on
  };

  struct Slot {
    Node<T>* node;
    Shared<Node<T>> owner;  // unless the graph is retained, the last user to go leaves the node to its slot
    std::unique_ptr<Gradient> grad;
    std::size_t edges = 0;  // where its entries in parents_ begin
    bool keep = false;      // its gradient is asked for
    bool leads = false;     // to a slot that is kept
  };

  /// `oldest`: nodes with smaller numbers cannot lead to what is asked for and are not visited.
  Pass(const detail::Inputs<T>& outputs, std::uint64_t oldest) : oldest_(oldest) { collect(outputs); }

  /// The slot of a node, or nullptr when the pass does not visit it.
  Slot* find(const Node<T>& node) {
    const std::ptrdiff_t i = index_of(node);
    return i >= 0 ? &slots_[static_cast<std::size_t>(i)] : nullptr;
  }

  detail::PoolVector<Slot>& slots() { return slots_; }

  /// Marks the nodes that lead to one that is kept, and checks that their derivatives can run.
  void check() {
    parents_.reserve(edges_);
    for (std::size_t i = slots_.size(); i-- > 0;) {
      Slot& slot = slots_[i];
      slot.edges = parents_.size();
      for (const Edge<T>& edge : slot.node->edges) {
        std::ptrdiff_t parent = edge.node ? index_of(*edge.node) : -1;
        if (parent >= 0) {
          const Slot& p = slots_[static_cast<std::size_t>(parent)];
          if (!p.keep && !p.leads) parent = -1;
        }
        parents_.push_back(parent);
        slot.leads = slot.leads || parent >= 0;
      }
      if (ids_[i] > oldest_) check_saved(*slot.node, slot.leads);
    }
  }

  /// `g` must last until the derivative of `output` has run. It may be the gradient of a leaf or lie in a value that
  /// only the graph holds, so nothing refers to it when leaves change or nodes are dropped.
  void seed(const Variable<T>& output, const G& g) {
    if (watcher_) watcher_->check_seed(output.op(), detail::array_of(g));
    Slot& slot = *find(*output.node());
    if (slot.grad) add(slot, g);
    else slot.grad.reset(new Gradient(&g));
  }

  void run(bool retain_graph) {
    for (Slot& slot : slots_) {
      if (!slot.leads || !slot.grad) continue;
      if (watcher_) derive_watched(slot);
      else derive(slot);
      if (!slot.keep) slot.grad = nullptr;
      if (!retain_graph) drop(slot);
    }
  }

  void give(const BackwardBase<T, G>& b, std::size_t i, G&& g) {
    given_[i] = true;
    accumulate(slots_[static_cast<std::size_t>(b.slots_[i])], std::move(g));
  }
  /// The upstream gradient itself, unchanged: copied at the end, or moved when nobody else needs it.
  void forward(std::size_t i) {
    given_[i] = true;
    forwarded_.push_back(i);
  }
  /// The gradient of input i as a buffer to add into, zero at first.
  Array<T>& buffer(const BackwardBase<T, G>& b, std::size_t i) {
    given_[i] = true;
    Slot& slot = slots_[static_cast<std::size_t>(b.slots_[i])];
    if (!slot.grad) accumulate(slot, zeros<T>(b.shape(i)));
    return slot.grad->own();
  }

 private:
  void collect(const detail::Inputs<T>& outputs) {
    using Entry = std::pair<std::uint64_t, Node<T>*>;
    detail::PoolVector<Entry> pending;
    const std::uint64_t number = next_pass();
    const auto push = [&](Node<T>* node) {
      if (node->id < oldest_ || node->seen_by.load(std::memory_order_relaxed) == number) return;
      node->seen_by.store(number, std::memory_order_relaxed);
      pending.emplace_back(node->id, node);
      std::push_heap(pending.begin(), pending.end());
    };
    for (const Variable<T>& output : outputs) push(output.node().get());
    // Creation numbers order the graph: the pending node made last has no user left. (A pass of another thread may make
    // one come twice; its copies follow one another.)
    while (!pending.empty()) {
      std::pop_heap(pending.begin(), pending.end());
      const auto [id, node] = pending.back();
      pending.pop_back();
      if (!ids_.empty() && ids_.back() == id) continue;
      node->slot_hint.store(static_cast<std::uint32_t>(slots_.size()), std::memory_order_relaxed);
      ids_.push_back(id);
      slots_.emplace_back().node = node;
      edges_ += node->edges.size();
      for (const Edge<T>& edge : node->edges)
        if (edge.node) push(edge.node.get());
    }
    for (const Variable<T>& output : outputs)
      if (Slot* slot = find(*output.node())) slot->owner = output.node();
  }

  /// Where a node stands in slots_, or -1. A pass of another thread through a shared leaf may have moved the hint.
  std::ptrdiff_t index_of(const Node<T>& node) const {
    const std::size_t hint = node.slot_hint.load(std::memory_order_relaxed);
    if (hint < ids_.size() && ids_[hint] == node.id) return static_cast<std::ptrdiff_t>(hint);
    const auto at = std::lower_bound(ids_.begin(), ids_.end(), node.id, std::greater<std::uint64_t>());
    return at != ids_.end() && *at == node.id ? at - ids_.begin() : -1;
  }

  static void check_saved(const Node<T>& node, bool leads) {
    if (node.released)  // what it led to can't be known any more
      fail<GraphError>("backward", "the graph through ", node.name,
                       " was freed by an earlier pass; pass retain_graph to that pass to go through it again");
    if (!leads) return;
    for (std::size_t i = 0; i < node.edges.size(); ++i) {
      const Edge<T>& edge = node.edges[i];
      if (edge.saved && edge.saved->version != edge.version)
        fail<GraphError>("backward", "input ", i, " of ", node.name, ", ",
                         edge.node ? (edge.node->is_leaf ? "a leaf" : "a result") : "a constant", " of shape ",
                         to_string(edge.shape), ", changed after use; call backward() before step()");
    }
    if (node.saved_output && node.saved_output->version != node.output_version)
      fail<GraphError>("backward", "the output of ", node.name, ", of shape ",
                       to_string(node.saved_output->array.shape()), ", changed after use");
  }

  void derive(Slot& slot) {
    const Node<T>& node = *slot.node;
    const std::ptrdiff_t* parents = parents_.data() + slot.edges;
    given_.assign(node.edges.size(), false);
    forwarded_.clear();
    std::conditional_t<std::is_same_v<G, Array<T>>, ArrayBackward<T>, GraphBackward<T>> b(*this, *slot.node,
                                                                                          slot.grad->get(), parents);
    node.derive(b);
    for (std::size_t i = 0; i < given_.size(); ++i)
      if (parents[i] >= 0 && !given_[i])
        fail<GraphError>("backward", "the derivative of ", node.name, " gave nothing for input ", i,
                         ", which needs a gradient; call b.add(", i, ", ...), with zeros if that is the derivative");
    for (std::size_t k = 0; k < forwarded_.size(); ++k) {
      Slot& parent = slots_[static_cast<std::size_t>(parents[forwarded_[k]])];
      if (parent.grad) {
        add(parent, slot.grad->get());
      } else if (k + 1 == forwarded_.size() && !slot.keep) {
        slot.grad->own();
        parent.grad = std::move(slot.grad);
        break;
      } else {
        accumulate(parent, G(slot.grad->get()));
      }
    }
  }

  /// derive() under DetectAnomaly. What came before was finite, so a gradient that is not arose here.
  void derive_watched(Slot& slot) {
    const detail::Unwatched pause;
    const detail::Survey<T> upstream(detail::array_of(slot.grad->get()));
    const auto parent = [&](std::size_t i) -> Slot* {
      const std::ptrdiff_t at = parents_[slot.edges + i];
      return at >= 0 ? &slots_[static_cast<std::size_t>(at)] : nullptr;
    };
    const std::size_t inputs = slot.node->edges.size();
    std::vector<bool> summed;
    for (std::size_t i = 0; i < inputs; ++i) summed.push_back(parent(i) && parent(i)->grad);
    derive(slot);
    for (std::size_t i = 0; i < inputs; ++i)
      if (parent(i))
        watcher_->check_gradient(*slot.node, i, detail::array_of(parent(i)->grad->get()), upstream, summed[i]);
  }

  /// Frees what the node held. Its parents pass to their slots, for their turn.
  void drop(Slot& slot) {
    for (std::size_t i = 0; i < slot.node->edges.size(); ++i) {
      const std::ptrdiff_t parent = parents_[slot.edges + i];
      if (parent >= 0) slots_[static_cast<std::size_t>(parent)].owner = std::move(slot.node->edges[i].node);
    }
    slot.node->drop();
    slot.owner = nullptr;
  }

  static void accumulate(Slot& slot, G&& g) {
    if (slot.grad) add(slot, g);
    else slot.grad.reset(new Gradient(std::move(g)));
  }
  static void add(Slot& slot, const G& g) {
    if constexpr (std::is_same_v<G, Array<T>>) add_in_place(slot.grad->own(), g);
    else slot.grad->own() = slot.grad->get() + g;
  }

  const std::uint64_t oldest_;
  const DetectAnomaly* const watcher_ = detail::watcher();
  std::size_t edges_ = 0;                       // of all nodes together
  detail::PoolVector<std::uint64_t> ids_;       // newest node first
  detail::PoolVector<Slot> slots_;              // of the same nodes
  detail::PoolVector<std::ptrdiff_t> parents_;  // for each edge of each node: a slot, or -1 when no gradient is wanted
  detail::PoolVector<char> given_;
  detail::PoolVector<std::size_t> forwarded_;
};

}  // namespace xgrad
