#include "contract.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backward.hpp"
#include "differences.hpp"

namespace xgrad::detail {

namespace {

/// The members that `visit` lists, in its order.
template <class T>
struct Listing final : Visitor<T> {
  explicit Listing(Module<T>& module) { module.visit(*this); }
  void on_module(const std::string& path, Module<T>& m) override {
    modules.emplace_back(path, &m);
    names.push_back(path);
  }
  void on_parameter(const std::string& path, Variable<T>&) override { names.push_back(path); }
  void on_buffer(const std::string& path, Array<T>&) override { names.push_back(path); }
  void on_generator(const std::string& path, Rng&) override { names.push_back(path); }
  std::vector<std::string> names;
  std::vector<std::pair<std::string, Module<T>*>> modules;
};

template <class T>
bool identical(const Array<T>& a, const Array<T>& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
class Contract {
  using V = Variable<T>;

 public:
  Contract(Module<T>& module, const CheckedFunction<T>& call, const GradcheckInputs& inputs,
           const GradcheckOptions& options)
      : module_(module), call_(call), inputs_(inputs), options_(options) {}

  std::vector<std::string> check() {
    bool steady = false;
    attempt("visit()", [&] { steady = names(); });
    if (!steady) return broken_;  // nothing that goes by the listing would mean anything
    const bool runs = attempt("calling the module", [&] { members(); });
    if (!runs) return broken_;
    attempt("gradcheck", [&] {
      const GradcheckReport report = run_module(module_, call_, inputs_, options_);
      if (!report.ok()) add(report.text());
    });
    attempt("evaluation mode", [&] { evaluation(); });
    attempt("state", [&] { state_round_trip(); });
    attempt("an empty batch", [&] { empty_batch(); });
    return broken_;
  }

 private:
  template <class... Parts>
  void add(const Parts&... parts) {
    detail::Text out;
    (out << ... << parts);
    std::string text = out.str();
    if (!text.empty() && text.back() == '\n') text.pop_back();
    broken_.push_back(text);
  }

  template <class F>
  bool attempt(const char* what, F&& f) {
    try {
      f();
      return true;
    } catch (const std::exception& e) {
      add(what, " throws: ", e.what());
      return false;
    }
  }

  std::vector<V> fresh_inputs() const {
    std::vector<V> result;
    for (const auto& x : inputs_.list()) result.emplace_back(from<T>(x.value()), true);
    return result;
  }

  /// False when visit lists other members each time.
  bool names() {
    module_.named_parameters();  // throws where two members have one name
    const Listing<T> first(module_), second(module_);
    if (first.names != second.names) {
      add("visit() must list the same members each time");
      return false;
    }
    for (const std::string& name : first.names) {
      const std::string padded = '.' + name + '.';
      if (padded.find("..") != std::string::npos || name.find_first_of(" \t\n") != std::string::npos)
        add("a member is named \"", name, "\": names must not be empty or hold blanks");
    }
    return true;
  }

  /// Compares the leaves of the output's graph with what visit lists.
  void members() {
    Surroundings<T> surroundings(&module_);
    const auto inputs = fresh_inputs();
    const V y = call_(inputs);
    const auto parameters = module_.named_parameters();
    std::vector<const void*> listed, reached;
    for (const V& x : inputs) listed.push_back(x.shared_value().get());
    for (const auto& [name, p] : parameters) listed.push_back(p.shared_value().get());
    const auto has = [](const std::vector<const void*>& list, const V& v) {
      return std::find(list.begin(), list.end(), v.shared_value().get()) != list.end();
    };
    for (const V& leaf : leaves(y)) {
      reached.push_back(leaf.shared_value().get());
      if (!has(listed, leaf))
        add("a member was forgotten in visit(): the output depends on a trainable leaf of shape ",
            to_string(leaf.shape()), " that is not listed");
    }
    for (const auto& [name, p] : parameters)
      if (p.requires_grad() && !has(reached, p))
        add("parameter \"", name, "\" gets no gradient: the output does not depend on it");
  }

  void evaluation() {
    const Listing<T> listing(module_);
    Surroundings<T> surroundings(&module_);
    const EvalScope<T> scope(module_);
    for (const bool training : {true, false}) {  // ends in evaluation mode
      module_.train(training);
      for (const auto& [name, m] : listing.modules)
        if (m->is_training() != training) add(training ? "train()" : "eval()", " does not reach \"", name, '"');
    }
    const auto inputs = fresh_inputs();
    const Array<T> first = call_(inputs).value();
    const std::string drawn = surroundings.drawn_from();
    if (!drawn.empty()) add("evaluation mode draws from the generator \"", drawn, '"');
    if (!identical(first, call_(inputs).value()))
      add("evaluation mode is not deterministic: two calls differ (a sub-module or generator forgotten in visit()?)");
  }

  /// Changes every number of the state, runs on those, loads the old ones, and expects the old output: so what a run
  /// remembers must follow the state.
  void state_round_trip() {
    Surroundings<T> surroundings(&module_, true);
    const EvalScope<T> scope(module_);
    const State<T> own = state(module_);
    const auto inputs = fresh_inputs();
    const Array<T> before = call_(inputs).value();
    State<T> moved = own;
    for (auto& [name, array] : moved.arrays)
      for (T& x : array) x += T(0.25) * std::max(T(1), std::abs(x));
    load_state(module_, moved);
    const State<T> now = state(module_);
    for (const auto& [name, array] : moved.arrays)
      if (!identical(now.array(name), array)) add("loading a state leaves \"", name, "\" with other numbers");
    call_(inputs);
    load_state(module_, own);
    if (!identical(before, call_(inputs).value()))
      add("loading the module's own state back does not give its old output: something that the output depends on is "
          "not part of the state");
  }

  void empty_batch() {
    Surroundings<T> surroundings(&module_);
    const EvalScope<T> scope(module_);
    auto inputs = fresh_inputs();
    Shape shape = call_(inputs).shape();
    for (V& x : inputs) {
      Shape none = x.shape();
      if (none.size() < 2 || shape.size() < 2 || none[0] != shape[0]) return;  // axis 0 is not a batch
      none[0] = 0;
      x = V(zeros<T>(none), true);
    }
    shape[0] = 0;
    const V y = call_(inputs);
    if (y.shape() != shape) {
      add("an empty batch must give an output of shape ", to_string(shape), " but gives ", to_string(y.shape()));
      return;
    }
    std::vector<V> wrt = inputs;
    for (const auto& [name, p] : module_.named_parameters())
      if (p.requires_grad()) wrt.push_back(p);
    GradOptions how;
    how.allow_unused = true;
    for (const V& g : grad<T>({y}, wrt, how, {V(zeros<T>(shape))}))
      for (T x : g.value())
        if (x != 0) {
          add("the gradients of an empty batch must be zero but hold ", x);
          return;
        }
  }

  Module<T>& module_;
  const CheckedFunction<T>& call_;
  const GradcheckInputs& inputs_;
  const GradcheckOptions& options_;
  std::vector<std::string> broken_;
};

}  // namespace

template <class T>
std::vector<std::string> check_contract(Module<T>& module, const CheckedFunction<T>& call,
                                        const GradcheckInputs& inputs, const GradcheckOptions& options) {
  if (inputs.list().empty()) fail<std::invalid_argument>("layer_contract", "needs at least one input");
  for (const auto& x : inputs.list())
    if (!x.defined()) fail<std::invalid_argument>("layer_contract", "an input is undefined");
  return Contract<T>(module, call, inputs, options).check();
}

template std::vector<std::string> check_contract(Module<float>&, const CheckedFunction<float>&, const GradcheckInputs&,
                                                 const GradcheckOptions&);
template std::vector<std::string> check_contract(Module<double>&, const CheckedFunction<double>&,
                                                 const GradcheckInputs&, const GradcheckOptions&);

}  // namespace xgrad::detail
