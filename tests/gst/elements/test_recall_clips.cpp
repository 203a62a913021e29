// SPDX-License-Identifier: Apache-2.0
// dvrecord, then dvrecall: a clip is drawn as the run was, played through and from its middle.
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::recall_clips_tests {

DVNN_GST_SUITE(gst_recall_clips);

namespace {

// All of an object that is drawn.
std::string drawn(const GstDvObject& object) {
  gchar* head = g_strdup_printf(
      "%d %s %.4f #%" G_GUINT64_FORMAT " %d [%.2f %.2f %.2f %.2f] '%s'", object.class_id,
      object.label, static_cast<double>(object.confidence), object.track_id, object.predicted,
      object.x0, object.y0, object.x1, object.y1, gst_dv_object_get_text(&object));
  std::string text = head;
  g_free(head);
  gdouble x = 0, y = 0;
  for (guint i = 0; i < gst_dv_object_get_n_points(&object); ++i) {
    gfloat sure = 0;
    gst_dv_object_get_point(&object, i, &x, &y, &sure);
    text += " p" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(sure);
  }
  for (guint i = 0; i < gst_dv_object_get_n_corners(&object); ++i) {
    gst_dv_object_get_corner(&object, i, &x, &y);
    text += " c" + std::to_string(x) + "," + std::to_string(y);
  }
  gdouble x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  guint width = 0, height = 0;
  if (gst_dv_object_get_mask(&object, &x0, &y0, &x1, &y1, &width, &height)) {
    gsize size = 0;
    const auto* cells =
        static_cast<const guint8*>(g_bytes_get_data(gst_dv_object_get_mask_cells(&object), &size));
    text += " m" + std::to_string(x0) + "," + std::to_string(y1) + ":";
    for (gsize i = 0; i < size; ++i) text += std::to_string(cells[i]) + " ";
  }
  for (guint i = 0; i < gst_dv_object_get_n_numbers(&object); ++i) {
    gdouble value = 0;
    const gchar* name = gst_dv_object_get_number(&object, i, &value);
    text += std::string(" ") + name + "=" + std::to_string(value);
  }
  return text;
}

std::vector<std::string> drawn(GstBuffer* frame) {
  std::vector<std::string> all;
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    all.push_back(drawn(*gst_dv_objects_meta_get_object(meta, i)));
  }
  return all;
}

// Frames' objects by their times, and what makes them.
struct Drawn {
  std::mt19937 random;
  std::mutex mutex;
  std::map<GstClockTime, std::vector<std::string>> frames;
};

void add_any_object(std::mt19937* random, GstDvObjectsMeta* meta) {
  const auto below = [&](unsigned most) { return (*random)() % most; };
  const auto place = [&] { return below(400) / 4.0; };
  GstDvObject* object =
      gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, static_cast<gint>(below(9)),
                                     "a <label>", static_cast<gfloat>(below(100)) / 100);
  object->network = 0;
  object->track_id = below(5);
  object->predicted = below(3) == 0;
  const double x = place(), y = place();
  gst_dv_object_set_box(object, x, y, x + 1 + place(), y + 1 + place());
  for (unsigned left = below(4); left > 0; --left) {
    gst_dv_object_add_point(object, place(), place(), 0.25f);
    gst_dv_object_add_corner(object, place(), place());
  }
  if (below(2)) {
    guint8 cells[12];
    for (guint8& cell : cells) cell = static_cast<guint8>(below(256));
    GBytes* bytes = g_bytes_new(cells, sizeof cells);
    gst_dv_object_set_mask(object, x, y, x + 4, y + 3, 4, 3, bytes);
    g_bytes_unref(bytes);
  }
  if (below(2)) gst_dv_object_set_text(object, "z&amp;\n\"y\"");
  gst_dv_object_add_number(object, "zeal", place());
  gst_dv_object_add_number(object, "age", place());
}

GstPadProbeReturn find_any(GstPad*, GstPadProbeInfo* info, gpointer data) {
  auto* to = static_cast<Drawn*>(data);
  GstBuffer* frame = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
  GST_PAD_PROBE_INFO_DATA(info) = frame;
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  gst_dv_objects_meta_add_pass(meta, "net", GST_DV_PASS_INFERRED);
  for (unsigned left = to->random() % 4; left > 0; --left) add_any_object(&to->random, meta);
  const std::lock_guard<std::mutex> lock(to->mutex);
  to->frames[GST_BUFFER_PTS(frame)] = drawn(frame);
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn note(GstPad*, GstPadProbeInfo* info, gpointer data) {
  auto* to = static_cast<Drawn*>(data);
  GstBuffer* frame = GST_PAD_PROBE_INFO_BUFFER(info);
  const std::lock_guard<std::mutex> lock(to->mutex);
  to->frames[GST_BUFFER_PTS(frame)] = drawn(frame);
  return GST_PAD_PROBE_OK;
}

GstElement* with_probe(const std::string& line, GstPadProbeCallback probe, Drawn* to) {
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(line.c_str(), &error);
  ck_assert_msg(!error, "%s", error ? error->message : "");
  GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), "probed");
  GstPad* pad = gst_element_get_static_pad(element, "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, probe, to, nullptr);
  gst_object_unref(pad);
  gst_object_unref(element);
  return pipeline;
}

void play(GstElement* pipeline) {
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* end = gst_bus_timed_pop_filtered(
      bus, 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  ck_assert_ptr_nonnull(end);
  ck_assert_int_eq(GST_MESSAGE_TYPE(end), GST_MESSAGE_EOS);
  gst_message_unref(end);
  gst_object_unref(bus);
}

void end(GstElement* pipeline) {
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

}  // namespace

// A run, and its clip played with and without queues, and from the middle: the same is drawn.
DVNN_TEST(a_clip_is_drawn_as_the_run_was) {
  char folder[] = "/tmp/dvnn-recall-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  Drawn live;
  live.random.seed(std::random_device()());
  GstElement* run = with_probe(
      std::string("videotestsrc num-buffers=60 ! video/x-raw, format=I420, width=160, height=120, "
                  "framerate=30/1 ! tee name=t ! queue ! jpegenc ! dvrecord name=r recording=true "
                  "picture-size=0 location=") +
          folder + " t. ! queue ! identity name=probed ! r.detections",
      find_any, &live);
  play(run);
  end(run);
  std::string clip;
  for (const auto& file : std::filesystem::directory_iterator(folder)) clip = file.path();
  const std::string replay = "filesrc location=" + clip +
                             " ! matroskademux name=d d.video_0 ! %s jpegdec ! dvrecall "
                             "name=probed ! fakesink sync=false d.subtitle_0 ! %s probed.text";
  for (const auto& [video, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", ""}, {"queue !", ""}, {"queue max-size-buffers=1 !", "queue !"}}) {
    Drawn again;
    gchar* line = g_strdup_printf(replay.c_str(), video, text);
    GstElement* pipeline = with_probe(line, note, &again);
    g_free(line);
    play(pipeline);
    ck_assert_uint_eq(again.frames.size(), 60);
    auto at = again.frames.begin();
    for (const auto& [time, objects] : live.frames) {
      // Matroska's times are milliseconds.
      ck_assert_int_le(std::abs(GST_CLOCK_DIFF(time, at->first)), GST_MSECOND);
      ck_assert_uint_eq(at->second.size(), objects.size());
      for (size_t i = 0; i < objects.size(); ++i) {
        dvnn_assert_text(at->second[i], objects[i].c_str());
      }
      ++at;
    }
    // From the 30th frame on.
    again.frames.clear();
    ck_assert(gst_element_seek_simple(
        pipeline, GST_FORMAT_TIME,
        static_cast<GstSeekFlags>(GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE), GST_SECOND));
    play(pipeline);
    ck_assert_uint_eq(again.frames.size(), 30);
    auto before = std::next(live.frames.begin(), 30);
    for (const auto& [time, objects] : again.frames) {
      ck_assert(objects == before->second);
      ++before;
    }
    end(pipeline);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace dvnn::test::recall_clips_tests
