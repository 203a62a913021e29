// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/dvinferslots.h"

#include <utility>

#include "guard.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_dv_infer_debug

using dvnn::Status;
using dvnn::gst::FrameConverter;
using dvnn::gst::FrameView;
using dvnn::gst::InferItem;
using dvnn::gst::InferStats;
using dvnn::gst::Region;
using dvnn::gst::SlotPool;
using dvnn::gst::SlotPtr;

dvnn::Result<SlotPtr> gst_dv_infer_own_slot(GstDvInfer* self, const InferItem& item, bool waits) {
  constexpr std::chrono::milliseconds kTell{100};
  SlotPool* const pool = item.network->pool.get();
  const gint64 start = g_get_monotonic_time();
  bool waited = false;
  // A frame that nobody wants any more has the slots of its regions, and may have all there are.
  while (self->priv->queue->is_wanted(item)) {
    DVNN_ASSIGN(
        SlotPool::Taken taken,
        pool->take(SlotPool::Taker::kOwn, SlotPool::Clock::now() + (waits ? kTell : kTell.zero())));
    if (taken.outcome == SlotPool::Outcome::kFlushing) break;
    if (!waits) return std::move(taken.slot);
    if (taken.waited.count() > 1000 && !std::exchange(waited, true)) {
      self->priv->intake->stats.count(InferStats::Count::kWaits);
    }
    if (taken.slot) {
      self->priv->intake->stats.time(InferStats::Time::kWaiting, g_get_monotonic_time() - start);
      return std::move(taken.slot);
    }
    GST_DEBUG_OBJECT(self, "waiting for a slot for %lld ms; %zu of %zu are free",
                     static_cast<long long>((g_get_monotonic_time() - start) / 1000),
                     pool->free_count(), pool->size());
  }
  return SlotPtr();
}

// Converts a region that comes without a tensor of ours, as its view says. Where there is no slot
// for it, the region has none.
static Status gst_dv_infer_convert(GstDvInfer* self, GstBuffer* frame,
                                   const dvnn::image::View& view, InferItem* item, size_t index) {
  auto& sink = self->priv->sink;
  const dvnn::gst::LoadedNetwork& loaded = *item->network;
  if (sink.converters_of != item->network) {
    sink.converters.reset();
    sink.converters_of = item->network;
  }
  DVNN_ASSIGN(FrameConverter * converter,
              sink.converters.get(index, sink.video, {loaded.network->input_desc(), {}},
                                  loaded.network->model().input.picture, view));
  const bool waits = item->leave_by_us == 0;
  DVNN_ASSIGN(SlotPtr slot, gst_dv_infer_own_slot(self, *item, waits));
  if (!slot) return {};
  const gint64 start = g_get_monotonic_time();
  DVNN_TRY(converter->convert(frame, slot->slot.get(), dvnn::network::InputKind::kTensor));
  Region& region = item->regions[index];
  region.ready_us = g_get_monotonic_time();
  self->priv->intake->stats.time(InferStats::Time::kConversion, region.ready_us - start);
  region.shown = converter->shown();
  region.slot = std::move(slot);
  return {};
}

static const dvnn::image::View& gst_dv_infer_region_view(const FrameView& view, size_t index) {
  return view.regions ? (*view.regions)[index].view : view.view;
}

Status gst_dv_infer_fill(GstDvInfer* self, GstBuffer* frame, const FrameView& view, InferItem* item,
                         size_t index) {
  if (item->regions[index].slot) return {};
  return dvnn::guarded("the frame cannot be converted", [&] {
    return gst_dv_infer_convert(self, frame, gst_dv_infer_region_view(view, index), item, index);
  });
}
