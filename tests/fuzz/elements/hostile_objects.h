// SPDX-License-Identifier: Apache-2.0
// Arbitrary objects on a frame, as any element may write them, and the changes that other elements
// make to a frame with metas.
#pragma once

#include <gst/video/video.h>

#include <string>

#include "fuzzed_data.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "video_matrix.h"

namespace dvnn::fuzz {

/// Adds points, corners, texts and masks within about `extent` pixels.
inline void add_details(FuzzedData* in, double extent, GstDvObject* object) {
  static const char* const kSkeletons[] = {"face-5", "coco-17", "none", ""};
  for (uint8_t left = in->byte() % 8; left > 0; --left) {
    gst_dv_object_add_point(object, in->real(extent), in->real(extent),
                            static_cast<gfloat>(in->real(1)));
  }
  for (uint8_t left = in->byte() % 6; left > 0; --left) {
    gst_dv_object_add_corner(object, in->real(extent), in->real(extent));
  }
  const uint8_t more = in->byte();
  if (more & 1) gst_dv_object_set_skeleton(object, in->one_of(kSkeletons));
  if (more & 2) {
    const guint width = in->byte() % 8, height = in->byte() % 8;
    const std::string cells(size_t{width} * height, '\x5a');
    GBytes* bytes = g_bytes_new(cells.data(), cells.size());
    gst_dv_object_set_mask(object, in->real(extent), in->real(extent), in->real(extent),
                           in->real(extent), width, height, bytes);
    g_bytes_unref(bytes);
  }
  if (more & 4) gst_dv_object_set_text(object, in->text(40).c_str());
  if (more & 8) gst_dv_object_add_number(object, in->text(8).c_str(), in->real(100));
  if (more & 16) {
    const gfloat values[] = {static_cast<gfloat>(in->real(1)), 1};
    gst_dv_object_set_embedding(object, values, in->byte() % 3);
  }
}

/// Adds an object with a box within about `extent` pixels.
inline void add_object(FuzzedData* in, double extent, GstDvObjectsMeta* meta) {
  static const char* const kLabels[] = {"one", "two", "", "\xff\xfe", "two\nlines"};
  const uint8_t kind = in->byte();
  GstDvObject* object = gst_dv_objects_meta_add_object(
      meta, kind >= 240 ? static_cast<GstDvObjectKind>(in->byte() % 4) : GST_DV_OBJECT_DETECTION,
      kind >= 248 ? in->any<int32_t>() : kind % 3, in->one_of(kLabels),
      static_cast<gfloat>(in->rarely() ? in->real(1) : in->byte() / 255.0));
  object->network = kind >= 232 ? in->any<int32_t>() : static_cast<gint>(kind % 4) - 1;
  object->track_id = in->rarely() ? in->any<uint64_t>() : in->byte() % 6;
  if (kind & 8) {
    object->x0 = in->real(extent), object->y0 = in->real(extent);
    object->x1 = in->real(extent), object->y1 = in->real(extent);
  } else {
    const double cell = extent / 256, x = in->byte() * cell, y = in->byte() * cell;
    gst_dv_object_set_box(object, x, y, x + 1 + in->byte() * cell, y + 1 + in->byte() * cell);
  }
  if (kind & 16) add_details(in, extent, object);
  if (kind & 32 && in->rarely()) object->parent = object->id - in->byte() % 3;
}

/// Adds arbitrary passes of networks with these names, and at most `most` objects.
template <typename Names>
GstDvObjectsMeta* add_objects(FuzzedData* in, const Names& networks, int64_t most, double extent,
                              GstBuffer* frame) {
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  for (uint8_t left = in->byte() % 3; left > 0; --left) {
    const guint at = gst_dv_objects_meta_add_pass(meta, in->one_of(networks),
                                                  static_cast<GstDvPassState>(in->byte() % 3));
    gst_dv_objects_meta_get_pass(meta, at)->regions = in->byte() % 3;
  }
  for (int64_t left = in->in(0, most); left > 0; --left) add_object(in, extent, meta);
  return meta;
}

inline test::VideoMatrix any_matrix(FuzzedData* in, const GstVideoInfo* from,
                                    const GstVideoInfo* to) {
  auto rectangle = [in]() -> GstVideoRectangle {
    const auto x = static_cast<gint>(in->extent(8) - 1), y = static_cast<gint>(in->extent(8) - 1);
    const auto w = static_cast<gint>(in->extent(64)), h = static_cast<gint>(in->extent(64));
    return {x, y, w, h};
  };
  test::VideoMatrix data = {from, rectangle(), to, rectangle(), {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  const uint8_t turned = in->byte();
  for (int row = 0; row < 2; ++row) {
    data.matrix[row][(row + turned) % 2] = static_cast<gfloat>(in->real(2));
    data.matrix[row][(row + turned + 1) % 2] = 0;
    data.matrix[row][2] = static_cast<gfloat>(in->real(32));
  }
  if (turned >= 248) data.matrix[in->byte() % 3][in->byte() % 3] = static_cast<gfloat>(in->real(1));
  return data;
}

/// Returns the frame as it leaves an element that copies it or a part of it, scales it, or turns it
/// upside down; metas are told.
inline GstBuffer* through_another_element(FuzzedData* in, GstBuffer* frame) {
  const uint8_t how = in->byte();
  GstBuffer* made = nullptr;
  if (how & 1) {
    const auto size = static_cast<int64_t>(gst_buffer_get_size(frame));
    made = gst_buffer_copy_region(frame, GST_BUFFER_COPY_ALL, 0,
                                  static_cast<gsize>(how & 2 ? in->in(0, size) : size));
  } else {
    GstVideoInfo infos[2];
    for (GstVideoInfo& info : infos) {
      const auto width = static_cast<guint>(in->in(1, 100)),
                 height = static_cast<guint>(in->in(1, 100));
      gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGB, width, height);
      info.par_n = static_cast<gint>(in->in(1, 3));
    }
    test::VideoMatrix matrix = any_matrix(in, &infos[0], &infos[1]);
    GstVideoMetaTransform scaling = {&infos[0], &infos[1]};
    GQuark type = gst_video_meta_transform_scale_get_quark();
    gpointer data = &scaling;
    if (how & 4) type = g_quark_from_static_string("gst-video-matrix"), data = &matrix;
    if (how & 8) type = g_quark_from_static_string("something else");
    made = gst_buffer_new();
    gst_buffer_copy_into(
        made, frame,
        static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS |
                                        GST_BUFFER_COPY_MEMORY),
        0, static_cast<gsize>(-1));
    gpointer state = nullptr;
    while (GstMeta* meta = gst_buffer_iterate_meta(frame, &state)) {
      if (meta->info->transform_func) meta->info->transform_func(made, meta, frame, type, data);
    }
  }
  gst_buffer_unref(frame);
  return made ? made : gst_buffer_new();
}

}  // namespace dvnn::fuzz
