// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/dvinferrun.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/format.h"
#include "infer/deviceturns.h"
#include "refs.h"

using dvnn::Error;
using dvnn::Status;
using dvnn::gst::InferItem;
using dvnn::gst::InferStats;
using dvnn::gst::MemoryPtr;
using dvnn::gst::Region;
using dvnn::gst::SlotPtr;
using dvnn::gst::Topic;

// Memory of one output: a view that keeps the slot, or a copy.
static dvnn::Result<MemoryPtr> gst_dv_infer_output_memory(const SlotPtr& slot, size_t i,
                                                          bool as_view) {
  const dvnn::ConstTensorView view = (*slot)->output(i);
  const size_t size = view.desc.bytes();
  if (as_view) {
    return MemoryPtr(gst_memory_new_wrapped(
        GST_MEMORY_FLAG_READONLY, const_cast<uint8_t*>(view.data), size, 0, size, new SlotPtr(slot),
        [](gpointer held) { delete static_cast<SlotPtr*>(held); }));
  }
  MemoryPtr copy = dvnn::gst::allocate_memory(size);
  GstMapInfo map;
  if (!copy || !gst_memory_map(copy.get(), &map, GST_MAP_WRITE)) {
    return Error{dvnn::ErrorCode::kNoMemory,
                 dvnn::format("no memory for an output of %zu bytes", size)};
  }
  std::memcpy(map.data, view.data, size);
  gst_memory_unmap(copy.get(), &map);
  GST_MINI_OBJECT_FLAG_SET(copy.get(), GST_MEMORY_FLAG_READONLY);
  return copy;
}

// Takes the outputs off the slot: as views only while slots are plenty (slotpool.h), else as
// copies. `stream`: how they leave as buffers, or null.
static Status gst_dv_infer_take_outputs(const dvnn::network::Model& model,
                                        const dvnn::gst::TensorOutput* stream, bool may_be_late,
                                        Region* region) {
  // A late result waits for an unknown time, so it does not hold a slot.
  const bool as_views = !may_be_late && region->slot->pool->plenty();
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    const dvnn::ConstTensorView output = (*region->slot)->output(i);
    const bool as_it_is = !stream || stream->is_as_it_is(i, output.desc);
    DVNN_ASSIGN(auto memory, as_it_is ? gst_dv_infer_output_memory(region->slot, i, as_views)
                                      : stream->write(i, output));
    region->outputs.push_back(std::move(memory));
  }
  region->slot.reset();
  return {};
}

// Work that waits for its turn must not look like a device that does not answer.
static dvnn::gst::DeviceTurns::Turn gst_dv_infer_take_turn(GstDvInfer* self,
                                                           const dvnn::network::Network& network) {
  using dvnn::gst::DeviceTurns;
  const dvnn::gst::InferRules rules = gst_dv_infer_rules(self);
  const std::chrono::milliseconds half(rules.watchdog_ms / 2);
  const auto patience =
      rules.watchdog_ms > 0 ? std::min(half, DeviceTurns::kPatience) : DeviceTurns::kPatience;
  return DeviceTurns::of_process().take(network.device().library_path(), self, rules.priority,
                                        patience);
}

Status gst_dv_infer_run(GstDvInfer* self, InferItem* item, size_t index) {
  InferStats& stats = self->priv->intake->stats;
  Region& region = item->regions[index];
  const int64_t ready = std::max(item->times.admitted, region.ready_us);
  auto turn = gst_dv_infer_take_turn(self, *item->network->network);
  const int64_t waited = g_get_monotonic_time() - ready;
  dvnn::network::RunTimes times;
  stats.run_begins();
  std::string warning;
  const Status status = item->network->watch.run(region.slot->slot.get(), &times, &warning);
  stats.run_ends(times.queued_us);
  turn.took(std::chrono::microseconds(times.device_us + times.cpu_us));
  stats.time(InferStats::Time::kWaiting, waited + times.queued_us);
  if (!warning.empty()) {
    dvnn::gst::post_warning(GST_ELEMENT(self), Topic::kData,
                            Error{dvnn::ErrorCode::kInvalidArgument,
                                  "network '" + item->network->network->model().name +
                                      "': the results are " + warning});
  }
  region.slot->pool->finished(region.slot);
  if (!status.ok()) return status;
  DVNN_TRY(gst_dv_infer_take_outputs(item->network->network->model(), item->tensors.get(),
                                     item->leave_by_us > 0, &region));
  stats.time(InferStats::Time::kDevice, times.device_us);
  stats.time(InferStats::Time::kCpu, times.cpu_us);
  return {};
}
