// SPDX-License-Identifier: Apache-2.0
// Frames that leave before their results, and where the results go: with `when-busy=pass`, and only
// where the network looks at objects that have tracks, as a result has to be told whose it is.
#include "elements/dvinfer/dvinferlate.h"

#include <algorithm>
#include <utility>

#include "elements/dvinfer/dvinferslots.h"
#include "errors.h"
#include "gst/dvnn/gstdvobjectsmeta.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_dv_infer_debug

using dvnn::Status;
using dvnn::gst::Followed;
using dvnn::gst::FrameView;
using dvnn::gst::InferItem;
using dvnn::gst::InferRules;
using dvnn::gst::InferStats;
using dvnn::gst::LateWhat;
using dvnn::gst::Region;

// --- sink side ---------------------------------------------------------------------------------

static Followed gst_dv_infer_followed(const GstDvObject& object) {
  return {object.track_id, object.class_id, {object.x0, object.y0, object.x1, object.y1}};
}

bool gst_dv_infer_may_leave(GstDvInfer* self, GstBuffer* frame, InferItem* item) {
  const InferRules rules = gst_dv_infer_rules(self);
  if (!rules.results_may_be_late() || item->tensors) return false;
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  if (!meta) return false;
  bool any = false;
  for (Region& region : item->regions) {
    const GstDvObject* object = region.tag.kind == GST_DV_REGION_OBJECT
                                    ? gst_dv_objects_meta_find_object(meta, region.tag.object)
                                    : nullptr;
    if (!object || object->track_id == 0) continue;
    region.followed = gst_dv_infer_followed(*object);
    any = true;
  }
  if (any) item->leave_by_us = item->times.arrived + int64_t{rules.late_after_ms} * 1000;
  return any;
}

Status gst_dv_infer_fill_at_once(GstDvInfer* self, GstBuffer* frame, const FrameView& view,
                                 InferItem* item) {
  std::vector<Region>& regions = item->regions;
  for (size_t i = 0; i < regions.size(); ++i) {
    // A region that nobody can be told of is not worth a run.
    if (regions[i].followed.track == 0) regions[i].slot.reset();
    if (regions[i].followed.track == 0 || regions[i].slot) continue;
    DVNN_TRY(gst_dv_infer_fill(self, frame, view, item, i));
  }
  const auto is_left_out = [](const Region& region) { return !region.slot; };
  regions.erase(std::remove_if(regions.begin(), regions.end(), is_left_out), regions.end());
  if (regions.empty()) self->priv->intake->stats.count(InferStats::Count::kPassed);
  return {};
}

// --- source side -------------------------------------------------------------------------------

// Takes what was done since the last frame left.
static void gst_dv_infer_take_late(GstDvInfer* self, const InferRules& rules,
                                   const LoadedPtr& network) {
  GstDvInferPrivate& priv = *self->priv;
  // Another network's results would be read as this one's.
  if (priv.late_of.lock() != network) priv.late.reset();
  priv.late_of = network;
  for (const dvnn::gst::ItemPtr& work : priv.queue->take_late()) {
    priv.intake->stats.count(InferStats::Count::kInferred);
    const bool wanted = rules.late_results != LateWhat::kDrop && work->network == network;
    if (wanted) priv.late.add(work.get());
  }
}

void gst_dv_infer_join_late(GstDvInfer* self, const InferRules& rules, InferItem* item) {
  GstDvInferPrivate& priv = *self->priv;
  GstBuffer* frame = GST_BUFFER_CAST(item->object.get());
  gst_dv_infer_take_late(self, rules, item->network);
  priv.late.begin_frame(GST_BUFFER_PTS(frame), *item);
  const GstDvObjectsMeta* meta =
      priv.late.empty() ? nullptr : gst_buffer_get_dv_objects_meta(frame);
  for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (object->kind != GST_DV_OBJECT_DETECTION || !gst_dv_object_has_box(object)) continue;
    auto region = priv.late.take(gst_dv_infer_followed(*object));
    if (!region) continue;
    region->tag.object = object->id;
    item->regions.push_back(std::move(*region));
    priv.intake->stats.count(InferStats::Count::kJoined);
  }
}

void gst_dv_infer_forget_late(GstDvInfer* self) {
  self->priv->queue->forget_late();
  self->priv->late.reset();
}
