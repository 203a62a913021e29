// SPDX-License-Identifier: Apache-2.0
// Regions are looked at without copies: whatever memory a pipeline takes while frames pass is
// smaller than the smallest region's pixels.
#include <algorithm>
#include <string>

#include "counted_new.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "streams.h"

namespace dvnn::test::region_copies_tests {

// GStreamer's allocator of system memory, but it notes sizes.
struct NotingAllocator {
  GstAllocator parent;
};
struct NotingAllocatorClass {
  GstAllocatorClass parent;
};
GType noting_allocator_get_type();
G_DEFINE_TYPE(NotingAllocator, noting_allocator, GST_TYPE_ALLOCATOR)

static GstMemory* noting_allocator_alloc(GstAllocator*, gsize size, GstAllocationParams* params) {
  static GstAllocator* const system = gst_allocator_find(GST_ALLOCATOR_SYSMEM);
  note_piece(size);
  return gst_allocator_alloc(system, size, params);
}

static void noting_allocator_class_init(NotingAllocatorClass* klass) {
  GST_ALLOCATOR_CLASS(klass)->alloc = noting_allocator_alloc;
}

static void noting_allocator_init(NotingAllocator*) {}

namespace {

constexpr int kWidth = 1280, kHeight = 960, kSide = 320;
constexpr size_t kSmallest = size_t{kSide} * kSide;  // one byte of each pixel of a region

// A frame with as many objects as fit in without overlap.
GstBuffer* frame_of(GstBuffer* picture) {
  GstBuffer* frame = gst_buffer_copy(picture);  // of the same memory
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  gst_dv_objects_meta_add_pass(meta, "first", GST_DV_PASS_INFERRED);
  for (int i = 0; i < (kWidth / kSide) * (kHeight / kSide); ++i) {
    const int x = i % (kWidth / kSide) * kSide, y = i / (kWidth / kSide) * kSide;
    GstDvObject* object =
        gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "thing", 0.9f);
    gst_dv_object_set_box(object, x, y, x + kSide, y + kSide);
    object->network = 0;
  }
  return frame;
}

// The largest piece of memory that was taken while frames passed.
size_t largest_of(const std::string& description) {
  GstHarness* h = chain(description, video_caps("RGB", kWidth, kHeight));
  GstBuffer* picture = noise("RGB", kWidth, kHeight);
  largest_piece = 0;
  for (int i = 0; i < 5; ++i) gst_buffer_unref(gst_harness_push_and_pull(h, frame_of(picture)));
  const size_t found = largest_piece;
  gst_buffer_unref(picture);
  gst_harness_teardown(h);
  return found;
}

std::string look(const std::string& properties, const std::string& rest) {
  return "dvconvert " + properties + " ! dvinfer network=" + network_path() + " " + rest;
}

}  // namespace

static int run_with_noted_memory(const char* name, const std::vector<const TTest*>& tests) {
  gst_init(nullptr, nullptr);
  gst_allocator_set_default(GST_ALLOCATOR_CAST(g_object_new(noting_allocator_get_type(), nullptr)));
  return run_gst_suite(name, tests);
}

DVNN_SUITE_RUN_BY(run_with_noted_memory, gst_region_copies);

DVNN_TEST(regions_are_not_copied) {
  const std::string list =
      "regions=list region-list=\"[[0,0,0.5,0.5],[0.25,0.25,0.5,0.5],"
      "{\\\"box\\\":[100,100,320,320],\\\"unit\\\":\\\"pixels\\\"}]\"";
  for (const std::string& regions :
       {std::string("regions=objects"), std::string("regions=objects align=aspect margin=0.2"),
        std::string("regions=tiles tiles=4x4,1x1"), list}) {
    for (const char* rest : {" ! dvdecode", "max-in-flight=1 ! queue ! dvdecode"}) {
      const size_t found = largest_of(look(regions, rest));
      ck_assert_msg(found < kSmallest, "%s: %zu bytes were taken at once", regions.c_str(), found);
    }
  }
}

DVNN_TEST(a_copy_would_be_seen) {
  const std::string rest = " ! dvdecode";
  ck_assert_uint_ge(largest_of("videoconvert ! capsfilter caps=video/x-raw,format=BGRx ! " +
                               look("regions=objects", rest)),
                    size_t{kWidth} * kHeight * 4);
  ck_assert_uint_ge(largest_of("videoscale ! capsfilter caps=video/x-raw,width=640,height=480 ! " +
                               look("regions=frame", rest)),
                    kSmallest);
}

}  // namespace dvnn::test::region_copies_tests
