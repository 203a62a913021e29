// SPDX-License-Identifier: Apache-2.0
// Attaches an Elementwise layer to the device's command before it. Private to src/network.
#pragma once

#include "network/slot_plan.h"

namespace dvnn::network {

/// Has `act`'s follower follow the last command of `list`. Tensors lie in `memory` as `plan` says;
/// constants become values of the chain, and may change after it.
Status follow(ModelNetwork* network, const SlotPlan& plan, const Act& act,
              const TensorMemory& memory, device::CommandList* list);

}  // namespace dvnn::network
