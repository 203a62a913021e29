// SPDX-License-Identifier: Apache-2.0
// dvpublish's pictures: of frames, of objects, and of tracks at their best.
#include "publish_harness.h"

namespace dvnn::test::publish_pictures_tests {

DVNN_GST_SUITE(gst_publish_pictures);

namespace {

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

}  // namespace

DVNN_TEST(pictures_of_frames_are_of_that_frame) {
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

DVNN_TEST(pictures_may_be_files) {
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
  // If the folder is removed meanwhile, documents lack the picture, and one warning says so.
  PublishHarness harness(std::string("snapshot=object snapshot-folder=") + folder);
  std::filesystem::remove_all(folder);
  for (int i = 0; i < 3; ++i) harness.push(i, 50);
  for (const json& one : harness.documents()) ck_assert(!one["objects"][0].contains("picture"));
  ck_assert_uint_eq(harness.warnings(), 1);
}

// The picture is the object's own, also where an object before it is left out.
DVNN_TEST(objects_behind_those_that_are_not_agreed_have_their_own_pictures) {
  PublishHarness harness("snapshot=object only-agreed=true");
  GstBuffer* frame = PublishHarness::frame(0);
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  GstDvObject* open =
      gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_CLASSIFICATION, 1, "open", 0.5f);
  gst_dv_object_set_box(open, 0, 0, 20, 20);
  gst_dv_object_set_agreement(open, 1, 0.5f, FALSE);
  for (const double x : {60.0, 120.0}) {
    gst_dv_object_set_box(
        gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "thing", 0.5f), x, 10,
        x + 40, 50);
  }
  harness.push(frame);
  const json found = harness.documents().at(0)["objects"];
  ck_assert_uint_eq(found.size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    const double middle = 80 + 60.0 * static_cast<double>(i);
    ck_assert(found[i]["picture"]["box"][0].get<double>() < middle);
    ck_assert(found[i]["picture"]["box"][2].get<double>() > middle);
    ck_assert(found[i]["picture"]["box"][2].get<double>() < middle + 50);
  }
}

DVNN_TEST(a_track_ends_with_its_best_view) {
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

// As many views are kept as there is room for; of more tracks those seen longest ago lose theirs.
DVNN_TEST(of_many_tracks_the_newest_keep_their_views) {
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

DVNN_TEST(pictures_are_those_of_the_object) {
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

// Rows of a field are two lines of the frame: the person is in the bright rows 10 to 29, and the
// frame's picture is as high as the frame.
DVNN_TEST(pictures_of_fields_have_the_shape_of_the_frame) {
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

DVNN_TEST(what_lies_beside_the_frame_is_on_no_picture) {
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

}  // namespace dvnn::test::publish_pictures_tests
