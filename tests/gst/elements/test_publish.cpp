// SPDX-License-Identifier: Apache-2.0
// dvpublish: what becomes a document, once, and what it says when it cannot publish. How documents
// are delivered is tests/publish's.
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::publish_tests {

using json = dvnn::Json;

namespace {

constexpr int kWidth = 200, kHeight = 100;
constexpr GstClockTime kFrame = 100 * GST_MSECOND;
constexpr const char* kLine =
    R"(dvzones name=z zones="{\"lines\":[{\"name\":\"gate\",\"points\":[[0.5,0.9],[0.5,0.1]]}],)"
    R"(\"areas\":[{\"name\":\"all\",\"points\":[[0,0],[1,0],[1,1],[0,1]]}]}" ! )";

GstDvObject* add_object(GstBuffer* frame) {
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  gst_dv_objects_meta_add_pass(meta, "people", GST_DV_PASS_INFERRED);
  GstDvObject* object =
      gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "person", 0.9f);
  object->network = 0;
  return object;
}

// A tracked one, whose foot is at (x, 60).
void add_person(GstBuffer* frame, double x) {
  GstDvObject* object = add_object(frame);
  object->track_id = 7;
  gst_dv_object_set_box(object, x - 5, 20, x + 5, 60);
}

class PublishHarness {
 public:
  explicit PublishHarness(const std::string& settings, const std::string& before = "") {
    char path[] = "/tmp/dvnn-dvpublish-XXXXXX";
    folder_ = mkdtemp(path);
    const std::string line =
        before + "dvpublish name=p stream=cam location=" + file() + " " + settings;
    harness_ = gst_harness_new_parse(line.c_str());
    gst_element_set_bus(harness_->element, bus_);
    gst_harness_set_src_caps_str(harness_, video_caps("GRAY8", kWidth, kHeight).c_str());
  }
  ~PublishHarness() {
    end();
    gst_object_unref(bus_);
    std::filesystem::remove_all(folder_);
  }
  PublishHarness(const PublishHarness&) = delete;
  PublishHarness& operator=(const PublishHarness&) = delete;
  std::string file() const { return folder_ + "/out"; }
  GstHarness* get() const { return harness_; }

  std::string folder() const { return folder_; }
  size_t warnings() const { return warnings_of(bus_); }

  // A frame, each of which is a little brighter than the one before.
  static GstBuffer* frame(int number) {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, kWidth * kHeight, nullptr);
    gst_buffer_memset(frame, 0, brightness(number), kWidth * kHeight);
    GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(number) * kFrame;
    return frame;
  }
  static guint8 brightness(int number) { return static_cast<guint8>(60 + 20 * number); }
  void push(GstBuffer* frame) {
    gst_buffer_ref(frame);
    GstBuffer* out = gst_harness_push_and_pull(harness_, frame);
    ck_assert_ptr_nonnull(out);
    gst_buffer_unref(out);
    gst_buffer_unref(frame);
  }
  // A frame with one tracked object, whose foot is at (x, 60).
  void push(int number, double x) {
    GstBuffer* frame = PublishHarness::frame(number);
    if (x > 0) {
      add_person(frame, x);
    } else {
      gst_dv_objects_meta_add_pass(gst_buffer_add_dv_objects_meta(frame), "people",
                                   GST_DV_PASS_INFERRED);
    }
    push(frame);
  }
  // Ends the stream; the documents.
  std::vector<json> documents() {
    gst_harness_push_event(harness_, gst_event_new_eos());
    end();
    std::vector<json> all;
    std::ifstream in(file());
    for (std::string line; std::getline(in, line);) all.push_back(json::parse(line));
    for (size_t i = 0; i < all.size(); ++i)
      ck_assert_int_eq(all[i]["seq"].get<int>(), static_cast<int>(i));
    return all;
  }

 private:
  void end() {
    if (!harness_) return;
    gst_element_set_state(harness_->element, GST_STATE_NULL);
    gst_element_set_bus(harness_->element, nullptr);
    gst_harness_teardown(harness_);
    harness_ = nullptr;
  }
  static size_t warnings_of(GstBus* bus) {
    size_t count = 0;
    while (GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING)) {
      gst_message_unref(message);
      ++count;
    }
    return count;
  }

  std::string folder_;
  GstBus* const bus_ = gst_bus_new();
  GstHarness* harness_ = nullptr;
};

std::string kinds(const std::vector<json>& documents) {
  std::string text;
  for (const json& document : documents) {
    text += document.contains("event") ? document["event"]["kind"].get<std::string>()
                                       : document["type"].get<std::string>();
    text += ' ';
  }
  return text;
}

}  // namespace

START_TEST(a_frame_becomes_a_document) {
  PublishHarness harness("extra-fields=\"{\\\"site\\\":\\\"Kyoto\\\"}\"");
  harness.push(0, 50);
  harness.push(1, 0);
  const auto all = harness.documents();
  ck_assert_uint_eq(all.size(), 2);
  ck_assert(all[0]["objects"][0]["box"] == json({45, 20, 55, 60}));
  ck_assert(all[0]["objects"][0]["track_id"] == 7);
  ck_assert(all[0]["stream"] == "cam");
  ck_assert(all[0]["fields"]["site"] == "Kyoto");
  ck_assert(all[0]["frame"]["width"] == kWidth);
  ck_assert(all[1]["time"]["pts"] == kFrame);
  ck_assert(all[1]["objects"].empty());
}
END_TEST

// Who else holds a frame has it unchanged, and nobody pays for a copy.
START_TEST(a_frame_that_others_hold_passes_as_it_is) {
  PublishHarness harness("");
  GstBuffer* frame = PublishHarness::frame(0);
  add_person(frame, 50);
  gst_buffer_ref(frame);
  GstBuffer* out = gst_harness_push_and_pull(harness.get(), frame);
  ck_assert_ptr_eq(out, frame);
  gst_buffer_unref(out);
  gst_buffer_unref(frame);
}
END_TEST

// Each detail that `details` may name is there once, and stays the frame's: a mask's cells live as
// long as the frame, and are released once.
START_TEST(every_detail_is_published_and_stays_the_frames) {
  static int released;
  released = 0;
  static const guint8 cells[] = {0, 128, 255, 64, 32, 16};
  PublishHarness harness("details=points+outlines+masks+texts+embeddings+numbers");
  GstBuffer* frame = PublishHarness::frame(0);
  GstDvObject* object = add_object(frame);
  gst_dv_object_set_box(object, 10, 20, 50, 60);
  gst_dv_object_add_point(object, 1, 2, 0.5f);
  gst_dv_object_set_skeleton(object, "hand");
  for (double x : {10.0, 50.0, 30.0}) gst_dv_object_add_corner(object, x, 20);
  gst_dv_object_set_text(object, "AB-123");
  gst_dv_object_set_text_format(object, "plate");
  const gfloat embedding[] = {0.25f, -1};
  gst_dv_object_set_embedding(object, embedding, G_N_ELEMENTS(embedding));
  gst_dv_object_add_number(object, "age", 41);
  GBytes* bytes = g_bytes_new_with_free_func(
      cells, sizeof cells, [](gpointer) { ++released; }, nullptr);
  ck_assert(gst_dv_object_set_mask(object, 10, 20, 50, 60, 3, 2, bytes));
  g_bytes_unref(bytes);
  gst_buffer_ref(frame);
  GstBuffer* out = gst_harness_push_and_pull(harness.get(), frame);
  ck_assert_ptr_eq(out, frame);
  const auto all = harness.documents();
  ck_assert_int_eq(released, 0);
  ck_assert_uint_eq(g_bytes_get_size(gst_dv_object_get_mask_cells(object)), sizeof cells);
  gst_buffer_unref(out);
  gst_buffer_unref(frame);
  ck_assert_int_eq(released, 1);
  ck_assert_uint_eq(all.size(), 1);
  const json& found = all[0]["objects"][0];
  ck_assert(found["points"] == json::parse("[[1,2,0.5]]"));
  ck_assert(found["skeleton"] == "hand");
  ck_assert(found["outline"] == json::parse("[[10,20],[50,20],[30,20]]"));
  ck_assert(found["text"] == "AB-123");
  ck_assert(found["text_format"] == "plate");
  ck_assert(found["embedding"] == json::parse("[0.25,-1]"));
  ck_assert(found["numbers"] == json::parse("{\"age\":41}"));
  ck_assert(found["mask"] ==
            json::parse(R"({"box":[10,20,50,60],"cells":"AID/QCAQ","height":2,"width":3})"));
}
END_TEST

START_TEST(each_event_is_published_once_also_the_last) {
  PublishHarness harness("mode=events", kLine);
  harness.push(0, 50);
  harness.push(1, 90);
  harness.push(2, 150);
  // The area is left when the stream ends, and no frame comes with it.
  const auto all = harness.documents();
  dvnn_assert_text(kinds(all), "enter cross leave ");
  ck_assert(all[1]["event"]["line"] == "gate");
  ck_assert(all[1]["event"]["track_id"] == 7);
  const int64_t pts = all[1]["time"]["pts"].get<int64_t>();
  ck_assert(pts > static_cast<int64_t>(kFrame) && pts < static_cast<int64_t>(2 * kFrame));
}
END_TEST

// --- times and sizes ---------------------------------------------------------------------------

namespace {

constexpr guint64 kFrom1900To1970 = G_GUINT64_CONSTANT(2208988800) * GST_SECOND;
constexpr guint64 kNoon = G_GUINT64_CONSTANT(1790251200) * GST_SECOND;  // 2026-09-24T12:00:00Z

// As rtspsrc and others attach it.
void add_reference_time(GstBuffer* frame, const char* clock, guint64 time) {
  GstCaps* caps = gst_caps_new_empty_simple(clock);
  gst_buffer_add_reference_timestamp_meta(frame, caps, time, GST_CLOCK_TIME_NONE);
  gst_caps_unref(caps);
}

}  // namespace

START_TEST(times_are_the_cameras_where_frames_have_them) {
  PublishHarness harness("");
  GstBuffer* frame = PublishHarness::frame(0);
  add_reference_time(frame, "timestamp/x-ntp", kNoon + kFrom1900To1970 + 1500 * GST_USECOND);
  harness.push(frame);
  frame = PublishHarness::frame(1);
  add_reference_time(frame, "timestamp/x-unix", kNoon + GST_SECOND);
  harness.push(frame);
  // A clock that counts from anywhere is no time of day.
  frame = PublishHarness::frame(2);
  add_reference_time(frame, "timestamp/x-ntp", 5 * GST_SECOND);
  harness.push(frame);
  frame = PublishHarness::frame(3);
  add_reference_time(frame, "timestamp/x-other", kNoon);
  harness.push(frame);
  const auto all = harness.documents();
  ck_assert_uint_eq(all.size(), 4);
  ck_assert(all[0]["time"]["ntp"] == kNoon + kFrom1900To1970 + 1500 * GST_USECOND);
  ck_assert(all[0]["time"]["utc"] == "2026-09-24T12:00:00.001500Z");
  ck_assert(all[1]["time"]["utc"] == "2026-09-24T12:00:01.000000Z");
  ck_assert(!all[1]["time"].contains("ntp"));
  ck_assert(all[2]["time"]["ntp"] == 5 * GST_SECOND);
  for (size_t i = 0; i < all.size(); ++i) {
    ck_assert(all[i]["time"]["utc_from"] == (i < 2 ? "reference" : "clock"));
  }
}
END_TEST

START_TEST(events_between_frames_have_times_between_theirs) {
  PublishHarness harness("mode=events", kLine);
  for (int i = 0; i < 3; ++i) {
    GstBuffer* frame = PublishHarness::frame(i);
    add_reference_time(frame, "timestamp/x-ntp",
                       kNoon + kFrom1900To1970 + static_cast<guint64>(i) * kFrame);
    add_person(frame, i == 0 ? 50 : 50 + 60 * i);
    harness.push(frame);
  }
  const auto all = harness.documents();
  ck_assert(all[1]["event"]["kind"] == "cross");
  const auto pts = all[1]["time"]["pts"].get<guint64>();
  ck_assert(pts > 0 && pts % kFrame != 0);
  ck_assert(all[1]["time"]["ntp"] == kNoon + kFrom1900To1970 + pts);
  ck_assert(all[1]["time"]["utc_from"] == "reference");
}
END_TEST

START_TEST(a_cropped_frame_has_the_size_of_all_its_pixels) {
  PublishHarness harness("");
  GstBuffer* frame = PublishHarness::frame(0);
  gst_buffer_append_memory(frame, gst_allocator_alloc(nullptr, kWidth * 10, nullptr));
  gst_buffer_add_video_meta(frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, kWidth,
                            kHeight + 10);
  harness.push(frame);
  // The picture is of this frame, no other.
  harness.push(PublishHarness::frame(1));
  const auto all = harness.documents();
  ck_assert(all[0]["frame"] == json({{"width", kWidth}, {"height", kHeight + 10}}));
  ck_assert(all[1]["frame"] == json({{"width", kWidth}, {"height", kHeight}}));
}
END_TEST

START_TEST(frames_keep_to_interval_and_change) {
  {
    PublishHarness harness("interval-ms=300");
    for (int i = 0; i < 10; ++i) harness.push(i, 50);
    ck_assert_uint_eq(harness.documents().size(), 4);
  }
  PublishHarness harness("min-change=0.1 heartbeat-ms=500");
  // Still, moved by less, by more, gone, still nothing, the heartbeat.
  const double places[] = {50, 50, 55, 62, 0, 0, 0, 0, 0, 0};
  for (int i = 0; i < 10; ++i) harness.push(i, places[i]);
  std::vector<int> numbers;
  for (const json& one : harness.documents()) {
    numbers.push_back(static_cast<int>(one["time"]["pts"].get<uint64_t>() / kFrame));
  }
  ck_assert((numbers == std::vector<int>{0, 3, 4, 9}));
}
END_TEST

// --- pictures ----------------------------------------------------------------------------------

namespace {

// The brightness of a JPEG's middle, by GStreamer's own decoder; -1 where there is none.
int middle_of(const std::string& jpeg) {
  GstElementFactory* factory = gst_element_factory_find("jpegdec");
  if (!factory) return -1;
  gst_object_unref(factory);
  GstHarness* decoder =
      gst_harness_new_parse("jpegdec ! videoconvert ! capsfilter caps=video/x-raw,format=GRAY8");
  gst_harness_set_src_caps_str(decoder, "image/jpeg");
  gst_harness_push(decoder, gst_buffer_new_memdup(jpeg.data(), jpeg.size()));
  gst_harness_push_event(decoder, gst_event_new_eos());
  GstBuffer* frame = gst_harness_pull(decoder);
  ck_assert_ptr_nonnull(frame);
  guint8 middle = 0;
  gst_buffer_extract(frame, gst_buffer_get_size(frame) / 2, &middle, 1);
  gst_buffer_unref(frame);
  gst_harness_teardown(decoder);
  return middle;
}

void expect_picture_of(int number, const std::string& jpeg) {
  const int middle = middle_of(jpeg);
  const int wanted = PublishHarness::brightness(number);
  ck_assert_msg(middle < 0 || std::abs(middle - wanted) <= 3, "%d, not %d", middle, wanted);
}

std::string bytes_of(const json& picture) {
  gsize size = 0;
  const std::string text = picture["base64"].get<std::string>();
  guchar* bytes = g_base64_decode(text.c_str(), &size);
  std::string result(reinterpret_cast<const char*>(bytes), size);
  g_free(bytes);
  return result;
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

START_TEST(pictures_of_frames_are_of_that_frame) {
  PublishHarness harness("snapshot=frame snapshot-size=100");
  for (int i = 0; i < 3; ++i) harness.push(i, 50);
  const auto all = harness.documents();
  ck_assert_uint_eq(all.size(), 3);
  for (int i = 0; i < 3; ++i) {
    const json& picture = all[static_cast<size_t>(i)]["picture"];
    ck_assert(picture["of"] == "frame");
    ck_assert(picture["width"] == 100 && picture["height"] == 50);
    expect_picture_of(i, bytes_of(picture));
  }
}
END_TEST

START_TEST(pictures_may_be_files) {
  char folder[] = "/tmp/dvnn-dvpublish-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  {
    PublishHarness harness(std::string("snapshot=object snapshot-folder=") + folder);
    for (int i = 0; i < 2; ++i) harness.push(i, 50);
    const auto all = harness.documents();
    ck_assert_uint_eq(all.size(), 2);
    std::vector<std::string> names;
    for (int i = 0; i < 2; ++i) {
      const json& picture = all[static_cast<size_t>(i)]["objects"][0]["picture"];
      ck_assert(!picture.contains("base64"));
      names.push_back(picture["file"].get<std::string>());
      expect_picture_of(i, bytes_of_file(names.back()));
    }
    ck_assert(names[0] != names[1]);
    ck_assert_uint_eq(harness.warnings(), 0);
  }
  // A folder that goes meanwhile costs the picture, not the document, and is told of once.
  PublishHarness harness(std::string("snapshot=object snapshot-folder=") + folder);
  std::filesystem::remove_all(folder);
  for (int i = 0; i < 3; ++i) harness.push(i, 50);
  for (const json& one : harness.documents()) ck_assert(!one["objects"][0].contains("picture"));
  ck_assert_uint_eq(harness.warnings(), 1);
}
END_TEST

START_TEST(a_track_ends_with_its_best_view) {
  for (const char* snapshot : {"object", "frame"}) {
    PublishHarness harness(std::string("mode=tracks snapshot=") + snapshot,
                           "dvtrack min-evidence=0 smooth=false ! ");
    // It comes nearer, is seen best in the fourth frame, and is cut by the edge in the last.
    const double halves[] = {18, 20, 23, 27, 25, 22};
    for (int i = 0; i < 6; ++i) {
      GstBuffer* frame = PublishHarness::frame(i);
      gst_dv_object_set_box(add_object(frame), 100 - halves[i], 50 - halves[i], 100 + halves[i],
                            i == 5 ? 100 : 50 + halves[i]);
      harness.push(frame);
    }
    const auto all = harness.documents();
    ck_assert_uint_eq(all.size(), 2);
    ck_assert(all[0]["track"]["state"] == "started");
    ck_assert(all[1]["track"]["state"] == "ended");
    const json& picture = all[1]["picture"];
    ck_assert(picture["of"] == snapshot);
    ck_assert(picture["pts"] == 3 * kFrame);
    ck_assert(all[1]["track"]["best_view"]["pts"] == 3 * kFrame);
    expect_picture_of(3, bytes_of(picture));
  }
}
END_TEST

// As many views are kept as there is room for; of more tracks those seen longest ago lose theirs.
START_TEST(of_many_tracks_the_newest_keep_their_views) {
  constexpr size_t kTracks = 140, kViews = 128, kOld = kTracks - kViews;
  PublishHarness harness("mode=tracks snapshot=object",
                         "dvtrack min-evidence=0 smooth=false max-lost-ms=60000 max-coast-ms=0 ! ");
  for (int i = 0; i < 4; ++i) {
    GstBuffer* frame = PublishHarness::frame(i);
    // Some are there in the first two frames alone, all others in the last two.
    const bool early = i < 2;
    for (size_t n = early ? 0 : kOld; n < (early ? kOld : kTracks); ++n) {
      const double x = 2 + 10 * static_cast<double>(n % 19);
      const double y = 2 + 10 * static_cast<double>(n / 19);
      gst_dv_object_set_box(add_object(frame), x, y, x + 8, y + 8);
    }
    harness.push(frame);
  }
  size_t ended = 0, views = 0;
  for (const json& one : harness.documents()) {
    if (one["track"]["state"] != "ended") continue;
    ++ended;
    if (!one.contains("picture")) continue;
    ++views;
    ck_assert(one["picture"]["pts"].get<int64_t>() >= static_cast<int64_t>(2 * kFrame));
  }
  ck_assert_uint_eq(ended, kTracks);
  ck_assert_uint_eq(views, kViews);
}
END_TEST

START_TEST(pictures_are_those_of_the_object) {
  PublishHarness harness("mode=events snapshot=object", kLine);
  harness.push(0, 50);
  harness.push(1, 150);
  const auto all = harness.documents();
  dvnn_assert_text(kinds(all), "enter cross leave ");
  for (const json& one : all) {
    ck_assert(one["picture"]["of"] == "object");
    ck_assert(one["picture"]["width"] == 10);
    ck_assert(one["picture"]["height"] == 40);
    ck_assert_int_eq(one["picture"]["base64"].get<std::string>().compare(0, 3, "/9j"), 0);
  }
}
END_TEST

// Rows of a field are two lines of the frame: the person is in the bright rows 10 to 29, and the
// frame's picture is as high as the frame.
START_TEST(pictures_of_fields_have_the_shape_of_the_frame) {
  for (const char* snapshot : {"object", "frame"}) {
    PublishHarness harness(std::string("snapshot=") + snapshot);
    GstVideoInfo info;
    ck_assert(gst_video_info_set_interlaced_format(
        &info, GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_INTERLACE_MODE_ALTERNATE, kWidth, kHeight));
    gst_harness_set_src_caps_str(harness.get(), caps_text(gst_video_info_to_caps(&info)).c_str());
    GstBuffer* field = gst_buffer_new_allocate(nullptr, kWidth * kHeight / 2, nullptr);
    const bool object = std::string(snapshot) == "object";
    gst_buffer_memset(field, 0, object ? 0 : PublishHarness::brightness(1), kWidth * kHeight / 2);
    gst_buffer_memset(field, 10 * kWidth, PublishHarness::brightness(1), 20 * kWidth);
    GST_BUFFER_PTS(field) = 0;
    add_person(field, 50);  // lines 20 to 59
    harness.push(field);
    const auto all = harness.documents();
    ck_assert_uint_eq(all.size(), 1);
    const json& picture = object ? all[0]["objects"][0]["picture"] : all[0]["picture"];
    ck_assert_int_eq(picture["width"].get<int>(), object ? 10 : kWidth);
    ck_assert_int_eq(picture["height"].get<int>(), object ? 40 : kHeight);
    expect_picture_of(1, bytes_of(picture));
    ck_assert_uint_eq(harness.warnings(), 0);
  }
}
END_TEST

START_TEST(what_lies_beside_the_frame_is_on_no_picture) {
  // Ten columns wide, and seen as far as the frame goes.
  const struct {
    double middle;
    int columns;
  } cases[] = {{2, 7}, {kWidth - 1, 6}, {100, 10}};
  for (const auto& c : cases) {
    PublishHarness harness("mode=events snapshot=object", kLine);
    harness.push(0, c.middle);
    const auto all = harness.documents();
    ck_assert(all[0]["event"]["kind"] == "enter");
    ck_assert_int_eq(all[0]["picture"]["width"].get<int>(), c.columns);
    ck_assert_int_eq(all[0]["picture"]["height"].get<int>(), 40);
  }
}
END_TEST

START_TEST(without_a_place_to_publish_to_it_does_not_start) {
  for (const char* settings : {"", "url=mqtt://localhost options=\"qos=7\""}) {
    GstElement* element = gst_parse_launch((std::string("dvpublish ") + settings).c_str(), nullptr);
    GstBus* bus = gst_bus_new();
    gst_element_set_bus(element, bus);
    ck_assert_int_eq(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
    GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    ck_assert_ptr_nonnull(message);
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    ck_assert(g_error_matches(error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS) ||
              g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
    g_error_free(error);
    gst_message_unref(message);
    gst_element_set_bus(element, nullptr);
    gst_element_set_state(element, GST_STATE_NULL);
    gst_object_unref(element);
    gst_object_unref(bus);
  }
}
END_TEST

DVNN_GST_SUITE(gst_publish, a_frame_becomes_a_document, a_frame_that_others_hold_passes_as_it_is,
               every_detail_is_published_and_stays_the_frames,
               each_event_is_published_once_also_the_last,
               times_are_the_cameras_where_frames_have_them,
               events_between_frames_have_times_between_theirs,
               a_cropped_frame_has_the_size_of_all_its_pixels, pictures_of_frames_are_of_that_frame,
               pictures_may_be_files, a_track_ends_with_its_best_view,
               frames_keep_to_interval_and_change, of_many_tracks_the_newest_keep_their_views,
               pictures_are_those_of_the_object, what_lies_beside_the_frame_is_on_no_picture,
               pictures_of_fields_have_the_shape_of_the_frame,
               without_a_place_to_publish_to_it_does_not_start)

}  // namespace dvnn::test::publish_tests
