// SPDX-License-Identifier: Apache-2.0
// Areas, lines, counts and trails: that dvoverlay draws what dvzones has watched, where it is, also
// on frames that were scaled in between. Pixel by pixel on gray frames.
#include <algorithm>
#include <functional>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::overlay_zones_tests {

DVNN_GST_SUITE(gst_overlay_zones);

namespace {

constexpr int kWidth = 120, kHeight = 80;
constexpr GstClockTime kFrame = 100 * GST_MSECOND;
const char* const kPlain =
    "draw-labels=false draw-confidence=false draw-tracks=false draw-counts=false line-width=2 ";
// An area, and a line upwards, whose right is right.
const char* const kZones =
    "dvzones post-messages=false name=zones zones=\"{"
    "\\\"areas\\\":[{\\\"name\\\":\\\"a\\\",\\\"unit\\\":\\\"pixels\\\","
    "\\\"points\\\":[[10,10],[40,10],[40,40],[10,40]]}],"
    "\\\"lines\\\":[{\\\"name\\\":\\\"l\\\",\\\"points\\\":[[0.5,0.75],[0.5,0.25]]}]}\" ";

struct Gray {
  int width = 0, height = 0;
  std::vector<guint8> rgb;
  // Greatest difference of a pixel from mid-gray.
  int contrast(int x, int y) const {
    int most = 0;
    for (int c = 0; c < 3; ++c) {
      most = std::max(most, std::abs(rgb[static_cast<size_t>((y * width + x) * 3 + c)] - 128));
    }
    return most;
  }
  bool differs(const Gray& other, int x0, int y0, int x1, int y1) const {
    for (int y = y0; y < y1; ++y) {
      const auto at = [&](int x) { return static_cast<ptrdiff_t>((y * width + x) * 3); };
      if (!std::equal(rgb.begin() + at(x0), rgb.begin() + at(x1), other.rgb.begin() + at(x0))) {
        return true;
      }
    }
    return false;
  }
  int drawn(int x0, int y0, int x1, int y1) const {
    int count = 0;
    for (int y = y0; y < y1; ++y) {
      for (int x = x0; x < x1; ++x) count += contrast(x, y) > 15;
    }
    return count;
  }
};

// Every pixel is drawn on where `wanted` says 1, and untouched where it says 0; -1 may be either.
void check_pixels(const Gray& picture, const std::function<int(int, int)>& wanted) {
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      const int want = wanted(x, y), have = picture.contrast(x, y);
      if (want > 0) ck_assert_msg(have > 15, "nothing at %d,%d", x, y);
      if (want == 0) ck_assert_msg(have == 0, "drawn (%d) at %d,%d", have, x, y);
    }
  }
}

// Frames go in at one size, and come out drawn upon, perhaps at another.
class Scene {
 public:
  explicit Scene(const std::string& line, int width = kWidth, int height = kHeight)
      : width_(width), height_(height), harness_(gst_harness_new_parse(line.c_str())) {
    gst_harness_set_sink_caps_str(harness_, video_caps("RGB", width, height).c_str());
    gst_harness_set_src_caps_str(harness_, video_caps("RGB", kWidth, kHeight).c_str());
  }
  ~Scene() { gst_harness_teardown(harness_); }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
  GstHarness* get() const { return harness_; }

  // With an object of a track, if there is one, whose foot is at (x, y).
  Gray see(int number, guint64 track = 0, double x = 0, double y = 0) {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, kWidth * kHeight * 3, nullptr);
    gst_buffer_memset(frame, 0, 128, kWidth * kHeight * 3);
    GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(number) * kFrame;
    GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
    gst_dv_objects_meta_add_pass(meta, "net", GST_DV_PASS_INFERRED);
    if (track != 0) {
      GstDvObject* object =
          gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "person", 0.9f);
      object->network = 0;
      object->track_id = track;
      gst_dv_object_set_box(object, x - 2, y - 3, x + 2, y);
    }
    GstBuffer* out = gst_harness_push_and_pull(harness_, frame);
    Gray picture;
    picture.width = width_;
    picture.height = height_;
    GstMapInfo map;
    ck_assert(gst_buffer_map(out, &map, GST_MAP_READ));
    picture.rgb.assign(map.data, map.data + width_ * height_ * 3);
    gst_buffer_unmap(out, &map);
    gst_buffer_unref(out);
    return picture;
  }

 private:
  const int width_, height_;
  GstHarness* const harness_;
};

bool near(double x, double from, double to, double margin) {
  return x > from - margin && x < to + margin;
}

// 1 on the lines of kZones times `scale`, 0 where they are not.
int wanted_of_zones(double scale, int column, int row) {
  const double x = (column + 0.5) / scale, y = (row + 0.5) / scale, half = 1 / scale;
  const auto on_area = [&](double margin) {
    return near(x, 10, 40, margin) && near(y, 10, 40, margin) &&
           !(x > 10 + margin && x < 40 - margin && y > 10 + margin && y < 40 - margin);
  };
  if (on_area(0.6 * half)) return 1;
  if (near(x, 60, 60, 0.6 * half) && near(y, 20, 60, 0)) return 1;
  if (on_area(2 * half)) return -1;
  // The line with its arrow at the middle, which points to the right.
  if (near(x, 60, 60, 2 * half) && near(y, 20, 60, 2 * half)) return -1;
  return near(x, 60, 60 + 16 / scale, 2 * half) && near(y, 40, 40, 8 * half) ? -1 : 0;
}

}  // namespace

DVNN_TEST(areas_and_lines_are_drawn_where_they_are) {
  Scene scene(std::string(kZones) + "! dvoverlay " + kPlain);
  const Gray picture = scene.see(0);
  check_pixels(picture, [](int x, int y) { return wanted_of_zones(1, x, y); });
  ck_assert_int_gt(picture.contrast(70, 40), 15);  // the arrow's shaft
}

DVNN_TEST(shapes_follow_a_scaled_frame) {
  Scene scene(std::string(kZones) + "! videoscale ! dvoverlay " + kPlain, 2 * kWidth, 2 * kHeight);
  check_pixels(scene.see(0), [](int x, int y) { return wanted_of_zones(2, x, y); });
}

// Cells of a tenth of the height, 8 pixels: the foot is in the one from (24, 24) to (32, 32).
DVNN_TEST(heat_follows_a_scaled_frame) {
  for (const int scale : {1, 2}) {
    Scene scene(std::string("dvzones zones=\"{\\\"heat\\\":{\\\"cell\\\":0.1}}\" ! videoscale ! "
                            "dvoverlay draw-heat=true hold-ms=0 ") +
                    kPlain,
                scale * kWidth, scale * kHeight);
    Gray picture;
    for (int i = 0; i < 21; ++i) picture = scene.see(i, i < 15 ? 7 : 0, 30, 30);
    check_pixels(picture, [&](int x, int y) {
      const int column = x / scale, row = y / scale;
      if (near(column, 26, 30, 0.5) && near(row, 26, 30, 0.5)) return 1;
      return near(column, 24, 31, 2.5) && near(row, 24, 31, 2.5) ? -1 : 0;
    });
  }
}

DVNN_TEST(shapes_are_dropped_where_it_is_not_known_where_they_are) {
  Scene scene(std::string(kZones) + "! videocrop left=20 ! dvoverlay " + kPlain, kWidth - 20);
  check_pixels(scene.see(0), [](int, int) { return 0; });
}

DVNN_TEST(shapes_are_not_drawn_if_not_asked_for) {
  Scene scene(std::string(kZones) + "! dvoverlay draw-zones=false " + kPlain);
  check_pixels(scene.see(0), [](int, int) { return 0; });
}

DVNN_TEST(shapes_of_several_elements_are_all_drawn) {
  Scene scene(
      std::string(kZones) +
      "! dvzones zones=\"{\\\"areas\\\":[{\\\"name\\\":\\\"b\\\",\\\"unit\\\":"
      "\\\"pixels\\\",\\\"points\\\":[[90,50],[110,50],[110,70]]}]}\" ! queue ! dvoverlay " +
      kPlain);
  const Gray picture = scene.see(0);
  ck_assert_int_gt(picture.contrast(10, 20), 15);
  ck_assert_int_gt(picture.contrast(60, 30), 15);
  ck_assert_int_gt(picture.contrast(100, 50), 15);
}

DVNN_TEST(shapes_that_change_are_drawn_as_they_are_now) {
  Scene scene(std::string(kZones) + "! dvoverlay " + kPlain);
  ck_assert_int_gt(scene.see(0).contrast(10, 20), 15);
  GstElement* zones = gst_bin_get_by_name(GST_BIN(scene.get()->element), "zones");
  g_object_set(zones, "zones",
               R"({"areas":[{"name":"a","unit":"pixels","points":[[80,10],[110,10],[110,30]]}]})",
               nullptr);
  const Gray picture = scene.see(1);
  ck_assert_int_eq(picture.contrast(10, 20), 0);
  ck_assert_int_gt(picture.contrast(95, 10), 15);
  g_object_set(zones, "zones", "", nullptr);
  check_pixels(scene.see(2), [](int, int) { return 0; });
  gst_object_unref(zones);
}

DVNN_TEST(counts_are_written_at_their_shapes) {
  Scene scene(std::string(kZones) +
              "! dvoverlay draw-labels=false draw-confidence=false draw-tracks=false line-width=2 "
              "text-height=8");
  const Gray before = scene.see(0, 1, 50, 70);
  // Above the first points: of the area, and of the line.
  ck_assert_int_gt(before.drawn(10, 0, 17, 9), 30);
  ck_assert_int_gt(before.drawn(60, 48, 80, 58), 100);
  // A track that crosses the line changes what is written there, and nothing at the area.
  scene.see(1, 1, 50, 50);
  const Gray after = scene.see(2, 1, 70, 50);
  ck_assert(!after.differs(before, 0, 0, 45, 45));
  ck_assert(after.differs(before, 62, 48, 100, 60));
  // A track that enters the area changes what is written there.
  ck_assert(scene.see(3, 1, 25, 25).differs(before, 10, 0, 20, 9));
}

DVNN_TEST(trails_are_the_last_of_a_track) {
  Scene scene(std::string("dvoverlay trails-ms=500 ") + kPlain);
  // To the right, 4 pixels a frame.
  for (int i = 0; i < 20; ++i) {
    const Gray picture = scene.see(i, 7, 10 + 4 * i, 40);
    const int now = 10 + 4 * i, since = std::max(10, now - 20);
    check_pixels(picture, [&](int x, int y) {
      const bool box = x >= now - 2 && x < now + 2 && y >= 37 && y < 40;
      if (box) return -1;
      if (x >= since && x < now - 3 && y == 40) return 1;
      return x >= since - 3 && x < now + 3 && y >= 37 && y < 43 ? -1 : 0;
    });
  }
  // A track that is not seen any more, and its trail grows old.
  ck_assert_int_gt(scene.see(22).contrast(80, 40), 15);
  check_pixels(scene.see(25), [](int, int) { return 0; });
}

DVNN_TEST(there_are_no_trails_if_not_asked_for) {
  Scene scene(std::string("dvoverlay ") + kPlain);
  for (int i = 0; i < 5; ++i) {
    const Gray picture = scene.see(i, 7, 20 + 10 * i, 40);
    if (i > 0) ck_assert_int_eq(picture.contrast(10 + 10 * i, 40), 0);
  }
}

DVNN_TEST(a_jump_ends_trails) {
  Scene scene(std::string("dvoverlay trails-ms=10000 ") + kPlain);
  scene.see(10, 7, 20, 40);
  ck_assert_int_gt(scene.see(11, 7, 60, 40).contrast(40, 40), 15);
  const Gray picture = scene.see(2, 7, 60, 20);
  ck_assert_int_eq(picture.contrast(40, 40), 0);
  ck_assert_int_eq(picture.contrast(60, 30), 0);
}

DVNN_TEST(two_tracks_have_two_trails) {
  Scene scene(std::string("dvoverlay trails-ms=1000 ") + kPlain);
  scene.see(0, 7, 20, 20);
  scene.see(1, 8, 20, 60);
  scene.see(2, 7, 60, 20);
  const Gray picture = scene.see(3, 8, 60, 60);
  ck_assert_int_gt(picture.contrast(40, 20), 15);
  ck_assert_int_gt(picture.contrast(40, 60), 15);
  ck_assert_int_eq(picture.drawn(0, 25, kWidth, 55), 0);
}

// By class they are of one colour, by track of two.
DVNN_TEST(trails_have_the_colors_of_their_objects) {
  for (const bool by_track : {false, true}) {
    Scene scene(std::string("dvoverlay trails-ms=1000 color-by=") +
                (by_track ? "track " : "class ") + kPlain);
    scene.see(0, 7, 20, 20);
    scene.see(1, 8, 20, 60);
    scene.see(2, 7, 60, 20);
    const Gray picture = scene.see(3, 8, 60, 60);
    const auto color = [&](int x, int y) {
      return &picture.rgb[static_cast<size_t>((y * kWidth + x) * 3)];
    };
    ck_assert_int_gt(picture.contrast(40, 20), 15);
    ck_assert_int_gt(picture.contrast(40, 60), 15);
    ck_assert_int_eq(std::equal(color(40, 20), color(40, 20) + 3, color(40, 60)), !by_track);
  }
}

}  // namespace dvnn::test::overlay_zones_tests
