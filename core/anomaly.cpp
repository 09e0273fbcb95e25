#include "anomaly.hpp"

#include <deque>
#include <unordered_set>

namespace xgrad {

using detail::Survey;

namespace {
constexpr std::size_t kShown = 6;  // inputs described in a message
}

DetectAnomaly::DetectAnomaly(AnomalyOptions options) : options_(options), outer_(detail::set_watcher(this)) {}
DetectAnomaly::~DetectAnomaly() { detail::set_watcher(outer_); }

/// An input of the op in question, as far as it is known.
template <class T>
struct DetectAnomaly::Operand {
  Operand(const Variable<T>& x) : shape(x.shape()), value(x.shared_value().get()), node(x.node().get()) {}
  Operand(const Edge<T>& edge) : shape(edge.shape), value(edge.saved.get()), node(edge.node.get()) {
    if (!value && leaf()) value = leaf()->value.get();
  }

  std::string kind() const {
    return !node    ? "a constant"
           : leaf() ? "a leaf"
                    : std::string("a result of ") + node->name + " made without the guard";
  }
  const Leaf<T>* leaf() const { return node ? node->as_leaf() : nullptr; }

  Shape shape;
  const detail::Value<T>* value;  // nullptr when it was not saved
  Node<T>* node;
};

std::string DetectAnomaly::name_of(const Counted* value) const {
  for (const DetectAnomaly* guard = this; guard; guard = guard->outer_)
    for (const auto& [parameter, name] : guard->parameters_)
      if (parameter.get() == value) return name;
  return "";
}

bool DetectAnomaly::has_names() const { return !parameters_.empty() || (outer_ && outer_->has_names()); }

/// "; input 0 of shape (4, 3), from 0 to 1; ...; nearest parameter: ffn.linear1.bias".
template <class T>
std::string DetectAnomaly::context(const std::vector<Operand<T>>& operands) const {
  detail::Text out;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i == kShown) {
      out << "; and " << operands.size() - i << " more inputs";
      break;
    }
    const Operand<T>& x = operands[i];
    const std::string name = name_of(x.value);
    out << "; input " << i;
    if (!name.empty()) out << ", " << name << ',';
    out << " of shape " << to_string(x.shape) << ", "
        << (x.value ? detail::range_text(Survey<T>(x.value->array)) : "not saved");
  }
  if (!has_names()) return out.str() + "; DetectAnomaly guard(model) names the nearest parameter";

  std::deque<Operand<T>> pending(operands.begin(), operands.end());
  std::unordered_set<const Node<T>*> seen;
  for (; !pending.empty(); pending.pop_front()) {
    const Operand<T>& x = pending.front();
    const std::string name = name_of(x.value);
    if (!name.empty()) return out.str() + "; nearest parameter: " + name;
    if (!x.node || !seen.insert(x.node).second) continue;
    const Node<T>& node = *x.node;
    for (const Edge<T>& edge : node.edges) pending.emplace_back(edge);
  }
  return out.str() + "; no parameter of the module is before it";
}

namespace {

template <class T>
std::string fault(const Survey<T>& seen) {
  return "that of shape " + to_string(seen.shape) + " is " + detail::first_bad(seen) + ", " + std::to_string(seen.bad) +
         " of " + detail::count_text(seen.size, "entry", "entries") + " not finite";
}

}  // namespace

template <class T>
void DetectAnomaly::check_value(const char* op, const detail::Inputs<T>& inputs, const Array<T>& value) const {
  if (detail::all_finite(value)) return;
  const Survey<T> seen(value, options_.allow_negative_infinity);
  if (seen.bad == 0) return;
  const std::vector<Operand<T>> operands(inputs.begin(), inputs.end());
  std::string cause;
  for (std::size_t i = 0; i < operands.size() && cause.empty(); ++i)
    if (Survey<T>(operands[i].value->array, options_.allow_negative_infinity).bad > 0)
      cause = "; it came in with input " + std::to_string(i) + ", " + operands[i].kind();
  if (cause.empty()) cause = "; it arose here";
  if (seen.all_negative_infinity) cause += " (if it is a mask, set AnomalyOptions::allow_negative_infinity)";
  fail<AnomalyError>(op, "forward: the value must be finite but ", fault(seen), cause, context(operands));
}

template <class T>
void DetectAnomaly::check_seed(const char* op, const Array<T>& seed) const {
  if (!detail::all_finite(seed))
    fail<AnomalyError>("backward", "the seed gradient of ", op, " must be finite but ", fault(Survey<T>(seed)));
}

template <class T>
void DetectAnomaly::check_gradient(const Node<T>& node, std::size_t i, const Array<T>& gradient,
                                   const Survey<T>& upstream, bool summed) const {
  if (detail::all_finite(gradient)) return;
  const std::vector<Operand<T>> operands(node.edges.begin(), node.edges.end());
  detail::Text text;
  text << "backward: the gradient of input " << i;
  for (std::size_t k = i + 1; k < operands.size(); ++k)
    if (operands[k].node == operands[i].node) text << " and " << k << " (the same Variable)";
  if (summed) text << ", added to what later ops gave it,";
  text << " must be finite but " << fault(Survey<T>(gradient)) << "; the gradient of the output, of shape "
       << to_string(upstream.shape) << ", is " << detail::range_text(upstream);
  if (node.saved_output) text << "; the output, " << detail::range_text(Survey<T>(node.saved_output->array));
  fail<AnomalyError>(node.name, text.str(), context(operands));
}

#define XGRAD_INSTANTIATE(T)                                                                                        \
  template void DetectAnomaly::check_value(const char*, const detail::Inputs<T>&, const Array<T>&) const;           \
  template void DetectAnomaly::check_seed(const char*, const Array<T>&) const;                                      \
  template void DetectAnomaly::check_gradient(const Node<T>&, std::size_t, const Array<T>&, const Survey<T>&, bool) \
      const;
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
