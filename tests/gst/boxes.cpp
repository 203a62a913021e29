// SPDX-License-Identifier: Apache-2.0
#include "boxes.h"

#include <gst/video/video.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace dvnn::test {

std::vector<Found> detections(GstBuffer* buffer) {
  std::vector<Found> list;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    Found f;
    f.label = g_quark_to_string(roi->roi_type);
    f.x0 = roi->x, f.x1 = roi->x + roi->w;
    f.y0 = roi->y, f.y1 = roi->y + roi->h;
    if (GstStructure* s = gst_video_region_of_interest_meta_get_param(roi, "detection")) {
      gst_structure_get(s, "confidence", G_TYPE_DOUBLE, &f.confidence, "x0", G_TYPE_DOUBLE, &f.x0,
                        "y0", G_TYPE_DOUBLE, &f.y0, "x1", G_TYPE_DOUBLE, &f.x1, "y1", G_TYPE_DOUBLE,
                        &f.y1, "class-id", G_TYPE_INT, &f.class_id, nullptr);
    }
    list.push_back(f);
  }
  return list;
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
