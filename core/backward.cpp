#include "backward.hpp"

#include <algorithm>

#include "pass_inline.hpp"

namespace xgrad {

template <class T, class G>
void BackwardBase<T, G>::no_input(std::size_t i) const {
  fail<GraphError>("backward", "the derivative of ", node_.name, " names input ", i, " but the op has ",
                   node_.edges.size());
}

template <class T, class G>
void BackwardBase<T, G>::check(std::size_t i, const Shape& got) const {
  if (!same_shape(got, shape(i)))
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
  if (same_shape(g.shape(), this->shape(i))) add(i, std::move(g));
  else add(i, xgrad::sum_to(g, this->shape(i)));
}

template <class T>
void ArrayBackward<T>::add_summed(std::size_t i, const Array<T>& g) {
  if (!this->needs(i)) return;
  if (same_shape(g.shape(), this->shape(i))) add(i, g);
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
  if (this->needs(i)) add(i, same_shape(g.shape(), this->shape(i)) ? g : xgrad::sum_to(g, this->shape(i)));
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

/// `seed` says what to pass for an output that is no scalar; nullptr when that was done.
template <class T>
void check_output(const char* who, const Variable<T>& output, const char* seed) {
  if (seed && output.size() != 1)
    fail<GraphError>(who, "needs a scalar but got shape ", to_string(output.shape()),
                     "; reduce it (sum, mean) or pass ", seed);
  if (!output.requires_grad())
    fail<GraphError>(who, "the output of shape ", to_string(output.shape()),
                     " depends on nothing that requires a gradient; was it computed under NoGrad, or from constants?");
}

template <class T>
void backward_from(const Variable<T>& output, const Array<T>& seed, bool retain_graph) {
  Pass<T, Array<T>> pass({output}, 0);
  for (auto& slot : pass.slots()) {
    slot.keep = slot.node->is_leaf && slot.node->requires_grad;
  }
  pass.check();
  pass.seed(output, seed);
  pass.run(retain_graph);
  // Only now, when no derivative can throw any more, do the leaves change.
  for (auto& slot : pass.slots()) {
    if (!slot.keep || !slot.grad) continue;
    std::optional<Array<T>>& g = slot.node->as_leaf()->grad;
    if (g) add_in_place(*g, slot.grad->get());
    else g = std::move(slot.grad->own());
  }
}

template <class T, class G>
std::vector<Variable<T>> gradients(const std::vector<Variable<T>>& outputs, const std::vector<Variable<T>>& inputs,
                                   const GradOptions& options, std::vector<Variable<T>> seeds) {
  if (seeds.empty())
    for (const Variable<T>& output : outputs) seeds.emplace_back(ones<T>(output.shape()));
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
    if (!pass.find(*outputs[k].node())) continue;  // older than every input
    if constexpr (std::is_same_v<G, Array<T>>) pass.seed(outputs[k], seeds[k].value());
    else pass.seed(outputs[k], seeds[k]);
  }
  pass.run(options.retain_graph || options.create_graph);
  std::vector<Variable<T>> result;
  for (const Variable<T>& input : inputs) {
    const auto* slot = pass.find(*input.node());
    result.push_back(slot && slot->grad ? Variable<T>(slot->grad->get()) : Variable<T>(zeros<T>(input.shape())));
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
    check_output("grad", outputs[k], seeds.empty() ? "a seed for each output" : nullptr);
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
  check_output("backward", *this, "a seed gradient");
  backward_from(*this, ones<T>(shape()), retain_graph);
}

template <class T>
void Variable<T>::backward(const Array<T>& seed, bool retain_graph) const {
  check_output("backward", *this, nullptr);
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
