// SPDX-License-Identifier: Apache-2.0
// dvoverlay: kinds of results, which of them are drawn, what is made unrecognisable, and who draws.
#include <algorithm>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::overlay_kinds_tests {

DVNN_GST_SUITE(gst_overlay_kinds);

namespace {

constexpr int kSize = 96;

// Tells which of a frame's bytes have changed, by plane 0's pixels; for formats of one plane.
class Overlay {
 public:
  explicit Overlay(const std::string& properties, const char* format = "RGB")
      : info_(video_info(format, kSize, kSize)),
        harness_(gst_harness_new_parse(("dvoverlay line-width=2 " + properties).c_str())) {
    gst_harness_set_src_caps_str(harness_, video_caps(format, kSize, kSize).c_str());
  }
  ~Overlay() { gst_harness_teardown(harness_); }
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  GstHarness* harness() { return harness_; }
  const GstVideoInfo& info() const { return info_; }
  // A frame of noise, the same each time.
  GstBuffer* noise() const {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, info_.size, nullptr);
    GstMapInfo map;
    gst_buffer_map(frame, &map, GST_MAP_WRITE);
    guint32 state = 1;
    for (gsize i = 0; i < map.size; ++i) {
      state = state * 1664525 + 1013904223;
      map.data[i] = static_cast<guint8>(state >> 24);
    }
    gst_buffer_unmap(frame, &map);
    GST_BUFFER_PTS(frame) = 0;
    return frame;
  }
  std::vector<guint8> bytes(GstBuffer* frame) const {
    std::vector<guint8> bytes(info_.size);
    gst_buffer_extract(frame, 0, bytes.data(), bytes.size());
    return bytes;
  }
  std::vector<guint8> draw(GstBuffer* frame) {
    GstBuffer* out = gst_harness_push_and_pull(harness_, frame);
    std::vector<guint8> result = bytes(out);
    gst_buffer_unref(out);
    return result;
  }

 private:
  GstVideoInfo info_;
  GstHarness* harness_;
};

GstDvObject* add_object(GstBuffer* frame, const char* label, double x0, double y0, double x1,
                        double y1, GstDvObjectKind kind = GST_DV_OBJECT_DETECTION) {
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  GstDvObject* object = gst_dv_objects_meta_add_object(meta, kind, 1, label, 0.75f);
  gst_dv_object_set_box(object, x0, y0, x1, y1);
  return object;
}

bool differs(const std::vector<guint8>& a, const std::vector<guint8>& b, int x, int y) {
  const size_t at = static_cast<size_t>((y * kSize + x) * 3);
  return !std::equal(&a[at], &a[at] + 3, &b[at]);
}

// Returns how many pixels of the rectangle differ.
int changes(const std::vector<guint8>& a, const std::vector<guint8>& b, int x0, int y0, int x1,
            int y1) {
  int n = 0;
  for (int y = y0; y < y1; ++y) {
    for (int x = x0; x < x1; ++x) n += differs(a, b, x, y);
  }
  return n;
}

const char* const kPlain = "draw-labels=false draw-confidence=false draw-tracks=false ";

}  // namespace

DVNN_TEST(details_of_objects_are_drawn_and_nothing_else) {
  Overlay overlay(kPlain);
  GstBuffer* frame = overlay.noise();
  const std::vector<guint8> before = overlay.bytes(frame);
  // A mask's left half, a point and an outline, in places of their own.
  GstDvObject* object = add_object(frame, "map", 0, 0, 96, 96, GST_DV_OBJECT_SEGMENTATION);
  const guint8 cells[] = {3, 0};
  GBytes* bytes = g_bytes_new(cells, sizeof(cells));
  gst_dv_object_set_mask(object, 0, 0, 32, 32, 2, 1, bytes);
  g_bytes_unref(bytes);
  object = add_object(frame, "whole", 0, 0, 96, 96, GST_DV_OBJECT_ATTRIBUTES);
  gst_dv_object_add_point(object, 60, 20, 1);
  gst_dv_object_add_point(object, 80, 20, 0);  // not seen
  object = add_object(frame, "box", 10, 50, 90, 90);
  gst_dv_object_add_corner(object, 10, 50);
  gst_dv_object_add_corner(object, 50, 50);
  gst_dv_object_add_corner(object, 50, 90);
  const std::vector<guint8> after = overlay.draw(frame);
  ck_assert_int_gt(changes(before, after, 0, 0, 16, 32), 500);
  ck_assert_int_eq(changes(before, after, 16, 0, 48, 48), 0);
  ck_assert_int_gt(changes(before, after, 57, 17, 63, 23), 10);
  ck_assert_int_eq(changes(before, after, 66, 0, 96, 48), 0);
  ck_assert_int_gt(changes(before, after, 20, 49, 40, 51), 30);
  ck_assert_int_eq(changes(before, after, 55, 45, 96, 96), 0);  // where the box would be
}

DVNN_TEST(what_is_said_of_a_place_is_written_below_it) {
  for (const bool region : {false, true}) {
    Overlay overlay("");
    GstBuffer* frame = overlay.noise();
    const std::vector<guint8> before = overlay.bytes(frame);
    GstDvObject* object = add_object(frame, "open", 40, 20, 90, 50, GST_DV_OBJECT_CLASSIFICATION);
    if (region) object->region = g_quark_from_static_string("gate");
    const std::vector<guint8> after = overlay.draw(frame);
    const int corner = changes(before, after, 0, 0, 40, 20);
    const int below = changes(before, after, 40, 50, kSize, kSize);
    ck_assert_int_eq(corner > 0, !region);
    ck_assert_int_eq(below > 0, region);
  }
}

DVNN_TEST(objects_are_shown_and_hidden_by_label) {
  const struct {
    const char* properties;
    bool cat, dog;
  } cases[] = {{"", true, true},
               {"show=cat", true, false},
               {"show=\"dog, cat\"", true, true},
               {"show=nobody", false, false},
               {"hide=cat", false, true},
               {"show=cat hide=\"cat , bird\"", false, false},
               {"hide=ca", true, true}};
  for (const auto& c : cases) {
    Overlay overlay(std::string(kPlain) + c.properties);
    GstBuffer* frame = overlay.noise();
    const std::vector<guint8> before = overlay.bytes(frame);
    add_object(frame, "cat", 10, 10, 40, 40);
    // Somebody else's.
    gst_buffer_add_video_region_of_interest_meta(frame, "dog", 50, 50, 30, 30);
    const std::vector<guint8> after = overlay.draw(frame);
    ck_assert_msg((changes(before, after, 0, 0, 45, 45) > 0) == c.cat, "%s", c.properties);
    ck_assert_msg((changes(before, after, 45, 45, 96, 96) > 0) == c.dog, "%s", c.properties);
  }
}

DVNN_TEST(what_is_not_agreed_is_not_drawn_if_asked) {
  for (const bool only : {false, true}) {
    for (const bool agreed : {false, true}) {
      Overlay overlay(only ? "only-agreed=true" : "");
      GstBuffer* frame = overlay.noise();
      const std::vector<guint8> before = overlay.bytes(frame);
      GstDvObject* object = add_object(frame, "open", 40, 20, 90, 50, GST_DV_OBJECT_CLASSIFICATION);
      object->region = g_quark_from_static_string("gate");
      gst_dv_object_set_agreement(object, 2, 0.9f, agreed);
      const std::vector<guint8> after = overlay.draw(frame);
      ck_assert_int_eq(changes(before, after, 0, 0, kSize, kSize) > 0, agreed || !only);
    }
  }
  // What is to be hidden is hidden before anything is agreed.
  Overlay overlay("only-agreed=true pixelate=face");
  GstBuffer* frame = overlay.noise();
  const std::vector<guint8> before = overlay.bytes(frame);
  gst_dv_object_set_agreement(
      add_object(frame, "face", 10, 10, 60, 60, GST_DV_OBJECT_CLASSIFICATION), 1, 0.5f, FALSE);
  ck_assert_int_gt(changes(before, overlay.draw(frame), 10, 10, 60, 60), 500);
}

DVNN_TEST(colors_are_those_of_classes_or_tracks) {
  for (const bool by_track : {false, true}) {
    Overlay overlay(std::string(kPlain) + (by_track ? "color-by=track" : "color-by=class"));
    GstBuffer* frame = overlay.noise();
    add_object(frame, "a", 10, 10, 40, 40)->track_id = 7;
    GstDvObject* same_track = add_object(frame, "b", 50, 10, 90, 40);
    same_track->track_id = 7;
    same_track->class_id = 5;
    add_object(frame, "a", 10, 50, 40, 90)->track_id = 9;
    const std::vector<guint8> after = overlay.draw(frame);
    auto color = [&](int x, int y) { return &after[static_cast<size_t>((y * kSize + x) * 3)]; };
    const bool same_class = std::equal(color(10, 10), color(10, 10) + 3, color(10, 50));
    const bool tracked = std::equal(color(10, 10), color(10, 10) + 3, color(50, 10));
    ck_assert_int_eq(same_class, !by_track);
    ck_assert_int_eq(tracked, by_track);
  }
}

// Two objects that differ in one thing look different where that is written, and only there.
DVNN_TEST(what_an_object_is_called_is_written_as_asked_for) {
  const auto drawn = [](const std::string& properties, const char* label, float confidence,
                        guint64 track) {
    Overlay overlay(properties);
    GstBuffer* frame = overlay.noise();
    GstDvObject* object = add_object(frame, label, 10, 40, 60, 90);
    object->confidence = confidence;
    object->track_id = track;
    return overlay.draw(frame);
  };
  for (const char* shown : {"draw-labels", "draw-confidence", "draw-tracks"}) {
    std::string properties = "color-by=class";
    for (const char* part : {"draw-labels", "draw-confidence", "draw-tracks"}) {
      properties += std::string(" ") + part + (part == shown ? "=true" : "=false");
    }
    const auto one = drawn(properties, "cat", 0.75f, 7);
    ck_assert(drawn(properties, "cat", 0.75f, 7) == one);
    const std::vector<guint8> others[] = {drawn(properties, "dog", 0.75f, 7),
                                          drawn(properties, "cat", 0.25f, 7),
                                          drawn(properties, "cat", 0.75f, 8)};
    const char* const differing[] = {"draw-labels", "draw-confidence", "draw-tracks"};
    for (size_t i = 0; i < 3; ++i) {
      ck_assert_msg((others[i] != one) == (std::string(differing[i]) == shown), "%s: %s",
                    properties.c_str(), differing[i]);
      ck_assert_int_eq(changes(one, others[i], 0, 45, kSize, kSize), 0);  // the box
    }
  }
}

// The frame's planes one by one, against what the labels ask for.
DVNN_TEST(obscured_objects_cannot_be_recognised_in_any_format) {
  for (const std::string& format : video_formats()) {
    for (const char* how : {"blur=face", "pixelate=face"}) {
      Overlay overlay(std::string("hide=face ") + how, format.c_str());
      GstVideoInfo info = overlay.info();
      GstBuffer* frame = overlay.noise();
      GstBuffer* before = gst_buffer_copy_deep(frame);
      add_object(frame, "face", 16, 32, 80, 64);
      add_object(frame, "other", 0, 0, 0, 0);
      GstBuffer* out = gst_harness_push_and_pull(overlay.harness(), frame);
      GstVideoFrame a, b;
      gst_video_frame_map(&a, &info, before, GST_MAP_READ);
      gst_video_frame_map(&b, &info, out, GST_MAP_READ);
      const guint components = GST_VIDEO_FRAME_N_COMPONENTS(&a);
      for (guint c = 0; c < components; ++c) {
        const int step = GST_VIDEO_FRAME_COMP_PSTRIDE(&a, c);
        const int sub_x = kSize / GST_VIDEO_FRAME_COMP_WIDTH(&a, c);
        const int sub_y = kSize / GST_VIDEO_FRAME_COMP_HEIGHT(&a, c);
        const int depth = GST_VIDEO_FRAME_COMP_DEPTH(&a, c);
        const bool wide = depth > 8, field = depth < 8;
        const int shift = field ? static_cast<int>(GST_VIDEO_FORMAT_INFO_SHIFT(info.finfo, c)) : 0;
        const int most = field ? (1 << depth) - 1 : 0xffff, bits = wide ? 16 : depth;
        int rough = 0, samples = 0;
        for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&a, c); ++y) {
          // GStreamer's table has P010's V in the middle of U.
          const bool v_of_p010 = c == 2 && wide && step == 4;
          auto row = [&](const GstVideoFrame& f) {
            if (v_of_p010) {
              return static_cast<const guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&f, 1)) + 2 +
                     y * GST_VIDEO_FRAME_PLANE_STRIDE(&f, 1);
            }
            return static_cast<const guint8*>(GST_VIDEO_FRAME_COMP_DATA(&f, c)) +
                   y * GST_VIDEO_FRAME_COMP_STRIDE(&f, c);
          };
          auto value = [&](const GstVideoFrame& f, int x) {
            const guint8* at = row(f) + x * step;
            return wide || field ? (at[0] | at[1] << 8) >> shift & most : *at;
          };
          for (int x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&a, c); ++x) {
            const bool inside =
                x * sub_x >= 16 && x * sub_x < 80 && y * sub_y >= 32 && y * sub_y < 64 && c < 3;
            if (!inside) {
              ck_assert_msg(value(a, x) == value(b, x), "%s %s: component %u at %d,%d",
                            format.c_str(), how, c, x, y);
            } else if ((x + 1) * sub_x < 80) {
              // Noise differs from sample to sample; averages do not.
              rough += std::abs(value(b, x) - value(b, x + 1)) > 40 << bits >> 8;
              ++samples;
            }
          }
        }
        if (c < 3) ck_assert_int_gt(samples, 100);
        ck_assert_msg(rough * 20 <= samples, "%s %s: component %u, %d of %d", format.c_str(), how,
                      c, rough, samples);
      }
      gst_video_frame_unmap(&a);
      gst_video_frame_unmap(&b);
      gst_buffer_unref(before);
      gst_buffer_unref(out);
    }
  }
}

// Beyond every limit something is hidden rather than shown.
DVNN_TEST(many_obscured_objects_are_all_obscured) {
  Overlay overlay("blur=face hide=face");
  GstBuffer* frame = overlay.noise();
  const std::vector<guint8> before = overlay.bytes(frame);
  for (int i = 0; i < 3000; ++i) add_object(frame, "thing", 1, 1, 3, 3);
  for (int i = 0; i < 3000; ++i) add_object(frame, "face", 4, 4, 12, 12);
  add_object(frame, "face", 60, 60, 90, 90);
  add_object(frame, "face", 60, 20, 90, 50);
  const std::vector<guint8> after = overlay.draw(frame);
  ck_assert_int_gt(changes(before, after, 60, 60, 90, 90), 800);
  ck_assert_int_gt(changes(before, after, 60, 20, 90, 50), 800);
}

DVNN_TEST(the_last_objects_stay_obscured_on_passed_frames) {
  Overlay overlay("pixelate=face hide=face");
  GstBuffer* frame = overlay.noise();
  const std::vector<guint8> before = overlay.bytes(frame);
  GstDvObject* object = add_object(frame, "face", 20, 20, 60, 60);
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  object->network =
      static_cast<gint>(gst_dv_objects_meta_add_pass(meta, "net", GST_DV_PASS_INFERRED));
  ck_assert_int_gt(changes(before, overlay.draw(frame), 20, 20, 60, 60), 1000);
  frame = overlay.noise();
  gst_dv_objects_meta_add_pass(gst_buffer_add_dv_objects_meta(frame), "net", GST_DV_PASS_SKIPPED);
  ck_assert_int_gt(changes(before, overlay.draw(frame), 20, 20, 60, 60), 1000);
}

// --- who draws ----------------------------------------------------------------------------------

DVNN_TEST(downstream_draws_where_it_can) {
  const std::string plain = video_caps("RGB", kSize, kSize);
  const std::string composed =
      "video/x-raw(memory:SystemMemory, meta:GstVideoOverlayComposition), format=RGB";
  const struct {
    std::string caps;  // that downstream takes
    bool answers;      // whether it says that it draws
    bool attached;
  } cases[] = {{composed + "; video/x-raw, format=RGB", true, true},
               {composed + "; video/x-raw, format=RGB", false, false},
               {"video/x-raw, format=RGB", true, false},
               {"ANY", true, false},
               {composed, false, true}};  // there is no other way
  for (const auto& c : cases) {
    GstHarness* h = gst_harness_new("dvoverlay");
    g_object_set(h->element, "pixelate", "face", nullptr);
    if (c.answers) {
      gst_harness_add_propose_allocation_meta(h, GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE,
                                              nullptr);
    }
    if (c.caps != "ANY") gst_harness_set_sink_caps_str(h, c.caps.c_str());
    gst_harness_set_src_caps_str(h, plain.c_str());
    const Overlay other("");
    GstBuffer* frame = other.noise();
    const std::vector<guint8> before = other.bytes(frame);
    add_object(frame, "thing", 10, 30, 40, 50);
    GstBuffer* out = gst_harness_push_and_pull(h, frame);
    const GstVideoOverlayCompositionMeta* meta = gst_buffer_get_video_overlay_composition_meta(out);
    ck_assert_msg((meta != nullptr) == c.attached, "%s, %d", c.caps.c_str(), c.answers);
    ck_assert_int_eq(other.bytes(out) == before, c.attached);
    if (meta) {
      // Four lines and a label, where they belong.
      ck_assert_uint_eq(gst_video_overlay_composition_n_rectangles(meta->overlay), 5);
      gint x = 0, y = 0;
      guint w = 0, ht = 0;
      gst_video_overlay_rectangle_get_render_rectangle(
          gst_video_overlay_composition_get_rectangle(meta->overlay, 0), &x, &y, &w, &ht);
      ck_assert(x == 10 && y == 30 && w == 30);
    }
    gst_buffer_unref(out);
    // Obscuring still happens to frames that cannot be drawn upon.
    frame = other.noise();
    add_object(frame, "face", 20, 20, 60, 60);
    out = gst_harness_push_and_pull(h, frame);
    ck_assert_int_gt(changes(before, other.bytes(out), 20, 20, 60, 60), 1000);
    gst_buffer_unref(out);
    // A frame without objects has nothing to draw.
    out = gst_harness_push_and_pull(h, other.noise());
    ck_assert_ptr_null(gst_buffer_get_video_overlay_composition_meta(out));
    ck_assert(other.bytes(out) == before);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
  }
}

}  // namespace dvnn::test::overlay_kinds_tests
