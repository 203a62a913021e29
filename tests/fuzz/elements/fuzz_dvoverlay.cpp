// SPDX-License-Identifier: Apache-2.0
// dvoverlay: objects, passes, regions of interest and shapes of anybody, on frames whose memory is
// not what they say.
#include "gst/dvnn/gstdvdrawingmeta.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "hostile_stream.h"
#include "target.h"

namespace dvnn::fuzz::dvoverlay_target {

using fuzz::FuzzedData;

namespace {

void add_drawn_details(FuzzedData* in, double extent, GstDvObject* object) {
  static const char* const kSkeletons[] = {"coco-17", "face-5", "face-468", "none"};
  object->kind = static_cast<GstDvObjectKind>(in->byte() % 4);
  object->track_id = in->byte();
  for (uint8_t left = in->byte() % 20; left > 0; --left) {
    gst_dv_object_add_point(object, in->real(extent), in->real(extent),
                            static_cast<gfloat>(in->real(1)));
  }
  for (uint8_t left = in->byte() % 6; left > 0; --left) {
    gst_dv_object_add_corner(object, in->real(extent), in->real(extent));
  }
  gst_dv_object_set_skeleton(object, in->one_of(kSkeletons));
  const guint width = in->byte() % 8, height = in->byte() % 8;
  std::string cells = in->text(64);
  cells.resize(size_t{width} * height, '\xff');
  GBytes* bytes = g_bytes_new(cells.data(), cells.size());
  gst_dv_object_set_mask(object, in->real(extent), in->real(extent), in->real(extent),
                         in->real(extent), width, height, bytes);
  g_bytes_unref(bytes);
  gst_dv_object_set_text(object, in->text(40).c_str());
  gst_dv_object_add_number(object, in->text(8).c_str(), in->real(100));
}

void add_drawn_object(FuzzedData* in, double extent, GstDvObjectsMeta* meta) {
  const uint8_t kind = in->byte();
  const std::string label = in->text(kind >= 250 ? 255 : 12);
  GstDvObject* object = gst_dv_objects_meta_add_object(
      meta, kind & 1 ? GST_DV_OBJECT_CLASSIFICATION : GST_DV_OBJECT_DETECTION,
      kind >= 224 ? static_cast<gint>(in->any<uint32_t>()) : kind >> 4, label.c_str(),
      static_cast<gfloat>(in->real(1)));
  object->network = kind >= 240 ? static_cast<gint>(in->any<uint32_t>()) : in->byte() % 4 - 1;
  // Not by gst_dv_object_set_box(), which puts the corners in order.
  object->x0 = in->real(extent), object->y0 = in->real(extent);
  object->x1 = in->real(extent), object->y1 = in->real(extent);
  if (kind & 2) add_drawn_details(in, extent, object);
}

GstStructure* any_fields(FuzzedData* in, double extent) {
  static const char* const kNames[] = {"detection", "classification", "other"};
  GstStructure* fields = gst_structure_new_empty(in->one_of(kNames));
  const uint8_t which = in->byte();
  if (which & 1) {
    gst_structure_set(fields, "x0", G_TYPE_DOUBLE, in->real(extent), "y0", G_TYPE_DOUBLE,
                      in->real(extent), "x1", G_TYPE_DOUBLE, in->real(extent), "y1", G_TYPE_DOUBLE,
                      in->real(extent), nullptr);
  }
  if (which & 2) gst_structure_set(fields, "confidence", G_TYPE_DOUBLE, in->real(1), nullptr);
  if (which & 4) gst_structure_set(fields, "class-id", G_TYPE_INT, in->any<int32_t>(), nullptr);
  // Fields of unexpected types.
  if (which & 8) gst_structure_set(fields, "confidence", G_TYPE_STRING, "much", nullptr);
  if (which & 16) gst_structure_set(fields, "x0", G_TYPE_INT, 3, nullptr);
  return fields;
}

void add_region(FuzzedData* in, const GstDvObjectsMeta* objects, GstBuffer* frame) {
  static const char* const kTypes[] = {"face", "thing", "", "\xff\xfe", "two\nlines\x1b[2J"};
  GstVideoRegionOfInterestMeta* roi = gst_buffer_add_video_region_of_interest_meta(
      frame, in->one_of(kTypes), in->extent(80) - 1, in->extent(80) - 1, in->extent(80),
      in->extent(80));
  const uint8_t more = in->byte();
  if (more == 255) roi->roi_type = 0;
  if (more & 1) gst_video_region_of_interest_meta_add_param(roi, any_fields(in, 80));
  if (more & 2) gst_video_region_of_interest_meta_add_param(roi, any_fields(in, 80));
  if (more & 4) roi->id = in->any<int32_t>();
  if (more & 8 && objects && gst_dv_objects_meta_get_n_objects(objects) > 0) {
    roi->id = static_cast<gint>(gst_dv_objects_meta_get_object(objects, 0)->id);
  }
}

GstDvShape* any_shape(FuzzedData* in, double extent) {
  gdouble places[16];
  for (gdouble& place : places) place = in->real(extent);
  const auto color = in->any<guint32>(), fill = in->any<guint32>();
  const gsize length = in->byte() % 17;
  const double size = in->real(40);
  switch (in->byte() % 4) {
    case 0:
      return gst_dv_shape_new_line(places, length, color, size, nullptr);
    case 1:
      return gst_dv_shape_new_polygon(places, length, color, fill, size, nullptr);
    case 2:
      return gst_dv_shape_new_text(in->text(40).c_str(), places[0], places[1], color, fill, size,
                                   nullptr);
    default:
      const std::string pixels = in->text(255);
      GBytes* bytes = g_bytes_new(pixels.data(), pixels.size());
      GstDvShape* shape = gst_dv_shape_new_picture(bytes, in->byte() % 8, in->byte() % 8,
                                                   in->byte() % 6, in->byte() % 40, places[0],
                                                   places[1], places[2], places[3], nullptr);
      g_bytes_unref(bytes);
      return shape;
  }
}

// Shapes that are refused are null.
void add_shapes(FuzzedData* in, GstBuffer* frame) {
  GstDvDrawingMeta* meta = gst_buffer_add_dv_drawing_meta(frame);
  for (uint8_t left = in->byte() % 6; left > 0; --left) {
    GstDvShape* shape = any_shape(in, 80);
    if (!shape) continue;
    gst_dv_drawing_meta_add_shape(meta, shape, in->any<int8_t>(), nullptr);
    gst_dv_shape_unref(shape);
  }
}

void add_things(FuzzedData* in, GstBuffer* frame) {
  static const char* const kNetworks[] = {"net", "other", "third"};
  const uint8_t which = in->byte();
  GstDvObjectsMeta* meta = nullptr;
  if (which < 224) {
    meta = gst_buffer_add_dv_objects_meta(frame);
    for (uint8_t left = in->byte() % 3; left > 0; --left) {
      gst_dv_objects_meta_add_pass(meta, in->one_of(kNetworks),
                                   static_cast<GstDvPassState>(in->byte() % 3));
    }
    for (uint8_t left = in->byte() % 5; left > 0; --left) add_drawn_object(in, 80, meta);
  }
  for (uint8_t left = which % 4; left > 0; --left) add_region(in, meta, frame);
  if (in->byte() & 1) add_shapes(in, frame);
}

void set_properties(FuzzedData* in, GstElement* element) {
  const uint8_t which = in->byte();
  g_object_set(element, "draw-labels", !(which & 1), "draw-confidence", !(which & 2), "line-width",
               which & 4 ? static_cast<guint>(in->in(0, 100)) : 0u, "text-height",
               which & 8 ? static_cast<guint>(in->in(0, 500)) : 0u, "hold-ms",
               which & 16 ? in->any<uint32_t>() : 1000u, "color-by", which >> 5 & 1, "blur",
               which & 64 ? "face, thing" : "", "pixelate", which & 128 ? "thing" : "", nullptr);
}

}  // namespace

static void prepare() {
  fuzz::start_gstreamer();
}

static void try_input(const uint8_t* data, size_t size) {
  constexpr int kMostFrames = 3;
  static auto* const harness = new fuzz::Harness(gst_harness_new("dvoverlay"));
  FuzzedData in(data, size);
  harness->begin_anew();
  set_properties(&in, harness->element());
  for (int streams = 0; streams < 2 && (streams == 0 || in.left() > 0); ++streams) {
    fuzz::play_video(&in, kMostFrames, harness, [&](const GstVideoInfo& info) {
      GstBuffer* frame = fuzz::any_frame(&in, info);
      add_things(&in, frame);
      return frame;
    });
  }
}

DVNN_FUZZ_TARGET(dvoverlay)

}  // namespace dvnn::fuzz::dvoverlay_target
