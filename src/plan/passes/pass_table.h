// SPDX-License-Identifier: Apache-2.0
// Adapts passes to the tables' rows: a pass takes only those members of a PassTarget that it needs.
#pragma once

#include <type_traits>

#include "plan/passes/passes.h"

namespace dvnn::plan {

/// Calls a pass, which returns a Status or nothing.
template <auto pass, typename... Arguments>
Status call_pass(Arguments&&... arguments) {
  if constexpr (std::is_void_v<std::invoke_result_t<decltype(pass), Arguments...>>) {
    pass(std::forward<Arguments>(arguments)...);
    return {};
  } else {
    return pass(std::forward<Arguments>(arguments)...);
  }
}

/// Gives a pass the graph and, if it takes one, the picture, the limits, the options, or whether
/// buffers are in the order HWC.
template <auto pass>
Status run_pass(const PassTarget& target) {
  using Function = decltype(pass);
  const PlanOptions& options = *target.options;
  if constexpr (std::is_invocable_v<Function, Graph*>) {
    return call_pass<pass>(target.graph);
  } else if constexpr (std::is_invocable_v<Function, Graph*, InputSpec*> &&
                       !std::is_invocable_v<Function, Graph*, bool>) {
    return call_pass<pass>(target.graph, target.picture);
  } else if constexpr (std::is_invocable_v<Function, Graph*, const device::Limits&>) {
    return call_pass<pass>(target.graph, options.limits);
  } else if constexpr (std::is_invocable_v<Function, Graph*, const PlanOptions&>) {
    return call_pass<pass>(target.graph, options);
  } else {
    return call_pass<pass>(target.graph, options.hwc);
  }
}

}  // namespace dvnn::plan
