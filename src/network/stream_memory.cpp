// SPDX-License-Identifier: Apache-2.0
#include "network/stream_memory.h"

#include <algorithm>

#include "base/log.h"
#include "tensor/convert_tensor.h"

namespace dvnn::network {

StreamMemory::StreamMemory(std::shared_ptr<Network> network) : network_(std::move(network)) {
  for (const ExtraInput& input : model().extra_inputs) {
    values_.emplace_back(input.is_state() ? model().tensor(input.tensor).desc.bytes() : 0);
  }
}

void StreamMemory::clear_states() {
  for (std::vector<uint8_t>& state : values_) std::fill(state.begin(), state.end(), 0);
}

void StreamMemory::begin_anew() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++runs_;
  clear_states();
}

void StreamMemory::copy_to(Slot* slot) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].empty()) continue;
    std::copy(values_[i].begin(), values_[i].end(), slot->extra_input(i).data);
  }
}

void StreamMemory::fill(Slot* slot) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  copy_to(slot);
}

uint64_t StreamMemory::begin_run(Slot* slot) {
  const std::lock_guard<std::mutex> lock(mutex_);
  copy_to(slot);
  return ++runs_;
}

void StreamMemory::end_run(const Slot& slot, uint64_t run) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (run != runs_) return;
  if (!slot.has_finite_states()) {
    DVNN_LOG(kNetwork, kDebug, "network '%s': a state is not finite, all begin anew",
             model().name.c_str());
    return clear_states();
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    const ExtraInput& input = model().extra_inputs[i];
    if (!input.is_state()) continue;
    const ConstTensorView next = slot.next_state(i);
    const TensorDesc& desc = model().tensor(input.tensor).desc;
    if (next.desc == desc) {
      std::copy(next.data, next.data + values_[i].size(), values_[i].begin());
    } else {
      convert_tensor(next, {desc, values_[i].data()}, &scratch_);
    }
  }
}

size_t StreamMemory::state_bytes() const {
  size_t bytes = 0;
  for (const std::vector<uint8_t>& state : values_) bytes += state.size();
  return bytes;
}

}  // namespace dvnn::network
