// SPDX-License-Identifier: Apache-2.0
// The ground through dvtrack, dvzones, dvpublish and dvoverlay: speeds of people whom a camera of
// the test's own sees, bays, heat and distances in messages, documents and pictures.
#include <glib/gstdio.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "base/format.h"
#include "ground_harness.h"
#include "gst/dvnn/gstdvobjectsmeta.h"

namespace dvnn::test::gst_ground_tests {

DVNN_GST_SUITE(gst_ground);

namespace {

double share_of(std::vector<double> values, double share) {
  const auto at =
      values.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

// People walk at an even speed through what a tilted, panned and rolled camera sees. Each one's box
// trembles, and some are not found in a frame. What dvtrack makes of that has to tell their speeds.
DVNN_TEST(tracks_go_as_fast_as_those_who_walk) {
  Random random{std::mt19937_64(dvnn_seed(4))};
  for (const double rate : {5.0, 25.0, 60.0}) {
    std::vector<double> off, turned;
    const int scenes = std::max(1, dvnn_rounds(24));
    for (int scene = 0; scene < scenes; ++scene) {
      Camera camera;
      camera.height = random.between(4, 7);
      camera.tilt = random.between(22, 40);
      camera.view = random.between(55, 85);
      camera.pan = random.between(-10, 10);
      camera.roll = random.between(-4, 4);
      GroundHarness h("dvtrack ! dvzones name=z", "{" + camera.ground() + "}");
      struct Walker {
        double x, y, along_x, along_y, speed, tall, known = 0;
        double last_speed = -1, last_heading = 0;
      };
      std::vector<Walker> walkers;
      while (walkers.size() < 6) {
        const double angle = random.between(0, 2 * M_PI);
        Walker walker{random.between(-5, 5), random.between(5, 18),  std::sin(angle),
                      std::cos(angle),       random.between(0.8, 4), random.between(1.5, 2)};
        // They pass each other at a distance: whom dvtrack takes for whom is not asked here.
        bool alone = true;
        for (const Walker& other : walkers) {
          for (double t = 0; t < 8; t += 0.25) {
            alone &= std::hypot(
                         walker.x - other.x +
                             t * (walker.along_x * walker.speed - other.along_x * other.speed),
                         walker.y - other.y +
                             t * (walker.along_y * walker.speed - other.along_y * other.speed)) > 1;
          }
        }
        if (alone) walkers.push_back(walker);
      }
      for (double t = 0; t < 8; t += 1 / rate) {
        std::vector<Box> boxes;
        std::vector<Walker*> of_box;
        for (Walker& walker : walkers) {
          const double x = walker.x + t * walker.along_x * walker.speed,
                       y = walker.y + t * walker.along_y * walker.speed;
          const Box box = box_of(camera, x, y, walker.tall, 0.4, 0.02, &random);
          const bool whole =
              box.x0 > 3 && box.y0 > 3 && box.x1 < kWidth - 3 && box.y1 < kHeight - 3;
          if (y < 2 || !whole || random.between(0, 1) < 0.1) continue;
          boxes.push_back(box);
          of_box.push_back(&walker);
        }
        GstBuffer* frame = h.push(t, boxes);
        const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
        for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
          const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
          gdouble speed = 0, deviation = 0, heading = 0;
          if (object->predicted || i >= of_box.size() ||
              !gst_dv_object_get_ground(object, nullptr, nullptr, nullptr, &speed, &deviation,
                                        &heading)) {
            continue;
          }
          Walker& walker = *of_box[i];  // dvtrack keeps the order
          walker.known += 1 / rate;
          if (walker.known < 3 || deviation > 0.25 * speed) continue;
          walker.last_speed = speed;
          walker.last_heading = heading;
        }
        gst_buffer_unref(frame);
      }
      for (const Walker& walker : walkers) {
        if (walker.last_speed < 0) continue;
        off.push_back(std::fabs(walker.last_speed - walker.speed) / walker.speed);
        const double heading = std::atan2(walker.along_x, walker.along_y) * 180 / M_PI;
        turned.push_back(std::fabs(std::remainder(walker.last_heading - heading, 360)));
      }
    }
    if (off.size() < 20) continue;  // too few in a brief run
    std::printf(
        "%2g frames/s, %zu tracks: speeds off by %.2f %% (nine of ten within %.1f %%), "
        "headings by %.2f degrees\n",
        rate, off.size(), 100 * share_of(off, 0.5), 100 * share_of(off, 0.9),
        share_of(turned, 0.5));
    ck_assert_msg(share_of(off, 0.5) < 0.03, "%g frames/s: %g", rate, share_of(off, 0.5));
    ck_assert_msg(share_of(off, 0.9) < 0.08, "%g frames/s: %g", rate, share_of(off, 0.9));
    ck_assert_msg(share_of(turned, 0.5) < 3, "%g frames/s: %g", rate, share_of(turned, 0.5));
  }
}

// A picture that is the ground, a centimetre for a pixel.
const char* const kFlat = R"("ground":{"points":[[0,0],[1,0],[1,1],[0,1]],"rectangle":[12.8,7.2]})";

static Box standing(double x, double y, const char* label = "person") {
  return {x - 20, y - 80, x + 20, y, label};
}

DVNN_TEST(heat_is_told_in_periods_and_at_the_end) {
  const std::string location = g_get_tmp_dir() + format("/dvnn-heat-%d", getpid());
  {
    GroundHarness h("dvzones name=z ! dvpublish mode=heat location=" + location,
                    std::string(R"({"heat":{"cell":1,"period":1000},)") + kFlat + "}");
    // One stands, and one comes 20 cm further with each frame; from 1.5 to 4.5 s there are none,
    // and the stream says so.
    for (int i = 0; i < 16; ++i) {
      h.see(i * 0.1, {standing(150, 350), standing(250 + 20.0 * i, 150, "dog")}, 7);
    }
    for (int i = 45; i <= 50; ++i) h.see(i * 0.1, {standing(150, 350)}, 7, i == 45);
    GstStructure* heat = h.message("dvnn-zone-heat");
    ck_assert_ptr_nonnull(heat);
    ck_assert(natural_of(heat, "from") == 0 && natural_of(heat, "to") == GST_SECOND);
    ck_assert(natural_of(heat, "timestamp") == GST_SECOND && real_of(heat, "cell") == 1);
    ck_assert_str_eq(gst_structure_get_string(heat, "unit"), "metres");
    const GValue* labels = gst_structure_get_value(heat, "labels");
    ck_assert_uint_eq(gst_value_list_get_size(labels), 2);
    const GstStructure* dog = gst_value_get_structure(gst_value_list_get_value(labels, 0));
    ck_assert_str_eq(gst_structure_get_string(dog, "name"), "dog");
    ck_assert_double_eq_tol(real_of(dog, "seconds"), 1, 1e-9);
    // 2 m in a second, from x = 2.5 on, as far as the filter of its motion has understood that.
    const GValue* cells = gst_structure_get_value(dog, "cells");
    ck_assert_uint_eq(gst_value_array_get_size(cells) % 3, 0);
    double sum = 0;
    for (guint i = 0; i < gst_value_array_get_size(cells); i += 3) {
      const auto at = [&](guint k) {
        return g_value_get_double(gst_value_array_get_value(cells, i + k));
      };
      ck_assert(at(0) >= 2 && at(0) <= 4 && at(1) == 1);
      sum += at(2);
    }
    ck_assert_double_eq_tol(sum, 1, 1e-9);
    gst_structure_free(heat);
    // Before the jump, half a second; then a period of its own, and its rest at the end.
    heat = h.message("dvnn-zone-heat");
    ck_assert(natural_of(heat, "from") == GST_SECOND &&
              natural_of(heat, "to") == 1500 * GST_MSECOND);
    gst_structure_free(heat);
    ck_assert_ptr_null(h.message("dvnn-zone-heat"));
    gst_harness_push_event(h.get(), gst_event_new_eos());
    heat = h.message("dvnn-zone-heat");
    ck_assert(natural_of(heat, "from") == 4500 * GST_MSECOND &&
              natural_of(heat, "to") == 5 * GST_SECOND);
    gst_structure_free(heat);
  }
  gchar* text = nullptr;
  ck_assert(g_file_get_contents(location.c_str(), &text, nullptr, nullptr));
  g_unlink(location.c_str());
  const std::string lines = text;
  g_free(text);
  ck_assert_int_eq(std::count(lines.begin(), lines.end(), '\n'), 3);
  ck_assert_msg(
      lines.find(R"("type":"heat")") != std::string::npos &&
          lines.find(R"("heat":{"from":0,"to":1000000000,"unit":"metres","cell":1.0,)"
                     R"("labels":[{"name":"dog","seconds":1.0,"cells":[[)") != std::string::npos &&
          lines.find(R"({"name":"person","seconds":0.5,"cells":[[1,3,0.5]]}],"left_out":0.0})") !=
              std::string::npos,
      "%s", lines.c_str());
}

DVNN_TEST(bays_and_distances_are_told_in_messages_counts_and_documents) {
  const std::string location = g_get_tmp_dir() + format("/dvnn-near-%d", getpid());
  {
    GroundHarness h(
        "dvzones name=z leave-after-ms=500 ! dvpublish mode=frames+events location=" + location,
        std::string(
            R"({"areas":[{"name":"bay","unit":"pixels","points":[[100,200],[300,200],[300,500],[100,500]],)") +
            R"("occupied":1000,"free":500,"distance-below":1,"distance-time":200}],)" +
            R"("distances":{"below":2},)" + kFlat + "}");
    for (int i = 0; i <= 12; ++i) h.see(i * 0.1, {standing(150, 350), standing(200, 350)}, 7);
    GstStructure* event = h.message("dvnn-zone-event", "too-close");
    ck_assert_ptr_nonnull(event);
    ck_assert(natural_of(event, "track-id") == 7 && natural_of(event, "other-id") == 8);
    ck_assert(natural_of(event, "since") == 0 &&
              natural_of(event, "timestamp") == 200 * GST_MSECOND);
    ck_assert_double_eq_tol(real_of(event, "distance"), 0.5, 0.01);
    ck_assert(real_of(event, "distance-deviation") > 0);
    gst_structure_free(event);
    event = h.message("dvnn-zone-event", "occupied");
    ck_assert_ptr_nonnull(event);
    ck_assert(natural_of(event, "since") == 0 && natural_of(event, "timestamp") == GST_SECOND);
    ck_assert(natural_of(event, "track-id") == 7 && natural_of(event, "duration") == GST_SECOND);
    gst_structure_free(event);
    for (int i = 13; i <= 20; ++i) h.see(i * 0.1, {});
    event = h.message("dvnn-zone-event", "too-close-end");
    ck_assert_ptr_nonnull(event);
    ck_assert(natural_of(event, "timestamp") == 1200 * GST_MSECOND);
    gst_structure_free(event);
    event = h.message("dvnn-zone-event", "free");
    ck_assert_ptr_nonnull(event);
    ck_assert(natural_of(event, "since") == 1200 * GST_MSECOND &&
              natural_of(event, "track-id") == 0);
    ck_assert(natural_of(event, "timestamp") == 1700 * GST_MSECOND);
    ck_assert(natural_of(event, "duration") == 1200 * GST_MSECOND);
    gst_structure_free(event);
    gst_harness_push_event(h.get(), gst_event_new_eos());
  }
  gchar* text = nullptr;
  ck_assert(g_file_get_contents(location.c_str(), &text, nullptr, nullptr));
  g_unlink(location.c_str());
  const std::string lines = text;
  g_free(text);
  for (const char* wanted :
       {R"("occupied":true,"since":0)", R"("occupied":false,"since":1200000000)",
        R"("occupied":false,"labels")", R"("distances":[{"tracks":[7,8],"metres":0.5,"deviation":)",
        R"("since":0,"other_id":8,"distance":0.5,"distance_deviation":)",
        R"({"kind":"free","area":"bay","duration":1200000000,"inside":0,"since":1200000000})"}) {
    ck_assert_msg(lines.find(wanted) != std::string::npos, "no %s in %s", wanted, lines.c_str());
  }
}

namespace {

// What dvoverlay has drawn on a gray frame.
struct Drawn {
  std::vector<guint8> rgb;
  int at(int x, int y, int channel) const {
    return rgb[static_cast<size_t>((y * kWidth + x) * 3 + channel)];
  }
  bool is_gray(int x, int y) const {
    return at(x, y, 0) == 110 && at(x, y, 1) == 110 && at(x, y, 2) == 110;
  }
};

Drawn drawn(GstBuffer* frame) {
  Drawn picture;
  GstMapInfo map;
  ck_assert(gst_buffer_map(frame, &map, GST_MAP_READ));
  picture.rgb.assign(map.data, map.data + map.size);
  gst_buffer_unmap(frame, &map);
  gst_buffer_unref(frame);
  // For those who want to look at it.
  if (const char* folder = std::getenv("DVNN_TEST_PICTURES")) {
    static int number = 0;
    const std::string path = format("%s/ground-%02d.ppm", folder, number++);
    FILE* file = std::fopen(path.c_str(), "wb");
    ck_assert_ptr_nonnull(file);
    std::fprintf(file, "P6 %d %d 255\n", kWidth, kHeight);
    std::fwrite(picture.rgb.data(), 1, picture.rgb.size(), file);
    std::fclose(file);
  }
  return picture;
}

}  // namespace

DVNN_TEST(heat_bays_and_pairs_are_drawn_where_they_are) {
  const std::string zones =
      std::string(
          R"({"heat":{"cell":0.5},"distances":{"below":3},"areas":[)"
          R"({"name":"left","unit":"pixels","points":[[100,200],[300,200],[300,400],[100,400]],"occupied":1000},)"
          R"({"name":"right","unit":"pixels","points":[[900,200],[1100,200],[1100,400],[900,400]],"occupied":1000}],)") +
      kFlat + "}";
  const auto overlay = [&](const char* more) {
    return format(
        "dvzones name=z leave-after-ms=500 ! dvoverlay line-width=4 hide=cat "
        "draw-tracks=false draw-confidence=false %s",
        more);
  };
  // Two stand, one walks, and a cat, which is hidden, stays in a place of its own. Feet are within
  // cells: at their edges rounding decides.
  const auto play = [&](GroundHarness* h) {
    for (int i = 0; i < 40; ++i) {
      h->see(i * 0.1,
             {standing(210, 310), standing(405, 310), standing(500 + 10 * i, 610, "dog"),
              standing(1010, 660, "cat")},
             7);
    }
    return drawn(
        h->push(4, {standing(210, 310), standing(405, 310), standing(900, 610, "dog")}, 7));
  };
  GroundHarness with(overlay("draw-heat=true"), zones, "RGB");
  const Drawn picture = play(&with);
  const auto hue = [&](int x, int y) {
    return std::make_tuple(picture.at(x, y, 0), picture.at(x, y, 1), picture.at(x, y, 2));
  };
  // The bay with somebody in it is red, the other one green; a line joins the two who stand.
  ck_assert(picture.at(300, 380, 0) > 200 && picture.at(300, 380, 1) < 100);
  ck_assert(picture.at(1100, 220, 1) > 200 && picture.at(1100, 220, 0) < 150);
  ck_assert(picture.at(305, 310, 0) > 200 && picture.at(305, 310, 1) < 100);
  // Standing is hot (red), walking is not (yellow), and the cat left no trace.
  const auto [red, green, blue] = hue(240, 325);
  ck_assert_msg(red > green + 30 && red > blue + 30, "%d %d %d", red, green, blue);
  const auto [walk_red, walk_green, walk_blue] = hue(610, 625);
  ck_assert_msg(walk_red < walk_green + 30, "%d %d %d", walk_red, walk_green, walk_blue);
  ck_assert(picture.is_gray(1010, 640) && picture.is_gray(700, 100));
  GroundHarness without(overlay(""), zones, "RGB");
  const Drawn plain = play(&without);
  ck_assert(plain.is_gray(240, 325) && plain.is_gray(610, 625));
  // Mirrored: the heat follows where GStreamer, from 1.28 on, tells metas of a flip; before, none
  // is drawn, rather than one in the wrong place.
  GroundHarness turned(
      "dvzones name=z leave-after-ms=500 ! videoflip method=horizontal-flip ! "
      "dvoverlay hide=person,dog,cat draw-heat=true draw-zones=false",
      zones, "RGB");
  const Drawn mirrored = play(&turned);
  ck_assert(mirrored.is_gray(240, 325));
  ck_assert(GST_CHECK_VERSION(1, 27, 0) || mirrored.is_gray(kWidth - 1 - 240, 325));
}

// What a camera over a car park sees in two minutes.
DVNN_TEST(a_car_park_is_drawn) {
  Random random{std::mt19937_64(5)};
  Camera camera;
  camera.height = 7;
  camera.tilt = 32;
  std::string areas;
  for (int i = 0; i < 4; ++i) {
    std::string points;
    const double x = -5.6 + 2.8 * i;
    for (const auto& [px, py] : {std::pair(x, 14.0), {x + 2.7, 14.0}, {x + 2.7, 18.5}, {x, 18.5}}) {
      const Camera::Pixel at = camera.see(px, py, 0);
      points += format("%s[%.6g,%.6g]", points.empty() ? "" : ",", at.u, at.v);
    }
    areas += format(R"(%s{"name":"bay %d","unit":"pixels","points":[%s],"labels":["car"],)"
                    R"("anchor":"cover","share":0.3,"occupied":5000,"free":3000})",
                    areas.empty() ? "" : ",", i + 1, points.c_str());
  }
  GroundHarness h(
      "dvtrack ! dvzones name=z ! dvoverlay draw-heat=true draw-tracks=false "
      "draw-confidence=false",
      "{\"areas\":[" + areas +
          R"(],"heat":{"cell":0.4,"labels":["person"]},"distances":{"below":3,"labels":["person"]},)" +
          camera.ground() + "}",
      "RGB");
  const auto car = [&](double x, double y) {
    Box box{INFINITY, INFINITY, -INFINITY, -INFINITY, "car"};
    for (int corner = 0; corner < 8; ++corner) {
      const Camera::Pixel at = camera.see(x + (corner & 1 ? 0.9 : -0.9),
                                          y + (corner & 2 ? 2.0 : -2.0), corner & 4 ? 1.5 : 0);
      box.x0 = std::min(box.x0, at.u), box.y0 = std::min(box.y0, at.v);
      box.x1 = std::max(box.x1, at.u), box.y1 = std::max(box.y1, at.v);
    }
    return box;
  };
  const int frames = std::max(60, dvnn_rounds(300));
  GstBuffer* last = nullptr;
  for (int i = 0; i < frames; ++i) {
    const double t = i * 0.2, a = t * 0.35;
    std::vector<Box> boxes = {car(-4.25, 16.2)};
    if (i > 20) boxes.push_back(car(1.35, std::max(16.2, 40 - 1.2 * t)));
    for (const auto& [x, y] : {std::pair(4 * std::cos(a), 9 + 2.5 * std::sin(a)),
                               {-3.5, 7.5},
                               {-2.4 + 0.1 * std::sin(t), 8.2},
                               {-6 + std::fmod(1.3 * t, 12), 11.5}}) {
      boxes.push_back(box_of(camera, x, y, 1.75, 0.4, 0.01, &random));
    }
    if (last) gst_buffer_unref(last);
    last = h.push(t, boxes);
  }
  const Drawn picture = drawn(last);
  GstStructure* event = h.message("dvnn-zone-event", "occupied");
  ck_assert_ptr_nonnull(event);
  ck_assert_str_eq(gst_structure_get_string(event, "area"), "bay 1");
  gst_structure_free(event);
  const Camera::Pixel chat = camera.see(-3.1, 7.6, 0);
  ck_assert(!picture.is_gray(static_cast<int>(chat.u), static_cast<int>(chat.v)));
}

}  // namespace dvnn::test::gst_ground_tests
