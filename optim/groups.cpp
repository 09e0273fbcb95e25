#include "groups.hpp"

#include <set>

namespace xgrad {

namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Collects the names of parameters that belong to a norm.
template <class T>
class NormVisitor final : public Visitor<T> {
 public:
  explicit NormVisitor(Module<T>& root) {
    if (ends_with(root.name(), "Norm")) norms_.insert("");
    root.visit(*this);
  }
  bool owns(const std::string& parameter) const {
    const auto dot = parameter.rfind('.');
    return norms_.count(dot == std::string::npos ? "" : parameter.substr(0, dot)) != 0;
  }

 private:
  void on_module(const std::string& path, Module<T>& module) override {
    if (ends_with(module.name(), "Norm")) norms_.insert(path);
  }
  std::set<std::string> norms_;
};

}  // namespace

template <class T>
std::vector<ParameterGroup<T>> decay_groups(Module<T>& module) {
  const NormVisitor<T> norms(module);
  return decay_groups<T>(module, [&](const std::string& name, const Variable<T>& p) {
    return p.dimension() >= 2 && name != "bias" && !ends_with(name, ".bias") && !norms.owns(name);
  });
}

template <class T>
std::vector<ParameterGroup<T>> decay_groups(Module<T>& module, const DecayRule<T>& decays) {
  ParameterGroup<T> decayed, others;
  others.weight_decay_factor = 0;
  for (const auto& [name, p] : module.named_parameters()) (decays(name, p) ? decayed : others).parameters.push_back(p);
  std::vector<ParameterGroup<T>> result;
  for (ParameterGroup<T>* group : {&decayed, &others})
    if (!group->parameters.empty()) result.push_back(std::move(*group));
  return result;
}

#define XGRAD_INSTANTIATE(T)                                        \
  template std::vector<ParameterGroup<T>> decay_groups(Module<T>&); \
  template std::vector<ParameterGroup<T>> decay_groups(Module<T>&, const DecayRule<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)

}  // namespace xgrad
