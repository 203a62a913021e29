// SPDX-License-Identifier: Apache-2.0
// What a slot runs in place of a model's steps, and where its tensors lie. Private to src/network.
#pragma once

#include <cstdint>
#include <vector>

#include "base/nth.h"
#include "network/handover.h"
#include "network/model_network.h"

namespace dvnn::network {

/// A step, or a command with the CPU layer that is computed on its sums.
struct Act {
  const Step* step = nullptr;
  const Step* follower = nullptr;  // an Elementwise layer; null: none
  bool keeps_own = true;           // the command's own output is read by others, too
  int sums = -1;                   // the follower's input that is the command's own output
};

/// How long a tensor's bytes are needed, and so whose memory they are in.
enum class Life : uint8_t {
  kRun,          // in the slot's I/O buffer
  kCommandList,  // no longer than one command list: in memory that slots share, of which lists that
                 // run at once have their own bytes (Device::allocate_transient())
  kLayers,       // no longer than CPU layers run, without a command between: in a LayersMemory
};

/// The memories of a slot's tensors that commands read and write.
struct TensorMemory {
  const device::Memory* io;         // the slot's own
  const device::Memory* transient;  // shared by slots
};

struct SlotPlan {
  std::vector<Act> acts;          // in order, without the steps of constant results
  std::vector<uint64_t> offsets;  // of each tensor of the model, in its memory
  std::vector<Life> lives;        // of each tensor that is not constant
  // Sizes of the three memories.
  uint64_t io_bytes = 0, transient_bytes = 0, layers_bytes = 0;
  ByteRange range(const Model& model, int tensor) const;
  bool is(Life life, int tensor) const { return nth(lives, tensor) == life; }
  /// Returns where a command finds a tensor that is not constant.
  device::BufferRef place(const TensorMemory& memory, int tensor) const {
    return {is(Life::kCommandList, tensor) ? memory.transient : memory.io, nth(offsets, tensor)};
  }
};

/// What an act reads and writes in the I/O buffer.
MemoryUse memory_use(const Model& model, const SlotPlan& plan, const Act& act);

/// Returns the uses of all stages; consecutive commands form one stage.
StageUses memory_uses(const Model& model, const SlotPlan& plan);

/// Returns where the outputs that are not constant and the next states lie.
std::vector<ByteRange> results(const Model& model, const SlotPlan& plan);

/// Returns where the extra inputs lie.
std::vector<ByteRange> extras(const Model& model, const SlotPlan& plan);

/// Plans every step by itself, with tensors where the model has them: a step's result stays until a
/// later step needs its place.
SlotPlan plan_step_by_step(const ModelNetwork& network);

/// Plans a slot's runs. If layers follow commands, as the device's follows() says, an Elementwise
/// layer runs with the last command that makes one of its operands, if all its operands exist by
/// then. Commands are in as few lists as can be: each is in the first one that it can be in, and
/// CPU layers run just before the list that needs them. Tensors move, because their lives then
/// differ from what the model planned, a command's own result may not exist at all, and what does
/// not live for the whole run is in memory that slots share. Returns plan_step_by_step() if bytes
/// are read that no step writes, or if the network has many thousands of steps.
SlotPlan plan_slot(const ModelNetwork& network, bool layers_follow);

/// Has `act`'s follower follow the last command of `list`. Tensors lie in `memory` as `plan` says;
/// constants become values of the chain, and may change after it.
Status follow(ModelNetwork* network, const SlotPlan& plan, const Act& act,
              const TensorMemory& memory, device::CommandList* list);

}  // namespace dvnn::network
