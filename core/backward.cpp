#include "backward.hpp"

#include <algorithm>
#include <functional>

#include "accumulate.hpp"
#include "anomaly.hpp"
#include "record.hpp"

namespace xgrad {

namespace {

std::uint64_t next_pass() {
  static std::atomic<std::uint64_t> passes{0};
  return passes.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

/// One run through a graph, G being what gradients are made of: arrays, or Variables when their graph is wanted.
/// First collects and checks, then runs the derivatives from the newest node to the oldest.
template <class T, class G>
class Pass {
 public:
  struct Slot {
    Shared<Node<T>> node;  // let go once it has been passed through, unless the graph is retained
    std::optional<G> grad;
    std::size_t edges = 0;  // where its entries in parents_ begin
    bool keep = false;      // its gradient is asked for
    bool leads = false;     // to a slot that is kept
  };

  /// `oldest`: nodes with smaller numbers cannot lead to what is asked for and are not visited.
  Pass(const std::vector<Variable<T>>& outputs, std::uint64_t oldest) : oldest_(oldest) { collect(outputs); }

  /// The slot of a node, or nullptr when the pass does not visit it.
  Slot* find(const Node<T>& node) {
    const std::ptrdiff_t i = index_of(node);
    return i >= 0 ? &slots_[static_cast<std::size_t>(i)] : nullptr;
  }

  detail::PoolVector<Slot>& slots() { return slots_; }

  /// Marks the nodes that lead to one that is kept, and checks that their derivatives can run.
  void check() {
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

  void seed(const Variable<T>& output, G&& g) {
    if (watcher_) watcher_->check_seed(output.op(), array_of(g));
    accumulate(*find(*output.node()), std::move(g));
  }

  void run(bool retain_graph) {
    for (Slot& slot : slots_) {
      if (!slot.leads || !slot.grad) continue;
      Node<T>& node = *slot.node;
      if (watcher_) derive_watched(slot, node);
      else derive(slot, node);
      if (!slot.keep) slot.grad.reset();
      if (retain_graph) continue;
      node.drop();
      slot.node = nullptr;
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
    std::optional<G>& g = slots_[static_cast<std::size_t>(b.slots_[i])].grad;
    if (!g) g = zeros<T>(b.shape(i));
    return *g;
  }

 private:
  void collect(const std::vector<Variable<T>>& outputs) {
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
      node->slot_hint.store(slots_.size(), std::memory_order_relaxed);
      ids_.push_back(id);
      slots_.emplace_back();
      slots_.back().node = Shared<Node<T>>(node);
      for (const Edge<T>& edge : node->edges)
        if (edge.node) push(edge.node.get());
    }
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
                         edge.node ? (edge.node->as_leaf() ? "a leaf" : "a result") : "a constant", " of shape ",
                         to_string(edge.shape), ", changed after use; call backward() before step()");
    }
    if (node.saved_output && node.saved_output->version != node.output_version)
      fail<GraphError>("backward", "the output of ", node.name, ", of shape ",
                       to_string(node.saved_output->array.shape()), ", changed after use");
  }

  void derive(Slot& slot, Node<T>& node) {
    const std::ptrdiff_t* parents = parents_.data() + slot.edges;
    given_.assign(node.edges.size(), false);
    forwarded_.clear();
    std::conditional_t<std::is_same_v<G, Array<T>>, ArrayBackward<T>, GraphBackward<T>> b(*this, node, *slot.grad,
                                                                                          parents);
    node.derive(b);
    for (std::size_t i = 0; i < given_.size(); ++i)
      if (parents[i] >= 0 && !given_[i])
        fail<GraphError>("backward", "the derivative of ", node.name, " gave nothing for input ", i,
                         ", which needs a gradient; call b.add(", i, ", ...), with zeros if that is the derivative");
    for (std::size_t k = 0; k < forwarded_.size(); ++k) {
      Slot& parent = slots_[static_cast<std::size_t>(parents[forwarded_[k]])];
      if (k + 1 == forwarded_.size() && !slot.keep) accumulate(parent, std::move(*slot.grad));
      else accumulate(parent, G(*slot.grad));
    }
  }

  /// derive() under DetectAnomaly. What came before was finite, so a gradient that is not arose here.
  void derive_watched(Slot& slot, Node<T>& node) {
    const detail::Unwatched pause;
    const detail::Survey<T> upstream(array_of(*slot.grad));
    const auto gradient = [&](std::size_t i) -> std::optional<G>* {
      const std::ptrdiff_t parent = parents_[slot.edges + i];
      return parent >= 0 ? &slots_[static_cast<std::size_t>(parent)].grad : nullptr;
    };
    std::vector<bool> summed;
    for (std::size_t i = 0; i < node.edges.size(); ++i) summed.push_back(gradient(i) && *gradient(i));
    derive(slot, node);
    for (std::size_t i = 0; i < node.edges.size(); ++i)
      if (gradient(i)) watcher_->check_gradient(node, i, array_of(**gradient(i)), upstream, summed[i]);
  }

  static const Array<T>& array_of(const Array<T>& g) { return g; }
  static const Array<T>& array_of(const Variable<T>& g) { return g.value(); }

  static void accumulate(Slot& slot, G&& g) {
    if (!slot.grad) slot.grad = std::move(g);
    else if constexpr (std::is_same_v<G, Array<T>>) add_in_place(*slot.grad, g);
    else slot.grad = *slot.grad + g;
  }

  const std::uint64_t oldest_;
  const DetectAnomaly* const watcher_ = detail::watcher();
  detail::PoolVector<std::uint64_t> ids_;       // newest node first
  detail::PoolVector<Slot> slots_;              // of the same nodes
  detail::PoolVector<std::ptrdiff_t> parents_;  // for each edge of each node: a slot, or -1 when no gradient is wanted
  detail::PoolVector<char> given_;
  detail::PoolVector<std::size_t> forwarded_;
};

template <class T, class G>
void BackwardBase<T, G>::no_input(std::size_t i) const {
  fail<GraphError>("backward", "the derivative of ", node_.name, " names input ", i, " but the op has ",
                   node_.edges.size());
}

template <class T, class G>
void BackwardBase<T, G>::check(std::size_t i, const Shape& got) const {
  if (i >= node_.edges.size()) no_input(i);
  if (got != shape(i))
    fail<ShapeError>("backward", "the derivative of ", node_.name, " gives input ", i, " of shape ",
                     to_string(shape(i)), " a gradient of shape ", to_string(got),
                     "; sum over what was broadcast with b.add_summed");
}

template <class T, class G>
const detail::Value<T>& BackwardBase<T, G>::saved_input(std::size_t i) const {
  if (i >= node_.edges.size() || !node_.edges[i].saved)
    fail<GraphError>("backward", "the derivative of ", node_.name, " reads input ", i,
                     ", which was not saved; pass saves::inputs to record()");
  return *node_.edges[i].saved;
}

template <class T, class G>
const detail::Value<T>& BackwardBase<T, G>::saved_output() const {
  if (!node_.saved_output)
    fail<GraphError>("backward", "the derivative of ", node_.name,
                     " reads its output, which was not saved; pass saves::output to record()");
  return *node_.saved_output;
}

template <class T>
void ArrayBackward<T>::add(std::size_t i, Array<T>&& g) {
  this->check(i, g.shape());
  if (this->needs(i)) this->pass_.give(*this, i, std::move(g));
}

template <class T>
void ArrayBackward<T>::add(std::size_t i, const Array<T>& g) {
  this->check(i, g.shape());
  if (!this->needs(i)) return;
  if (&g == &this->grad_) this->pass_.forward(i);
  else this->pass_.give(*this, i, Array<T>(g));
}

template <class T>
void ArrayBackward<T>::add_summed(std::size_t i, Array<T>&& g) {
  if (!this->needs(i)) return;
  if (g.shape() == this->shape(i)) add(i, std::move(g));
  else add(i, xgrad::sum_to(g, this->shape(i)));
}

template <class T>
void ArrayBackward<T>::add_summed(std::size_t i, const Array<T>& g) {
  if (!this->needs(i)) return;
  if (g.shape() == this->shape(i)) add(i, g);
  else add(i, xgrad::sum_to(g, this->shape(i)));
}

template <class T>
void ArrayBackward<T>::add_at(std::size_t i, const Slices& region, const Array<T>& g) {
  if (this->needs(i)) add_to_slice(this->pass_.buffer(*this, i), region, g);
}

template <class T>
void ArrayBackward<T>::add_rows(std::size_t i, const Index& rows, const Array<T>& g) {
  if (this->needs(i)) xgrad::add_rows(this->pass_.buffer(*this, i), rows, g);
}

template <class T>
Variable<T> GraphBackward<T>::input(std::size_t i) const {
  this->saved_input(i);
  return Variable<T>(this->node_.edges[i].saved, this->node_.edges[i].node);
}

template <class T>
Variable<T> GraphBackward<T>::output() const {
  this->saved_output();
  return Variable<T>(this->node_.saved_output, Shared<Node<T>>(&this->node_));
}

template <class T>
void GraphBackward<T>::add(std::size_t i, const Variable<T>& g) {
  this->check(i, g.shape());
  if (this->needs(i)) this->pass_.give(*this, i, Variable<T>(g));
}

template <class T>
void GraphBackward<T>::add_summed(std::size_t i, const Variable<T>& g) {
  if (this->needs(i)) add(i, g.shape() == this->shape(i) ? g : xgrad::sum_to(g, this->shape(i)));
}

template <class T>
void GraphBackward<T>::add_at(std::size_t i, const Slices& region, const Variable<T>& g) {
  if (this->needs(i)) add(i, place(g, region, this->shape(i)));
}

template <class T>
void GraphBackward<T>::add_rows(std::size_t i, const Index& rows, const Variable<T>& g) {
  if (this->needs(i)) add(i, place_rows(g, rows, this->shape(i)));
}

// The twin is differentiated by copies of the inputs: were it differentiated by the inputs themselves, an input that
// another one was computed from would receive that path's share a second time.
template <class T>
std::vector<Variable<T>> GraphBackward<T>::open_inputs() const {
  std::vector<Variable<T>> copies;
  for (std::size_t i = 0; i < this->input_count(); ++i)
    copies.push_back(this->needs(i) ? identity(input(i)) : input(i).detach());
  return copies;
}

template <class T>
void GraphBackward<T>::close_twin(const std::vector<Variable<T>>& inputs, const Variable<T>& output) {
  std::vector<Variable<T>> wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (this->needs(i)) wanted.push_back(inputs[i]);
  const auto grads = xgrad::grad(std::vector<Variable<T>>{output}, wanted, {true, true, true}, {this->grad_});
  for (std::size_t i = 0, k = 0; i < inputs.size(); ++i)
    if (this->needs(i)) add(i, grads[k++]);
}

namespace {

template <class T>
void check_output(const Variable<T>& output, bool seeded) {
  if (!seeded && output.size() != 1)
    fail<GraphError>("backward", "needs a scalar but got shape ", to_string(output.shape()),
                     "; reduce it (sum, mean) or pass a seed gradient");
  if (!output.requires_grad())
    fail<GraphError>("backward", "the output of shape ", to_string(output.shape()),
                     " depends on nothing that requires a gradient; was it computed under NoGrad, or from constants?");
}

template <class T>
void backward_from(const Variable<T>& output, Array<T> seed, bool retain_graph) {
  Pass<T, Array<T>> pass({output}, 0);
  for (auto& slot : pass.slots()) {
    const Leaf<T>* leaf = slot.node->as_leaf();
    slot.keep = leaf && leaf->requires_grad;
  }
  pass.check();
  pass.seed(output, std::move(seed));
  pass.run(retain_graph);
  // Only now, when no derivative can throw any more, do the leaves change.
  for (auto& slot : pass.slots()) {
    if (!slot.keep || !slot.grad) continue;
    std::optional<Array<T>>& g = slot.node->as_leaf()->grad;
    if (g) add_in_place(*g, *slot.grad);
    else g = std::move(slot.grad);
  }
}

template <class T, class G>
std::vector<Variable<T>> gradients(const std::vector<Variable<T>>& outputs, const std::vector<Variable<T>>& inputs,
                                   const GradOptions& options, const std::vector<Variable<T>>& seeds) {
  std::uint64_t oldest = ~std::uint64_t{0};
  for (const Variable<T>& input : inputs) oldest = std::min(oldest, input.node()->id);
  Pass<T, G> pass(outputs, oldest);
  for (const Variable<T>& input : inputs)
    if (auto* slot = pass.find(*input.node())) slot->keep = true;
  pass.check();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!options.allow_unused && !pass.find(*inputs[i].node()))
      fail<GraphError>("grad", "no output depends on input ", i, " of shape ", to_string(inputs[i].shape()),
                       "; pass allow_unused for zeros");
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Variable<T> seed = seeds.empty() ? Variable<T>(ones<T>(outputs[k].shape())) : seeds[k];
    if (!pass.find(*outputs[k].node())) continue;  // older than every input
    if constexpr (std::is_same_v<G, Array<T>>) pass.seed(outputs[k], Array<T>(seed.value()));
    else pass.seed(outputs[k], Variable<T>(seed));
  }
  pass.run(options.retain_graph || options.create_graph);
  std::vector<Variable<T>> result;
  for (const Variable<T>& input : inputs) {
    const auto* slot = pass.find(*input.node());
    result.push_back(slot && slot->grad ? Variable<T>(*slot->grad) : Variable<T>(zeros<T>(input.shape())));
  }
  return result;
}

}  // namespace

template <class T>
std::vector<Variable<T>> grad(const std::vector<Variable<T>>& outputs, const std::vector<Variable<T>>& inputs,
                              const GradOptions& options, const std::vector<Variable<T>>& seeds) {
  if (outputs.empty()) fail<GraphError>("grad", "needs at least one output");
  if (!seeds.empty() && seeds.size() != outputs.size())
    fail<GraphError>("grad", "needs one seed for each of ", outputs.size(), " outputs but got ", seeds.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    check_output(outputs[k], !seeds.empty());
    if (!seeds.empty()) check_shape("grad", "a seed", outputs[k].shape(), seeds[k].shape());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].requires_grad())
      fail<GraphError>("grad", "input ", i, " of shape ", to_string(inputs[i].shape()), " is ", inputs[i].op(),
                       " and requires no gradient; make it with Variable(array, true)");
  if (inputs.empty()) return {};
  if (!options.create_graph) return gradients<T, Array<T>>(outputs, inputs, options, seeds);
  const detail::Recording on;
  return gradients<T, Variable<T>>(outputs, inputs, options, seeds);
}

template <class T>
void Variable<T>::backward(bool retain_graph) const {
  check_output(*this, false);
  backward_from(*this, ones<T>(shape()), retain_graph);
}

template <class T>
void Variable<T>::backward(const Array<T>& seed, bool retain_graph) const {
  check_output(*this, true);
  check_shape("backward", "the seed gradient", shape(), seed.shape());
  backward_from(*this, seed, retain_graph);
}

#define XGRAD_INSTANTIATE(T)                                                                               \
  template class BackwardBase<T, Array<T>>;                                                                \
  template class BackwardBase<T, Variable<T>>;                                                             \
  template class ArrayBackward<T>;                                                                         \
  template class GraphBackward<T>;                                                                         \
  template std::vector<Variable<T>> grad(const std::vector<Variable<T>>&, const std::vector<Variable<T>>&, \
                                         const GradOptions&, const std::vector<Variable<T>>&);             \
  template void Variable<T>::backward(bool) const;                                                         \
  template void Variable<T>::backward(const Array<T>&, bool) const;
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
