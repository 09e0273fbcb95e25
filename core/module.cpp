#include "module.hpp"

#include <map>
#include <set>

#include "aligned_inline.hpp"

namespace xgrad {

template <class T>
void Visitor<T>::operator()(const std::string& name, Module<T>& module) {
  const std::string outer = std::exchange(prefix_, path(name));
  on_module(prefix_, module);
  module.visit(*this);
  prefix_ = outer;
}

template <class T>
void Visitor<T>::operator()(const std::string& name, Variable<T>& parameter) {
  if (parameter.defined()) on_parameter(path(name), parameter);
}

template <class T>
void Visitor<T>::operator()(const std::string& name, Array<T>& buffer) {
  on_buffer(path(name), buffer);
}

template <class T>
void Visitor<T>::operator()(const std::string& name, Rng& generator) {
  on_generator(path(name), generator);
}

namespace {

/// The members of a module by name, each once, in the order of `visit`.
template <class T>
struct Members final : Visitor<T> {
  explicit Members(Module<T>& root) {
    modules.push_back(&root);
    root.visit(*this);
  }

  void on_module(const std::string&, Module<T>& m) override { modules.push_back(&m); }
  void on_parameter(const std::string& path, Variable<T>& p) override {
    claim(path);
    if (!p.is_leaf())
      fail<GraphError>("Module", "parameter \"", path, "\" must be a leaf but is the result of ", p.op(),
                       "; change the numbers of a parameter with mutate()");
    if (seen.insert(p.shared_value().get()).second) parameters.emplace_back(path, &p);
  }
  void on_buffer(const std::string& path, Array<T>& b) override {
    claim(path);
    buffers.emplace_back(path, &b);
  }
  void on_generator(const std::string& path, Rng& g) override {
    claim(path);
    generators.emplace_back(path, &g);
  }
  void claim(const std::string& path) {
    if (!names.insert(path).second)
      fail<std::invalid_argument>("Module", "two members are named \"", path,
                                  "\"; give each a name of its own in visit()");
  }

  std::vector<Module<T>*> modules;
  std::vector<std::pair<std::string, Variable<T>*>> parameters;
  std::vector<std::pair<std::string, Array<T>*>> buffers;
  std::vector<std::pair<std::string, Rng*>> generators;
  std::set<std::string> names;
  std::set<const void*> seen;
};

}  // namespace

template <class T>
std::vector<std::pair<std::string, Variable<T>>> Module<T>::named_parameters() {
  std::vector<std::pair<std::string, Variable<T>>> result;
  for (const auto& [path, p] : Members<T>(*this).parameters) result.emplace_back(path, *p);
  return result;
}

template <class T>
std::vector<Variable<T>> Module<T>::parameters() {
  std::vector<Variable<T>> result;
  for (const auto& [path, p] : Members<T>(*this).parameters) result.push_back(*p);
  return result;
}

template <class T>
std::size_t Module<T>::count(bool frozen_too) {
  std::size_t n = 0;
  for (const auto& p : parameters())
    if (frozen_too || p.requires_grad()) n += p.size();
  return n;
}

template <class T>
void Module<T>::train(bool on) {
  for (Module<T>* m : Members<T>(*this).modules) m->training_ = on;
}

template <class T>
void Module<T>::zero_grad() {
  for (auto& p : parameters()) p.zero_grad();
}

template <class T>
void Module<T>::freeze(bool on) {
  // On the members themselves: a constant becomes a leaf by its handle.
  for (const auto& [path, p] : Members<T>(*this).parameters) p->set_requires_grad(!on);
}

namespace {

/// The rows of a summary, in the order of `visit`.
template <class T>
struct Summary final : Visitor<T> {
  explicit Summary(Module<T>& root) { root.visit(*this); }

  void on_module(const std::string& path, Module<T>& m) override {
    rows.push_back({path, m.name(), "", std::to_string(m.count(true)), m.is_training() ? "" : "evaluation mode"});
  }
  void on_parameter(const std::string& path, Variable<T>& p) override {
    const auto [before, is_new] = seen.emplace(p.shared_value().get(), path);
    rows.push_back({path, "", to_string(p.shape()), is_new ? std::to_string(p.size()) : "",
                    is_new ? p.requires_grad() ? "" : "frozen" : "is " + before->second});
    if (is_new && p.has_grad()) gradients += p.size();
  }
  void on_buffer(const std::string& path, Array<T>& b) override {
    rows.push_back({path, "", to_string(b.shape()), std::to_string(b.size()), "buffer"});
    buffers += b.size();
  }
  void on_generator(const std::string& path, Rng&) override { rows.push_back({path, "Rng"}); }

  std::vector<std::vector<std::string>> rows{{"name", "type", "shape", "count"}};
  std::size_t buffers = 0, gradients = 0;
  std::map<const void*, std::string> seen;
};

}  // namespace

template <class T>
std::string Module<T>::summary() {
  const std::size_t all = count(true), trained = count();
  const Summary<T> found(*this);
  detail::Text out;
  const auto numbers = [&](const char* what, std::size_t n) { out << what << n << " (" << n * sizeof(T) << " bytes)"; };
  out << name() << (training_ ? "\n" : ", evaluation mode\n") << detail::aligned(found.rows);
  numbers("parameters: ", all);
  if (trained != all) out << ", of which trainable: " << trained;
  if (found.gradients > 0) numbers("; gradients: ", found.gradients);
  if (found.buffers > 0) numbers("; buffers: ", found.buffers);
  out << '\n';
  return out.str();
}

template <class T>
EvalScope<T>::EvalScope(Module<T>& module) {
  for (Module<T>* m : Members<T>(module).modules) before_.emplace_back(m, m->is_training());
  for (const auto& [m, training] : before_) m->training_ = false;
}

template <class T>
EvalScope<T>::~EvalScope() {
  for (const auto& [m, training] : before_) m->training_ = training;
}

template <class T>
State<T> state(Module<T>& module) {
  const Members<T> members(module);
  State<T> result;
  for (const auto& [path, p] : members.parameters) result.arrays.emplace_back(path, p->value());
  for (const auto& [path, b] : members.buffers) result.arrays.emplace_back(path, *b);
  for (const auto& [path, g] : members.generators) result.generators.emplace_back(path, g->state());
  return result;
}

template <class T>
StateNames state_names(Module<T>& module) {
  const Members<T> members(module);
  StateNames result;
  for (const auto& [path, p] : members.parameters) result.arrays.emplace_back(path, p->shape());
  for (const auto& [path, b] : members.buffers) result.arrays.emplace_back(path, b->shape());
  for (const auto& [path, g] : members.generators) result.generators.push_back(path);
  return result;
}

template <class T>
void load_state(Module<T>& module, const State<T>& state, bool strict) {
  const std::string complaints = differences(names_of(state), state_names(module), strict);
  if (!complaints.empty())
    fail<std::invalid_argument>("load_state", "the state must have the names and shapes of the module:", complaints);

  Members<T> members(module);
  std::map<std::string, const Array<T>*> arrays;
  for (const auto& [path, a] : state.arrays) arrays.emplace(path, &a);
  std::map<std::string, const Rng::State*> generators;
  for (const auto& [path, s] : state.generators) generators.emplace(path, &s);
  const auto put = [](const auto& source, const std::string& path, auto set) {
    const auto entry = source.find(path);
    if (entry != source.end()) set(*entry->second);
  };
  for (auto& [path, p] : members.parameters)
    put(arrays, path, [q = p](const Array<T>& a) { q->mutate([&](Array<T>& value) { value = a; }); });
  for (auto& [path, b] : members.buffers) put(arrays, path, [q = b](const Array<T>& a) { *q = a; });
  for (auto& [path, g] : members.generators) put(generators, path, [q = g](Rng::State s) { q->set_state(s); });
}

#define XGRAD_INSTANTIATE(T)                   \
  template class Visitor<T>;                   \
  template class Module<T>;                    \
  template class EvalScope<T>;                 \
  template State<T> state(Module<T>&);         \
  template StateNames state_names(Module<T>&); \
  template void load_state(Module<T>&, const State<T>&, bool);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
