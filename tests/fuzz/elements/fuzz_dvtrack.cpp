// SPDX-License-Identifier: Apache-2.0
// dvtrack and dvzones: objects and passes of anybody, at any times, in frames of any size.
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "hostile_stream.h"
#include "target.h"

namespace dvnn::fuzz::dvtrack_target {

using fuzz::FuzzedData;

namespace {

const char* const kLine =
    "dvtrack name=track ! dvzones name=zones zones=\"{"
    "\\\"areas\\\":[{\\\"name\\\":\\\"a\\\",\\\"points\\\":[[0.2,0.2],[0.8,0.2],[0.8,0.8]],"
    "\\\"dwell\\\":100,\\\"idle\\\":100,\\\"crowd\\\":2},"
    "{\\\"name\\\":\\\"b\\\",\\\"unit\\\":\\\"pixels\\\",\\\"anchor\\\":\\\"overlap\\\","
    "\\\"points\\\":[[5,5],[60,5],[60,60],[5,60]]}],"
    "\\\"lines\\\":[{\\\"name\\\":\\\"l\\\",\\\"band\\\":0.02,\\\"points\\\":"
    "[[0.5,1],[0.5,0.5],[0.3,0]]}]}\"";

void add_object(FuzzedData* in, guint passes, GstDvObjectsMeta* meta) {
  static const char* const kLabels[] = {"person", "car", "", "\xff\xfe"};
  const uint8_t kind = in->byte();
  GstDvObject* object = gst_dv_objects_meta_add_object(
      meta, kind >= 240 ? GST_DV_OBJECT_CLASSIFICATION : GST_DV_OBJECT_DETECTION,
      kind >= 248 ? in->any<int32_t>() : kind % 3, in->one_of(kLabels),
      static_cast<gfloat>(in->rarely() ? in->real(1) : in->byte() / 255.0));
  object->network = kind >= 232 ? in->any<int32_t>() : static_cast<gint>(kind % (passes + 1)) - 1;
  if (in->rarely()) object->track_id = in->any<uint64_t>();
  if (kind & 8) {
    object->x0 = in->real(80), object->y0 = in->real(80);
    object->x1 = in->real(80), object->y1 = in->real(80);
  } else {
    const double x = in->byte() / 3.0, y = in->byte() / 3.0;
    gst_dv_object_set_box(object, x, y, x + 1 + in->byte() / 8.0, y + 1 + in->byte() / 8.0);
  }
}

void add_objects(FuzzedData* in, GstBuffer* frame) {
  static const char* const kNetworks[] = {"net", "other"};
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  const guint passes = in->byte() % 3;
  for (guint i = 0; i < passes; ++i) {
    gst_dv_objects_meta_add_pass(meta, in->one_of(kNetworks),
                                 static_cast<GstDvPassState>(in->byte() % 3));
  }
  for (uint8_t left = in->byte() % 6; left > 0; --left) add_object(in, passes, meta);
}

void set_properties(FuzzedData* in, GstElement* bin) {
  const uint8_t which = in->byte();
  GstElement* track = gst_bin_get_by_name(GST_BIN(bin), "track");
  g_object_set(track, "labels", which & 1 ? "person" : "", "min-evidence",
               which & 2 ? static_cast<double>(in->in(0, 100)) : 4.0, "max-lost-ms",
               which & 4 ? in->extent(5000) : 2000u, "max-coast-ms",
               which & 8 ? in->extent(5000) : 0u, "smooth", !(which & 16), "predict", !(which & 32),
               nullptr);
  gst_object_unref(track);
  GstElement* zones = gst_bin_get_by_name(GST_BIN(bin), "zones");
  g_object_set(zones, "count-predicted", which & 64, "leave-after-ms",
               which & 128 ? in->extent(5000) : 2000u, nullptr);
  gst_object_unref(zones);
}

}  // namespace

static void prepare() {
  fuzz::start_gstreamer();
}

static void try_input(const uint8_t* data, size_t size) {
  constexpr int kMostFrames = 12;
  static auto* const harness = new fuzz::Harness(gst_harness_new_parse(kLine));
  FuzzedData in(data, size);
  harness->begin_anew();
  set_properties(&in, harness->element());
  for (int streams = 0; streams < 2 && (streams == 0 || in.left() > 0); ++streams) {
    GstClockTime time = 0;
    fuzz::play_video(&in, kMostFrames, harness, [&](const GstVideoInfo& info) {
      GstBuffer* frame = fuzz::any_frame(&in, info);
      // Mostly as streams are.
      if (!in.rarely()) GST_BUFFER_PTS(frame) = time += in.byte() * GST_MSECOND;
      add_objects(&in, frame);
      return frame;
    });
  }
}

DVNN_FUZZ_TARGET(dvtrack)

}  // namespace dvnn::fuzz::dvtrack_target
