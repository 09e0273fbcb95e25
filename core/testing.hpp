// GoogleTest assertions for gradients and layers. The one header that needs GoogleTest; no other includes it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "contract.hpp"
#include "gradcheck.hpp"

/// GoogleTest assertions.
namespace xgrad::testing {

/// A report, or the sentences of `contract_violations`, as GoogleTest's result: what the assertions below are made of.
/// @{
inline ::testing::AssertionResult assertion(const GradcheckReport& report) {
  return (report.ok() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure()) << '\n' << report.text();
}
inline ::testing::AssertionResult assertion(const std::vector<std::string>& violations) {
  if (violations.empty()) return ::testing::AssertionSuccess();
  auto result = ::testing::AssertionFailure() << "\nthe layer breaks its contract:";
  for (const std::string& v : violations) result << "\n- " << v;
  return result;
}
/// @}

/// `EXPECT_TRUE(gradients_match(f, inputs))`: passes when gradcheck does, else prints its report. Takes what
/// `gradcheck` takes: also `gradients_match<float>(f, inputs)`, a module with a call or with its double copy, and
/// plain functions (forward, backward, inputs).
/// @{
template <class F>
::testing::AssertionResult gradients_match(F&& f, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  return assertion(gradcheck(f, inputs, options));
}
template <class T, class F, class = std::enable_if_t<std::is_same_v<T, float>>>
::testing::AssertionResult gradients_match(F&& f, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  return assertion(gradcheck<T>(f, inputs, options));
}
template <class F, class G, class = std::enable_if_t<!std::is_convertible_v<const G&, GradcheckInputs>>>
::testing::AssertionResult gradients_match(F&& f, G&& g, const GradcheckInputs& inputs,
                                           const GradcheckOptions& options = {}) {
  return assertion(gradcheck(f, g, inputs, options));
}
/// @}

/// The same for second derivatives, by `gradgradcheck`.
/// @{
template <class F>
::testing::AssertionResult second_gradients_match(F&& f, const GradcheckInputs& inputs,
                                                  const GradcheckOptions& options = {}) {
  return assertion(gradgradcheck(f, inputs, options));
}
template <class F, class = std::enable_if_t<detail::is_call<F>>>
::testing::AssertionResult second_gradients_match(Module<double>& module, F&& call, const GradcheckInputs& inputs,
                                                  const GradcheckOptions& options = {}) {
  return assertion(gradgradcheck(module, call, inputs, options));
}
/// @}

/// `EXPECT_TRUE(layer_contract(layer, x))`: passes when the layer keeps what `contract_violations` lists, else prints
/// what it breaks. A second form takes the call when it is not `layer(x)`.
/// @{
template <class M>
::testing::AssertionResult layer_contract(M& module, const GradcheckInputs& inputs,
                                          const GradcheckOptions& options = {}) {
  return assertion(contract_violations(module, inputs, options));
}
template <class M, class F, class = std::enable_if_t<detail::is_call<F>>>
::testing::AssertionResult layer_contract(M& module, F&& call, const GradcheckInputs& inputs,
                                          const GradcheckOptions& options = {}) {
  return assertion(contract_violations(module, call, inputs, options));
}
/// @}

}  // namespace xgrad::testing
