// SPDX-License-Identifier: Apache-2.0
#include "meta/viewmeta.h"

#include <algorithm>
#include <memory>
#include <new>
#include <type_traits>

#include "base/result.h"
#include "meta/metatransform.h"

namespace dvnn::gst {
namespace {

struct ViewMeta {
  GstMeta meta;
  FrameView view;  // in place: C code makes and frees metas, and exceptions cannot pass through it
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

void view_meta_free(GstMeta* meta, GstBuffer*) {
  std::destroy_at(&reinterpret_cast<ViewMeta*>(meta)->view);
}

static_assert(std::is_nothrow_copy_assignable_v<FrameView>, "views are copied where C calls");

// Moves the regions to the changed frame and drops those with nothing left. False if memory ran
// out.
bool follow_regions(const FrameChange& change, FrameView* view) {
  return guarded("a frame's regions",
                 [&]() -> Status {
                   auto moved = std::make_shared<RegionViews>(*view->regions);
                   moved->erase(std::remove_if(moved->begin(), moved->end(),
                                               [&](RegionView& region) {
                                                 return !region.view.follow(change.transform,
                                                                            change.from, change.to);
                                               }),
                                moved->end());
                   view->regions = std::move(moved);
                   return {};
                 })
      .ok();
}

gboolean view_meta_transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data) {
  FrameView view = reinterpret_cast<ViewMeta*>(meta)->view;
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
  } else if (const auto change = frame_change(type, data)) {
    if (view.regions && !follow_regions(*change, &view)) {
      view.regions.reset();
      view.verdict = Verdict::kPass;
    }
    // With nothing of the region left, there is nothing to infer.
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
      gst_meta_register(view_meta_api(), "GstDvViewMeta", sizeof(ViewMeta), view_meta_init,
                        view_meta_free, view_meta_transform);
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
