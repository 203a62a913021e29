// SPDX-License-Identifier: Apache-2.0
#include "elements/overlayscene.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <unordered_map>

#include "base/format.h"
#ifdef DVNN_HAVE_ANALYTICS
#include "meta/analyticsimport.h"
#endif
#include "meta/roiexport.h"

namespace dvnn::gst {
namespace {

// A frame may carry any number of metas: more than this cannot be told apart on a screen.
constexpr size_t kMaxDrawings = 1000;
constexpr size_t kMaxHeldNetworks = 16;

// Labels may be of any length, and each drawing has a copy: no more than a screen shows.
constexpr size_t kMaxLabelBytes = 256;

std::string label_text(const char* label, double confidence, const SceneSettings& settings) {
  std::string text;
  if (settings.labels && label) text.assign(label, strnlen(label, kMaxLabelBytes));
  if (settings.confidence && confidence >= 0) {
    text += dvnn::format("%s%.0f%%", text.empty() ? "" : " ", 100 * std::min(confidence, 1.0));
  }
  return text;
}

// Reads an object. One without a position appears in messages, but is not drawn.
bool read_object(const GstDvObject& object, const SceneSettings& settings, Drawing* drawing) {
  if (!gst_dv_object_has_box(&object)) return false;
  drawing->place = {object.x0, object.y0, object.x1, object.y1};
  drawing->box = object.kind == GST_DV_OBJECT_DETECTION;
  drawing->class_id = object.class_id;
  drawing->text = label_text(object.label, static_cast<double>(object.confidence), settings);
  return true;
}

guint color_number(const gchar* type) {
  guint number = 5381;
  for (size_t i = 0; i < kMaxLabelBytes && type[i]; ++i) {
    number = number * 33 + static_cast<guchar>(type[i]);
  }
  return number & 0xff;
}

// The exact box of a region, if the region was not scaled since it was written.
bool read_exact_box(const GstStructure* fields, const image::Corners& region,
                    image::Corners* exact) {
  image::Corners box;
  if (!gst_structure_get(fields, "x0", G_TYPE_DOUBLE, &box.x0, "y0", G_TYPE_DOUBLE, &box.y0, "x1",
                         G_TYPE_DOUBLE, &box.x1, "y1", G_TYPE_DOUBLE, &box.y1, nullptr)) {
    return false;
  }
  auto same = [](double a, double b) { return std::fabs(a - b) <= 1; };
  if (!same(box.x0, region.x0) || !same(box.y0, region.y0) || !same(box.x1, region.x1) ||
      !same(box.y1, region.y1)) {
    return false;
  }
  *exact = box;
  return true;
}

// Regions of interest of any maker: the rectangle and its type, and what dvdecode adds to them.
Drawing read_region(GstVideoRegionOfInterestMeta* roi, const SceneSettings& settings) {
  Drawing drawing;
  drawing.place = {static_cast<double>(roi->x), static_cast<double>(roi->y),
                   static_cast<double>(roi->x) + roi->w, static_cast<double>(roi->y) + roi->h};
  const gchar* type = g_quark_to_string(roi->roi_type);
  const GstStructure* fields = gst_video_region_of_interest_meta_get_param(roi, "detection");
  if (!fields) {
    fields = gst_video_region_of_interest_meta_get_param(roi, "classification");
    drawing.box = !fields;
  }
  gdouble confidence = -1;
  // Regions without a class still have a colour of their own.
  drawing.class_id = type ? static_cast<int>(color_number(type)) : 0;
  if (fields) {
    gst_structure_get_int(fields, "class-id", &drawing.class_id);
    gst_structure_get_double(fields, "confidence", &confidence);
    read_exact_box(fields, drawing.place, &drawing.place);
  }
  drawing.text = label_text(type, confidence, settings);
  return drawing;
}

void read_regions(GstBuffer* frame, const GstDvObjectsMeta* meta, const SceneSettings& settings,
                  std::vector<Drawing>* scene) {
  // The regions that are exports of our objects, by id.
  std::unordered_map<gint, const GstDvObject*> objects;
  const guint count = meta ? gst_dv_objects_meta_get_n_objects(meta) : 0;
  for (guint i = 0; i < count; ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    objects.emplace(roi_id(object->id), object);
  }
  gpointer state = nullptr;
  while (GstMeta* found = gst_buffer_iterate_meta_filtered(
             frame, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    if (scene->size() >= kMaxDrawings) return;
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(found);
    const auto object = objects.find(roi->id);
    if (object != objects.end() && is_roi_of(*roi, *object->second)) continue;
    scene->push_back(read_region(roi, settings));
  }
}

#ifdef DVNN_HAVE_ANALYTICS
// Reads what other elements have found and written as analytics metas.
void read_others(GstBuffer* frame, const SceneSettings& settings, std::vector<Drawing>* scene) {
  const size_t room = kMaxDrawings - std::min(kMaxDrawings, scene->size());
  for (const AnalyticsObject& object : read_analytics(frame, room)) {
    Drawing drawing;
    const gchar* label = g_quark_to_string(object.label);  // null where it has none
    drawing.place = object.box;
    drawing.box = object.is_detection;
    drawing.class_id = label ? static_cast<int>(color_number(label)) : 0;
    drawing.text = label_text(label, static_cast<double>(object.confidence), settings);
    scene->push_back(std::move(drawing));
  }
}
#endif

void append(std::vector<Drawing> drawings, std::vector<Drawing>* scene) {
  const size_t room = kMaxDrawings - std::min(kMaxDrawings, scene->size());
  if (drawings.size() > room) drawings.resize(room);
  std::move(drawings.begin(), drawings.end(), std::back_inserter(*scene));
}

}  // namespace

// If a network did not look at the frame, its last objects stay for a while.
void OverlayScene::hold_or_recall(const GstDvPass& pass, std::vector<Drawing> drawings,
                                  GstClockTime time, GstClockTime hold,
                                  std::vector<Drawing>* scene) {
  if (!pass.network) return append(std::move(drawings), scene);
  const bool timed = GST_CLOCK_TIME_IS_VALID(time);
  if (pass.state == GST_DV_PASS_SKIPPED && drawings.empty()) {
    const auto held = held_.find(pass.network);
    if (held == held_.end() || !timed) return;
    // A time before the held one is another part of the stream.
    if (time >= held->second.time && time - held->second.time <= hold) {
      append(held->second.drawings, scene);
    } else {
      held_.erase(held);
    }
    return;
  }
  if (timed && hold > 0) {
    if (held_.size() >= kMaxHeldNetworks) held_.clear();
    held_[pass.network] = {time, drawings};
  }
  append(std::move(drawings), scene);
}

void OverlayScene::read_objects(const GstDvObjectsMeta* meta, GstClockTime time,
                                const SceneSettings& settings, std::vector<Drawing>* scene) {
  const guint passes = gst_dv_objects_meta_get_n_passes(meta);
  // One group for each pass, and a last one for objects of no pass.
  std::vector<std::vector<Drawing>> groups(passes + 1);
  size_t total = 0;
  for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta) && total < kMaxDrawings; ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    Drawing drawing;
    if (!read_object(*object, settings, &drawing)) continue;
    const bool known = object->network >= 0 && static_cast<guint>(object->network) < passes;
    groups[known ? static_cast<guint>(object->network) : passes].push_back(std::move(drawing));
    ++total;
  }
  for (guint i = 0; i < passes; ++i) {
    hold_or_recall(*gst_dv_objects_meta_get_pass(meta, i), std::move(groups[i]), time,
                   settings.hold, scene);
  }
  append(std::move(groups[passes]), scene);
}

std::vector<Drawing> OverlayScene::read(GstBuffer* frame, GstClockTime time,
                                        const SceneSettings& settings) {
  std::vector<Drawing> scene;
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  if (meta) read_objects(meta, time, settings, &scene);
  read_regions(frame, meta, settings, &scene);
#ifdef DVNN_HAVE_ANALYTICS
  read_others(frame, settings, &scene);
#endif
  return scene;
}

}  // namespace dvnn::gst
