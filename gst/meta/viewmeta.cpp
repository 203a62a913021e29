// SPDX-License-Identifier: Apache-2.0
#include "meta/viewmeta.h"

#include <new>
#include <type_traits>

#include "meta/metatags.h"
#include "meta/metatransform.h"

namespace dvnn::gst {
namespace {

struct ViewMeta {
  GstMeta meta;
  FrameView view;  // in place: C code makes and frees metas, and cannot be told of exceptions
};

GType view_meta_api() {
  static const GType type = [] {
    return gst_meta_api_type_register("GstDvViewMetaAPI", frame_meta_tags());
  }();
  return type;
}

gboolean view_meta_init(GstMeta* meta, gpointer, GstBuffer*) {
  new (&reinterpret_cast<ViewMeta*>(meta)->view) FrameView();
  return TRUE;
}

static_assert(std::is_trivially_destructible_v<FrameView> &&
                  std::is_nothrow_copy_assignable_v<FrameView>,
              "a meta needs no function to free it");

gboolean view_meta_transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data) {
  FrameView view = reinterpret_cast<ViewMeta*>(meta)->view;
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
  } else if (const auto change = frame_change(type, data)) {
    // If nothing of the region is left, the network has nothing to look at.
    if (!view.view.follow(change->transform, change->from, change->to)) {
      view.view.region = {};
      view.verdict = Verdict::kPass;
    }
  } else {
    return FALSE;
  }
  set_frame_view(to, view);
  return TRUE;
}

const GstMetaInfo* view_meta_info() {
  static const GstMetaInfo* const info =
      gst_meta_register(view_meta_api(), "GstDvViewMeta", sizeof(ViewMeta), view_meta_init, nullptr,
                        view_meta_transform);
  return info;
}

}  // namespace

void set_frame_view(GstBuffer* frame, const FrameView& view) {
  GstMeta* meta = gst_buffer_get_meta(frame, view_meta_api());
  if (!meta) meta = gst_buffer_add_meta(frame, view_meta_info(), nullptr);
  reinterpret_cast<ViewMeta*>(meta)->view = view;
}

std::optional<FrameView> get_frame_view(GstBuffer* frame) {
  GstMeta* meta = gst_buffer_get_meta(frame, view_meta_api());
  return meta ? std::optional<FrameView>(reinterpret_cast<ViewMeta*>(meta)->view) : std::nullopt;
}

void remove_frame_view(GstBuffer* frame) {
  if (GstMeta* meta = gst_buffer_get_meta(frame, view_meta_api())) {
    gst_buffer_remove_meta(frame, meta);
  }
}

}  // namespace dvnn::gst
