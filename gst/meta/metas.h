// SPDX-License-Identifier: Apache-2.0
// A buffer's metas of one kind in a range-based for, in the order in which they were added, and
// what networks upstream have left word of on a frame.
#pragma once

#include <gst/video/gstvideometa.h>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"

namespace dvnn::gst {

/// `Meta`: the struct of the API's metas. The loop may remove the meta at which it is if it ends
/// there.
template <typename Meta>
class Metas {
 public:
  Metas(GstBuffer* buffer, GType api) : buffer_(buffer), api_(api) {}

  class Iterator {
   public:
    Iterator() = default;
    explicit Iterator(const Metas& metas) : buffer_(metas.buffer_), api_(metas.api_) { ++*this; }
    Meta* operator*() const { return reinterpret_cast<Meta*>(meta_); }
    Iterator& operator++() {
      meta_ = gst_buffer_iterate_meta_filtered(buffer_, &state_, api_);
      return *this;
    }
    bool operator!=(const Iterator& other) const { return meta_ != other.meta_; }

   private:
    GstBuffer* buffer_ = nullptr;
    GType api_ = 0;
    gpointer state_ = nullptr;
    GstMeta* meta_ = nullptr;
  };
  Iterator begin() const { return Iterator(*this); }
  Iterator end() const { return {}; }

 private:
  GstBuffer* buffer_;
  GType api_;
};

/// A frame's outputs of networks.
inline Metas<GstDvTensorMeta> tensor_metas(GstBuffer* frame) {
  return {frame, GST_DV_TENSOR_META_API_TYPE};
}

/// A frame's regions, as GStreamer's own elements share them.
inline Metas<GstVideoRegionOfInterestMeta> region_metas(GstBuffer* frame) {
  return {frame, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE};
}

/// Returns the pass of the nearest network upstream, or null if none has left word. The frame owns
/// it.
inline const GstDvPass* newest_pass(GstBuffer* frame) {
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  const guint passes = meta ? gst_dv_objects_meta_get_n_passes(meta) : 0;
  return passes > 0 ? gst_dv_objects_meta_get_pass(meta, passes - 1) : nullptr;
}

/// Returns whether the network has run on at least one part of the frame.
inline bool has_run(const GstDvPass& pass) {
  return pass.state == GST_DV_PASS_INFERRED && pass.regions > 0;
}

/// Makes the buffer of a probe writable, for metas that applications add there, and returns it;
/// null if the probe is about no buffer.
inline GstBuffer* make_probe_writable(GstPadProbeInfo* info) {
  if (!(GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER)) return nullptr;
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  if (!buffer) return nullptr;
  buffer = gst_buffer_make_writable(buffer);
  GST_PAD_PROBE_INFO_DATA(info) = buffer;
  return buffer;
}

}  // namespace dvnn::gst
