// SPDX-License-Identifier: Apache-2.0
// A camera over flat ground, and a pipeline with a dvzones "z" that gets what it sees.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/format.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::gst_ground_tests {

constexpr int kWidth = 1280, kHeight = 720;  // pixels of the camera's frames

struct Random {
  std::mt19937_64 engine;
  double between(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(engine);
  }
  double noise(double deviation) { return deviation * std::normal_distribution<double>()(engine); }
};

// A pinhole camera over (0, 0), which looks along y, down by `tilt` and to one side by `pan`, and
// is rolled around its axis; degrees.
struct Camera {
  double height = 5, tilt = 30, view = 70, pan = 0, roll = 0;
  struct Pixel {
    double u = 0, v = 0;
    bool seen = false;
  };
  Pixel see(double x, double y, double z) const {
    const double a = pan * M_PI / 180, t = tilt * M_PI / 180, r = roll * M_PI / 180;
    const double right = x * std::cos(a) - y * std::sin(a);
    const double ahead = x * std::sin(a) + y * std::cos(a), down = height - z;
    const double depth = ahead * std::cos(t) + down * std::sin(t);
    const double below = down * std::cos(t) - ahead * std::sin(t);
    const double focal = kWidth / 2 / std::tan(view * M_PI / 360);
    Pixel at;
    at.u = kWidth / 2 + focal * (right * std::cos(r) - below * std::sin(r)) / depth;
    at.v = kHeight / 2 + focal * (right * std::sin(r) + below * std::cos(r)) / depth;
    at.seen = depth > 0.5 && at.u > 0 && at.v > 0 && at.u < kWidth && at.v < kHeight;
    return at;
  }
  // The ground as a user would describe it: places of the picture with their metres.
  std::string ground() const {
    std::string points, metres;
    for (double x = -6; x <= 6; x += 3) {
      for (double y = 4; y <= 20; y += 4) {
        const Pixel at = see(x, y, 0);
        if (!at.seen) continue;
        points += format("%s[%.10g,%.10g]", points.empty() ? "" : ",", at.u, at.v);
        metres += format("%s[%g,%g]", metres.empty() ? "" : ",", x, y);
      }
    }
    return R"("ground":{"unit":"pixels","points":[)" + points + R"(],"metres":[)" + metres + "]}";
  }
};

struct Box {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  const char* label = "person";
};

// The box of an upright object on the ground, seen from above its foot to its head; jitters by a
// share of its height.
inline Box box_of(const Camera& camera, double x, double y, double tall, double wide, double jitter,
                  Random* random) {
  const Camera::Pixel foot = camera.see(x, y, 0), head = camera.see(x, y, tall);
  const double size = std::hypot(foot.u - head.u, foot.v - head.v), half = size * wide / 2;
  const double noise = jitter * size;
  return {foot.u - half + random->noise(noise), head.v + random->noise(noise),
          foot.u + half + random->noise(noise), foot.v + random->noise(noise)};
}

class GroundHarness {
 public:
  GroundHarness(const std::string& launch, const std::string& zones, const char* format = "GRAY8")
      : format_(format), harness_(gst_harness_new_parse(launch.c_str())) {
    gst_element_set_bus(harness_->element, bus_);
    GstElement* element = gst_bin_get_by_name(GST_BIN(harness_->element), "z");
    ck_assert_ptr_nonnull(element);
    g_object_set(element, "zones", zones.c_str(), nullptr);
    gst_object_unref(element);
    gst_harness_set_src_caps_str(harness_, video_caps(format_, kWidth, kHeight).c_str());
  }
  ~GroundHarness() {
    gst_element_set_bus(harness_->element, nullptr);
    gst_harness_teardown(harness_);
    gst_object_unref(bus_);
  }
  GroundHarness(const GroundHarness&) = delete;
  GroundHarness& operator=(const GroundHarness&) = delete;
  GstHarness* get() const { return harness_; }

  // A frame with boxes, in and out again; the caller's. `track`: the number of the first one, or 0
  // if dvtrack is to say.
  GstBuffer* push(double seconds, const std::vector<Box>& boxes, guint64 track = 0,
                  bool discont = false) {
    const GstVideoInfo info = video_info(format_, kWidth, kHeight);
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
    gst_buffer_memset(frame, 0, 110, GST_VIDEO_INFO_SIZE(&info));
    GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(std::llround(seconds * 1e9));
    if (discont) GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_DISCONT);
    GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
    gst_dv_objects_meta_add_pass(meta, "net", GST_DV_PASS_INFERRED);
    for (const Box& box : boxes) {
      GstDvObject* object =
          gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, box.label, 0.9f);
      object->network = 0;
      if (track != 0) object->track_id = track++;
      gst_dv_object_set_box(object, box.x0, box.y0, box.x1, box.y1);
    }
    return gst_harness_push_and_pull(harness_, frame);
  }
  void see(double seconds, const std::vector<Box>& boxes, guint64 track = 0, bool discont = false) {
    gst_buffer_unref(push(seconds, boxes, track, discont));
  }
  // The next message of dvzones of this name and, if it is an event, of this kind; the caller's.
  GstStructure* message(const char* name, const char* kind = nullptr) {
    while (GstMessage* message = gst_bus_pop_filtered(bus_, GST_MESSAGE_ELEMENT)) {
      const GstStructure* fields = gst_message_get_structure(message);
      const bool wanted = gst_structure_has_name(fields, name) &&
                          (!kind || std::string(gst_structure_get_string(fields, "event")) == kind);
      GstStructure* copy = wanted ? gst_structure_copy(fields) : nullptr;
      gst_message_unref(message);
      if (copy) return copy;
    }
    return nullptr;
  }

 private:
  const std::string format_;
  GstHarness* const harness_;
  GstBus* const bus_ = gst_bus_new();
};

}  // namespace dvnn::test::gst_ground_tests
