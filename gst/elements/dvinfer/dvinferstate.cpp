// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/dvinferstate.h"

#include "refs.h"

GST_DEBUG_CATEGORY(gst_dv_infer_debug);

using dvnn::Error;
using dvnn::gst::InferSettings;
using dvnn::gst::ObjectLock;
using dvnn::gst::Topic;

InferSettings gst_dv_infer_settings(GstDvInfer* self) {
  const ObjectLock lock(self);
  return self->priv->shared.settings;
}

dvnn::gst::InferRules gst_dv_infer_rules(GstDvInfer* self) {
  const ObjectLock lock(self);
  return self->priv->shared.settings;
}

std::shared_ptr<dvnn::gst::InferQueue> gst_dv_infer_queue(GstDvInfer* self) {
  const ObjectLock lock(self);
  return self->priv->queue;
}

LoadedPtr gst_dv_infer_loaded(GstDvInfer* self) {
  const ObjectLock lock(self);
  return self->priv->shared.loaded;
}

void gst_dv_infer_post_error(GstDvInfer* self, Topic topic, const Error& error,
                             const dvnn::gst::CodePlace& place) {
  const InferSettings s = gst_dv_infer_settings(self);
  dvnn::gst::post_error(GST_ELEMENT(self), topic, error,
                        "network=" + s.network + " weights-file=" + s.weights_file +
                            " input-size=" + s.input_size + " device=" + s.device,
                        place);
}

GstStructure* gst_dv_infer_stats(GstDvInfer* self) {
  GstStructure* stats = self->priv->intake->stats.to_structure();
  const LoadedPtr loaded = gst_dv_infer_loaded(self);
  std::shared_ptr<dvnn::gst::SlotPool> pool;
  {
    const ObjectLock lock(self);
    if (loaded) pool = loaded->pool;
  }
  gst_structure_set(stats, "slots", G_TYPE_UINT, pool ? static_cast<guint>(pool->size()) : 0U,
                    "slots-free", G_TYPE_UINT, pool ? static_cast<guint>(pool->free_count()) : 0U,
                    nullptr);
  return stats;
}

void gst_dv_infer_post_stats(GstDvInfer* self) {
  gst_element_post_message(GST_ELEMENT(self),
                           gst_message_new_element(GST_OBJECT(self), gst_dv_infer_stats(self)));
}
