// SPDX-License-Identifier: Apache-2.0
// Elements that are combined so that nothing can come of it say so; all others are silent.
#include "gst_fixture.h"
#include "played_line.h"

namespace dvnn::test::mistakes_tests {

DVNN_GST_SUITE(gst_mistakes);

namespace {

constexpr int kFrames = 4;
const char* const kNoDecoder = "outputs of network 'grid': is a dvdecode missing upstream?";
const char* const kNoInfer = "there is no dvinfer upstream";
const char* const kLost = "something between dvinfer and dvdecode";

std::string frames(int count = kFrames) {
  return "videotestsrc num-buffers=" + std::to_string(count) +
         " ! video/x-raw,format=RGB,width=64,height=64 ! ";
}

std::string infer() {
  return "dvinfer name=infer network=" + network_path() + " ";
}

void expect_silence(const std::string& line) {
  const PlayedLine played = play_line(line);
  dvnn_assert_text(played.error, "");
  ck_assert_msg(played.warnings.empty(), "%s: %s", line.c_str(),
                played.warnings.empty() ? "" : played.warnings[0].c_str());
}

void expect_one(const std::string& line, const char* text) {
  const PlayedLine played = play_line(line);
  dvnn_assert_text(played.error, "");
  ck_assert_msg(played.warnings.size() == 1 && played.count(text) == 1, "%s: %zu warnings, %s",
                line.c_str(), played.warnings.size(),
                played.warnings.empty() ? "" : played.warnings[0].c_str());
}

}  // namespace

DVNN_TEST(undecoded_outputs_are_a_warning_where_objects_are_needed) {
  for (const char* rest : {"! dvoverlay ! videoconvert ! fakesink", "! queue ! dvtrack ! fakesink",
                           "! tee name=t ! queue ! fakesink t. ! queue ! dvzones ! fakesink"}) {
    expect_one(frames() + "dvconvert ! " + infer() + rest, kNoDecoder);
  }
  // Live pipelines do not end.
  expect_one(frames(40) + infer() + "! dvoverlay ! fakesink", kNoDecoder);
}

DVNN_TEST(other_lines_are_silent) {
  for (const char* rest : {"! fakesink", "! dvdecode ! dvoverlay ! fakesink",
                           "! dvdecode threshold=1 ! dvtrack ! fakesink",
                           "! queue ! videoconvert ! dvdecode ! dvoverlay ! fakesink",
                           "! tee name=t ! queue ! fakesink t. ! queue ! dvdecode ! fakesink"}) {
    expect_silence(frames() + "dvconvert ! " + infer() + rest);
  }
  expect_silence(frames() + "dvoverlay ! dvtrack ! fakesink");
  expect_silence(frames() + "dvconvert ! " + infer() + "! other/tensors ! fakesink");
  expect_silence(frames() + "dvconvert ! " + infer() + "active=false ! dvoverlay ! fakesink");
}

DVNN_TEST(a_decoder_without_inference_says_what_is_missing) {
  expect_one(frames() + "dvdecode ! fakesink", kNoInfer);
  expect_one(frames() + "dvconvert ! dvdecode ! fakesink", kNoInfer);
  expect_one(frames() + "queue ! bin.( dvconvert ! identity ) ! dvdecode ! fakesink", kNoInfer);
  // An application may attach outputs by itself, but here it did not.
  expect_one(frames() + "dvconvert ! " + infer() + "! videocrop left=8 ! dvdecode ! fakesink",
             kLost);
}

DVNN_TEST(the_device_in_use_is_known_from_ready_on) {
  const PlayedLine played = play_line(frames() + infer() + "device=soft ! dvdecode ! fakesink");
  dvnn_assert_text(played.error, "");
  dvnn_assert_text(played.device_before, "");
  dvnn_assert_text(played.device, "soft");
  ck_assert_int_eq(played.device_notes, 2);  // there, and gone
  const char* path = std::getenv("DVNN_FAULT_DEVICE");
  const PlayedLine by_path =
      play_line(frames() + infer() + "device=" + path + " ! dvdecode ! fakesink");
  dvnn_assert_text(by_path.device, path);
}

DVNN_TEST(a_vendors_library_that_is_not_installed_is_not_missed) {
  setenv("DVNN_DEVICE", "auto", TRUE);
  const PlayedLine played = play_line(frames() + infer() + "! dvdecode ! fakesink");
  unsetenv("DVNN_DEVICE");
  dvnn_assert_text(played.error, "");
  ck_assert(played.warnings.empty() && !played.device.empty());
}

}  // namespace dvnn::test::mistakes_tests
