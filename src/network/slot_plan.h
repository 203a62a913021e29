// SPDX-License-Identifier: Apache-2.0
// What a slot runs in place of a model's steps, and where its tensors lie. Private to src/network.
#pragma once

#include <cstdint>
#include <vector>

#include "network/handover.h"
#include "network/model_network.h"

namespace dvnn::network {

/// A step, or a command with the CPU layer that is computed on its sums.
struct Act {
  const Step* step = nullptr;
  const Step* follower = nullptr;  // an Elementwise layer; null: none
  bool keeps_own = true;           // the command's own output is read by others, too
};

struct SlotPlan {
  std::vector<Act> acts;          // in their order, but for steps whose result is constant
  std::vector<uint64_t> offsets;  // of each tensor of the model, in its storage
  uint64_t io_bytes = 0;          // size of the slot's I/O buffer
  ByteRange range(const Model& model, int tensor) const;
};

/// What an act reads and writes in the I/O buffer.
MemoryUse memory_use(const Model& model, const SlotPlan& plan, const Act& act);

/// The same of all stages: commands in a row are one.
StageUses memory_uses(const Model& model, const SlotPlan& plan);

/// Where the outputs lie that are not constant.
std::vector<ByteRange> results(const Model& model, const SlotPlan& plan);

/// Every step by itself, and tensors where the model has them: what a board runs.
SlotPlan plan_step_by_step(const ModelNetwork& network);

/// For devices that follow() commands: an Elementwise layer runs with the last command that one of
/// its operands comes from, if all its operands are there by then. Tensors move, as a layer's
/// result then exists earlier than the model planned, and the command's own may not exist at all.
/// What plan_step_by_step() returns where no layer can, where bytes are read that no step writes,
/// and for networks of many thousands of steps.
SlotPlan plan_fused(const ModelNetwork& network);

}  // namespace dvnn::network
