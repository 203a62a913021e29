// SPDX-License-Identifier: Apache-2.0
#include "boxes.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "gst/dvnn/gstdvobjectsmeta.h"

namespace dvnn::test {

std::vector<Found> detections(GstBuffer* buffer) {
  std::vector<Found> list;
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(buffer);
  for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (object->kind != GST_DV_OBJECT_DETECTION || !gst_dv_object_has_box(object)) continue;
    list.push_back({object->label, static_cast<double>(object->confidence), object->x0, object->y0,
                    object->x1, object->y1, object->class_id});
  }
  return list;
}

Passes passes(GstBuffer* buffer) {
  Passes passes;
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(buffer);
  for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_passes(meta); ++i) {
    const GstDvPass* pass = gst_dv_objects_meta_get_pass(meta, i);
    passes.inferred += pass->state == GST_DV_PASS_INFERRED;
    passes.skipped += pass->state != GST_DV_PASS_INFERRED;
  }
  return passes;
}

std::string describe(const std::vector<Found>& list) {
  std::string text;
  for (const Found& f : list) {
    gchar* part = g_strdup_printf("%s%s %.3f <%.2f,%.2f,%.2f,%.2f>", text.empty() ? "" : ", ",
                                  f.label.c_str(), f.confidence, f.x0, f.y0, f.x1, f.y1);
    text += part;
    g_free(part);
  }
  return text.empty() ? "nothing" : text;
}

std::string difference(std::vector<Found> have, std::vector<Found> want, double pixels,
                       double confidence) {
  // Rounded, so that boxes which differ by less than the tolerance sort alike.
  const double grain = std::max(pixels * 4, 1e-3);
  auto sort = [grain](std::vector<Found>* list) {
    auto key = [grain](const Found& f) {
      return std::make_tuple(f.label, std::lround(f.y0 / grain), std::lround(f.x0 / grain),
                             std::lround(f.y1 / grain), std::lround(f.x1 / grain));
    };
    std::sort(list->begin(), list->end(),
              [&](const Found& a, const Found& b) { return key(a) < key(b); });
  };
  sort(&have);
  sort(&want);
  bool same = have.size() == want.size();
  for (size_t i = 0; same && i < have.size(); ++i) {
    const Found &a = have[i], &b = want[i];
    same = a.label == b.label && std::fabs(a.x0 - b.x0) <= pixels &&
           std::fabs(a.y0 - b.y0) <= pixels && std::fabs(a.x1 - b.x1) <= pixels &&
           std::fabs(a.y1 - b.y1) <= pixels && std::fabs(a.confidence - b.confidence) <= confidence;
  }
  return same ? "" : "found " + describe(have) + "; expected " + describe(want);
}

}  // namespace dvnn::test
