#include "contract.hpp"
namespace xgrad::detail { std::vector<std::string> check_contract(Module<double>&, const CheckedFunction&, const GradcheckInputs&, const GradcheckOptions&) { return {}; } }
