#include "variable.hpp"

#include <algorithm>
#include <limits>
#include <ostream>

#include "anomaly.hpp"
#include "record.hpp"

namespace xgrad {

// Trivial thread-locals, so that they work while other objects of the thread or the program are being destroyed.
namespace {
thread_local bool burying = false;
struct Mode {
  bool recording = true;
  const DetectAnomaly* watcher = nullptr;
};
thread_local Mode mode;
std::atomic<std::uint64_t> nodes_made{0};
std::atomic<std::uint64_t> nodes_gone{0};
}  // namespace

void Counted::bury() noexcept {
  static thread_local Counted* queue = nullptr;
  next_ = queue;
  queue = this;
  if (burying) return;
  burying = true;
  while (queue) {
    Counted* dead = queue;
    queue = dead->next_;
    delete dead;  // what it held may land in the queue
  }
  burying = false;
}

NoGrad::NoGrad() : before_(mode.recording) { mode.recording = false; }
NoGrad::~NoGrad() { mode.recording = before_; }
bool is_recording() noexcept { return mode.recording; }
std::size_t live_nodes() noexcept {
  const std::uint64_t gone = nodes_gone.load();  // first: then what is made meanwhile can't make it negative
  return static_cast<std::size_t>(nodes_made.load() - gone);
}

namespace detail {
Recording::Recording() : before_(mode.recording) { mode.recording = true; }
Recording::~Recording() { mode.recording = before_; }
const DetectAnomaly* watcher() noexcept { return mode.watcher; }
const DetectAnomaly* set_watcher(const DetectAnomaly* next) noexcept { return std::exchange(mode.watcher, next); }
}  // namespace detail

template <class T>
Node<T>::Node(const char* n, bool leaf)
    : is_leaf(leaf), id(nodes_made.fetch_add(1, std::memory_order_relaxed)), name(n) {}
template <class T>
Node<T>::~Node() {
  nodes_gone.fetch_add(1, std::memory_order_relaxed);
}
template <class T>
void Node<T>::drop() {
  released = true;
  detail::PoolVector<Edge<T>>().swap(edges);
  saved_output = nullptr;
}

template <class T>
Variable<T>::Variable(Array<T> value, bool requires_grad) : value_(new detail::Value<T>(std::move(value))) {
  if (requires_grad) node_ = Shared<Node<T>>(new Leaf<T>(value_));
}

template <class T>
const Array<T>& Variable<T>::value() const {
  if (!value_) fail<GraphError>("Variable", "this handle is undefined (default-constructed); assign a value first");
  return value_->array;
}

template <class T>
void Variable<T>::set_requires_grad(bool on) {
  value();
  if (!node_) {
    if (on) node_ = Shared<Node<T>>(new Leaf<T>(value_));
    return;
  }
  if (!node_->is_leaf)
    fail<GraphError>("set_requires_grad", "only a leaf can be switched but this is the result of ", node_->name,
                     "; use detach()");
  node_->requires_grad = on;
}

template <class T>
bool Variable<T>::is_leaf() const {
  return !node_ || node_->is_leaf;
}

template <class T>
const char* Variable<T>::op() const {
  return node_ ? node_->name : "constant";
}

template <class T>
Variable<T> Variable<T>::detach() const {
  value();
  return Variable(value_, nullptr);
}

template <class T>
Leaf<T>& Variable<T>::leaf(const char* who) const {
  Leaf<T>* found = node_ ? node_->as_leaf() : nullptr;
  if (!found)
    fail<GraphError>(
        who, "only a leaf that requires a gradient keeps one but this is ", node_ ? "the result of " : "a ", op(),
        node_ ? "; use xgrad::grad(output, input) for values in between" : "; make it with Variable(array, true)");
  return *found;
}

template <class T>
const Array<T>& Variable<T>::grad() const {
  const Leaf<T>& l = leaf("grad");
  if (!l.grad)
    fail<GraphError>("grad", "this leaf of shape ", to_string(shape()), " has no gradient; call backward() first");
  return *l.grad;
}

template <class T>
bool Variable<T>::has_grad() const {
  Leaf<T>* l = node_ ? node_->as_leaf() : nullptr;
  return l && l->grad;
}

template <class T>
void Variable<T>::zero_grad() {
  if (has_grad()) leaf("zero_grad").grad.reset();
}

template <class T>
void Variable<T>::set_grad(Array<T> g) {
  Leaf<T>& l = leaf("set_grad");
  check_shape("set_grad", "the gradient", shape(), g.shape());
  l.grad = std::move(g);
}

template <class T>
Array<T>& Variable<T>::grad_for_update() {
  grad();
  return *leaf("mutate_grad").grad;
}

template <class T>
Array<T>& Variable<T>::begin_mutation() {
  value();
  if (!is_leaf())
    fail<GraphError>("mutate", "values in a graph do not change and this is the result of ", op(),
                     "; mutate a leaf, or a detach()ed copy");
  ++value_->version;
  return value_->array;
}

/// False, and NaN of the old shape, when a change has left another shape: whoever pairs the numbers of a value, its
/// gradient and an optimizer's buffers may then rely on their shapes.
template <class T>
bool Variable<T>::keep_shape(Array<T>& a, const Shape& before) {
  if (&a != &value_->array && !has_grad()) return true;  // f dropped the gradient
  // An array that was moved from may keep its shape without its numbers.
  if (a.shape() == before && a.size() == element_count(before)) return true;
  a = full<T>(before, std::numeric_limits<T>::quiet_NaN());
  return false;
}

template <class T>
void Variable<T>::shape_changed(const char* who, const Shape& before, const Shape& after) {
  if (before == after) fail<ShapeError>(who, "the changed array must keep its numbers but they were moved away");
  fail<ShapeError>(who, "the changed array must have shape ", to_string(before), " but has shape ", to_string(after),
                   "; its numbers are NaN now");
}

template <class T>
std::vector<Variable<T>> leaves(const Variable<T>& output) {
  std::vector<Node<T>*> pending, seen;
  std::vector<Leaf<T>*> found;
  const auto older = [](const Node<T>* a, const Node<T>* b) { return a->id < b->id; };
  if (output.node()) pending.push_back(output.node().get());
  // The pending node made last comes first, so copies of a node follow one another.
  for (Node<T>* last = nullptr; !pending.empty();) {
    std::pop_heap(pending.begin(), pending.end(), older);
    Node<T>* node = pending.back();
    pending.pop_back();
    if (node == last) continue;
    last = node;
    if (node->is_leaf && node->requires_grad) found.push_back(node->as_leaf());
    for (const Edge<T>& edge : node->edges)
      if (edge.node) {
        pending.push_back(edge.node.get());
        std::push_heap(pending.begin(), pending.end(), older);
      }
  }
  std::vector<Variable<T>> result;
  for (auto leaf = found.rbegin(); leaf != found.rend(); ++leaf)
    result.emplace_back((*leaf)->value, Shared<Node<T>>(*leaf));
  return result;
}

namespace detail {

namespace {

template <class T>
[[gnu::always_inline]] inline bool any_tracked(const char* name, const Inputs<T>& inputs) {
  bool any = false;
  for (const Variable<T>& x : inputs) {
    if (!x.defined()) fail<GraphError>(name, "got an undefined Variable (default-constructed); assign a value first");
    any = any || x.requires_grad();
  }
  return any;
}

}  // namespace

template <class T>
bool tracks(const char* name, const Inputs<T>& inputs) {
  return any_tracked(name, inputs) && mode.recording;
}

template <class T>
bool tracks(const char* name, const Inputs<T>& inputs, const Array<T>& value) {
  const bool tracked = any_tracked(name, inputs) && mode.recording;
  if (__builtin_expect(mode.watcher != nullptr, 0)) mode.watcher->check_value(name, inputs, value);
  return tracked;
}

template <class T>
Variable<T> attach(Shared<Node<T>> node, const Inputs<T>& inputs, Saves keep, Shared<Value<T>> value) {
  node->edges.reserve(inputs.size());
  std::size_t i = 0;
  for (const Variable<T>& x : inputs) {
    Edge<T>& edge = node->edges.emplace_back();
    if (x.requires_grad()) edge.node = x.node();
    edge.shape = x.shape();
    if (keep.input(i++)) {
      edge.saved = x.shared_value();
      edge.version = edge.saved->version;
    }
  }
  if (keep.output()) {
    node->saved_output = value;
    node->output_version = value->version;
  }
  return Variable<T>(std::move(value), std::move(node));
}

}  // namespace detail

#define XGRAD_INSTANTIATE(T)                                                    \
  template class Node<T>;                                                       \
  template class Variable<T>;                                                   \
  template std::vector<Variable<T>> leaves(const Variable<T>&);                 \
  template bool detail::tracks(const char*, const Inputs<T>&);                  \
  template bool detail::tracks(const char*, const Inputs<T>&, const Array<T>&); \
  template Variable<T> detail::attach(Shared<Node<T>>, const Inputs<T>&, Saves, Shared<Value<T>>);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
