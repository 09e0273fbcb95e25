#include "gradient_norms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>

#include "../core/aligned_inline.hpp"
#include "../core/finite.hpp"
#include "joint_norm.hpp"

namespace xgrad {

template <class T>
GradientNorms gradient_norms(Module<T>& module) {
  GradientNorms result;
  std::vector<const Array<T>*> gradients;
  const auto named = module.named_parameters();
  for (const auto& [name, p] : named) {
    GradientNorm& entry = result.parameters.emplace_back();
    entry.name = name;
    entry.shape = p.shape();
    entry.frozen = !p.requires_grad();
    entry.has_gradient = p.has_grad();
    entry.weight = detail::joint_norm<T>({&p.value()});
    if (!entry.has_gradient) continue;
    const Array<T>& g = p.grad();
    const detail::Survey<T> seen(g);
    entry.gradient = detail::joint_norm<T>({&g});
    entry.largest = std::max(std::abs(static_cast<double>(seen.low)), std::abs(static_cast<double>(seen.high)));
    entry.not_finite = seen.bad;
    if (entry.weight != 0) entry.ratio = entry.gradient / entry.weight;
    else if (entry.gradient != 0) entry.ratio = std::numeric_limits<double>::infinity();
    if (!entry.frozen) gradients.push_back(&g);
  }
  result.total = detail::joint_norm(gradients);
  return result;
}

std::string GradientNorms::text() const {
  using detail::number_text;
  std::vector<std::vector<std::string>> rows{{"name", "shape", "|grad|", "|weight|", "ratio", "max |grad|"}};
  for (const GradientNorm& p : parameters) {
    const auto if_any = [&](double x) { return p.has_gradient ? number_text(x) : ""; };
    std::string note = p.frozen ? "frozen" : p.has_gradient ? "" : "no gradient";
    if (p.not_finite > 0)
      note += (note.empty() ? "" : ", ") + std::to_string(p.not_finite) + " of " +
              std::to_string(element_count(p.shape)) + " entries not finite";
    rows.push_back({p.name, to_string(p.shape), if_any(p.gradient), number_text(p.weight), if_any(p.ratio),
                    if_any(p.largest), note});
  }
  return detail::aligned(rows) + "total |grad|: " + number_text(total) + '\n';
}

std::ostream& operator<<(std::ostream& out, const GradientNorms& norms) { return out << norms.text(); }

template GradientNorms gradient_norms(Module<float>&);
template GradientNorms gradient_norms(Module<double>&);

}  // namespace xgrad
