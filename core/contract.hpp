// What every layer must keep, checked on any module: see contract_violations.
#pragma once

#include <string>
#include <vector>

#include "gradcheck.hpp"

namespace xgrad {

namespace detail {

template <class T>
std::vector<std::string> check_contract(Module<T>& module, const CheckedFunction<T>& call,
                                        const GradcheckInputs& inputs, const GradcheckOptions& options);

}  // namespace detail

/// What a module breaks of the contract that the rest of the library builds on, one sentence each; empty when it keeps
/// all of it:
/// - members have unique names, no part of which (between dots) is empty or holds blanks, and `visit` gives the same
///   list each time; where it does not, that is all that is reported;
/// - every trainable leaf that the output depends on, inputs apart, is listed by `visit` (else: a forgotten member);
/// - every listed parameter that requires a gradient gets one;
/// - gradients by the inputs and by every parameter pass `gradcheck`;
/// - evaluation mode gives the same numbers twice and draws from no generator, and train()/eval() reach every part;
/// - the module's state, changed and loaded back, gives the same output;
/// - an empty batch (inputs with 0 rows) gives an output with 0 rows, when all inputs have one axis 0 in common with
///   the output.
/// The module is left as it was; a Module<float> is checked in float, as gradcheck does. Exceptions of the module
/// become sentences. Works without GoogleTest; for tests there is `xgrad::testing::layer_contract`.
template <class M, class = std::enable_if_t<detail::is_module<M>>>
std::vector<std::string> contract_violations(M& module, const GradcheckInputs& inputs,
                                             const GradcheckOptions& options = {}) {
  using T = detail::number_of_module<M>;
  return detail::check_contract<T>(module, detail::checked_function<T>(module), inputs, options);
}

/// The same for a module that is called in another way.
template <class M, class F, class = std::enable_if_t<detail::is_module<M> && detail::is_call<F>>>
std::vector<std::string> contract_violations(M& module, F&& call, const GradcheckInputs& inputs,
                                             const GradcheckOptions& options = {}) {
  using T = detail::number_of_module<M>;
  return detail::check_contract<T>(module, detail::checked_function<T>(call), inputs, options);
}

}  // namespace xgrad
