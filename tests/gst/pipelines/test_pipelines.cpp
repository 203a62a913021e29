// SPDX-License-Identifier: Apache-2.0
// Whole pipelines, and what they post when something is wrong.
#include <fstream>

#include "grid_network.h"
#include "gst_fixture.h"
#include "network/dvn_file.h"

namespace dvnn::test::pipelines_tests {

DVNN_GST_SUITE(gst_pipelines);

namespace {

constexpr GstClockTime kTimeout = 60 * GST_SECOND;

GstElement* launch(const std::string& description) {
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(description.c_str(), &error);
  ck_assert_msg(pipeline && !error, "%s", error ? error->message : "");
  return pipeline;
}

// Waits for EOS or an error; the error, or null. (transfer full)
GError* wait_for_end(GstElement* pipeline) {
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, kTimeout, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  gst_object_unref(bus);
  ck_assert_msg(message, "no end within the time limit");
  GError* error = nullptr;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error(message, &error, nullptr);
  }
  gst_message_unref(message);
  return error;
}

void run_to_end(const std::string& description) {
  GstElement* pipeline = launch(description);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GError* error = wait_for_end(pipeline);
  ck_assert_msg(!error, "%s: %s", description.c_str(), error ? error->message : "");
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

// Every element that infers has this patience: in some builds the software device itself is
// emulated.
const char* const kPatient = "dvinfer watchdog-ms=60000 ";

std::string infer(const std::string& properties = "") {
  return kPatient + properties + " network=" + network_path();
}

const char* const kSource = "videotestsrc num-buffers=30 ! video/x-raw,width=320,height=240 ! ";

// Expects the pipeline to end in an error of that domain and code whose text has `word`.
void expect_error(const std::string& description, GQuark domain, int code, const char* word) {
  GstElement* pipeline = launch(description);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GError* error = wait_for_end(pipeline);
  ck_assert_msg(error, "no error: %s", description.c_str());
  ck_assert_msg(error->domain == domain && error->code == code &&
                    std::string(error->message).find(word) != std::string::npos,
                "%s: %s %d: %s", description.c_str(), g_quark_to_string(error->domain), error->code,
                error->message);
  g_error_free(error);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

}  // namespace

DVNN_TEST(a_library_of_generated_sources_is_a_network) {
  const std::string weights = "/tmp/dvnn-test-weights-" + std::to_string(getpid());
  std::ofstream(weights, std::ios::binary) << std::string(448, '\0');
  const std::string network = "dvinfer network=" PRIOR_MODULE;
  run_to_end(std::string(kSource) + "dvconvert ! " + network + " weights-file=" + weights +
             " ! fakesink");
  expect_error(std::string(kSource) + network + " ! fakesink", GST_LIBRARY_ERROR,
               GST_LIBRARY_ERROR_SETTINGS, "weights");
  expect_error(std::string(kSource) + network + " weights-file=/nowhere ! fakesink",
               GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, "/nowhere");
  unlink(weights.c_str());
}

DVNN_TEST(a_network_is_planned_for_another_size) {
  for (const char* size : {"128x96", "320x256"}) {
    run_to_end(std::string(kSource) + "dvconvert ! " + kPatient + "input-size=" + size +
               " ! dvdecode ! fakesink");
  }
  expect_error(std::string(kSource) + "dvinfer input-size=10 ! fakesink", GST_LIBRARY_ERROR,
               GST_LIBRARY_ERROR_SETTINGS, "input-size");
  expect_error(std::string(kSource) + "dvinfer input-size=9999x9999 ! fakesink", GST_RESOURCE_ERROR,
               GST_RESOURCE_ERROR_SETTINGS, "9999");
  expect_error(std::string(kSource) + infer("input-size=64x64") + " ! fakesink", GST_RESOURCE_ERROR,
               GST_RESOURCE_ERROR_SETTINGS, "convert");
}

DVNN_TEST(libraries_of_layers_are_named_when_missing) {
  expect_error(std::string(kSource) + "dvinfer custom-layers=/nowhere/libmine.so ! fakesink",
               GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, "libmine.so");
}

DVNN_TEST(queues_may_stand_between_all_elements) {
  run_to_end(std::string(kSource) + "queue ! dvconvert ! queue ! " + infer() +
             " ! queue ! dvdecode ! queue ! dvoverlay ! queue ! fakesink");
}

DVNN_TEST(a_tee_may_stand_anywhere) {
  run_to_end(std::string(kSource) + "dvconvert ! tee name=t t. ! queue ! " + infer() +
             " ! dvdecode ! dvoverlay ! fakesink t. ! queue ! " + infer() +
             " ! dvdecode ! fakesink t. ! queue ! fakesink");
  run_to_end(std::string(kSource) + "dvconvert ! " + infer() +
             " ! tee name=t t. ! queue ! dvdecode ! dvoverlay ! fakesink t. ! queue ! dvdecode ! "
             "fakesink");
}

DVNN_TEST(videorate_may_double_and_drop_frames) {
  for (const char* rate : {"15/1", "60/1"}) {
    run_to_end(std::string(kSource) + "dvconvert ! videorate ! video/x-raw,framerate=" + rate +
               " ! " + infer() + " ! videorate ! dvdecode ! dvoverlay ! fakesink");
  }
}

DVNN_TEST(every_number_in_flight_works) {
  for (int n : {1, 2, 5, 16}) {
    run_to_end(std::string(kSource) + "dvconvert ! " + infer("max-in-flight=" + std::to_string(n)) +
               " ! dvdecode ! fakesink");
  }
}

DVNN_TEST(the_state_may_go_up_and_down) {
  GstElement* pipeline = launch("videotestsrc is-live=true ! dvconvert ! " + infer() +
                                " ! dvdecode ! dvoverlay ! fakesink");
  for (int i = 0; i < 4; ++i) {
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    ck_assert_int_ne(gst_element_get_state(pipeline, nullptr, nullptr, kTimeout),
                     GST_STATE_CHANGE_FAILURE);
    g_usleep(100 * 1000);
    gst_element_set_state(pipeline, i % 2 ? GST_STATE_READY : GST_STATE_NULL);
  }
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

DVNN_TEST(seeks_flush_and_go_on) {
  GstElement* pipeline = launch("videotestsrc num-buffers=100 ! dvconvert ! " + infer() +
                                " ! queue ! dvdecode ! dvoverlay ! fakesink sync=false");
  gst_element_set_state(pipeline, GST_STATE_PAUSED);
  gst_element_get_state(pipeline, nullptr, nullptr, kTimeout);
  for (int i = 0; i < 5; ++i) {
    ck_assert(gst_element_seek_simple(pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
                                      i * 200 * GST_MSECOND));
    ck_assert_int_ne(gst_element_get_state(pipeline, nullptr, nullptr, kTimeout),
                     GST_STATE_CHANGE_FAILURE);
  }
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GError* error = wait_for_end(pipeline);
  ck_assert(!error);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

DVNN_TEST(a_sink_that_wants_one_frame_ends_the_stream) {
  run_to_end(std::string(kSource) + "dvconvert ! " + infer() +
             " ! dvdecode ! dvoverlay ! videoconvert ! pngenc snapshot=true ! fakesink");
}

DVNN_TEST(frames_pass_a_dvconvert_with_no_dvinfer) {
  run_to_end(std::string(kSource) + "dvconvert ! dvdecode ! dvoverlay ! fakesink");
}

DVNN_TEST(bad_network_files_are_named) {
  const std::string tail = " ! fakesink";
  expect_error(std::string(kSource) + "dvinfer network=/nowhere/net.dvn" + tail, GST_RESOURCE_ERROR,
               GST_RESOURCE_ERROR_NOT_FOUND, "/nowhere/net.dvn");
  expect_error(std::string(kSource) + "dvinfer network=/" + tail, GST_RESOURCE_ERROR,
               GST_RESOURCE_ERROR_OPEN_READ, "regular file");
  const std::string broken = network_path() + ".broken";
  {
    std::ifstream in(network_path(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    bytes[bytes.size() / 2] ^= 1;
    std::ofstream(broken, std::ios::binary) << bytes;
  }
  expect_error(std::string(kSource) + "dvinfer network=" + broken + tail, GST_RESOURCE_ERROR,
               GST_RESOURCE_ERROR_OPEN_READ, "checksum");
  unlink(broken.c_str());
}

DVNN_TEST(a_missing_device_is_named) {
  expect_error(std::string(kSource) + infer("device=/nowhere/libdv.so") + " ! fakesink",
               GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, "/nowhere/libdv.so");
}

DVNN_TEST(a_network_without_a_decoder_is_explained) {
  dvnn::network::Model model = grid_network();
  model.decoder.name.clear();
  const std::string path = network_path() + ".raw";
  ck_assert(dvnn::network::write_dvn(model, path).ok());
  expect_error(std::string(kSource) + "dvinfer network=" + path + " ! dvdecode ! fakesink",
               GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, "--decoder");
  unlink(path.c_str());
}

DVNN_TEST(objects_are_posted_as_messages) {
  GstElement* pipeline = launch("videotestsrc num-buffers=3 pattern=red ! dvconvert ! " + infer() +
                                " ! dvdecode post-messages=true ! fakesink");
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(bus, kTimeout, GST_MESSAGE_ELEMENT);
  ck_assert_ptr_nonnull(message);
  const GstStructure* s = gst_message_get_structure(message);
  ck_assert(gst_structure_has_name(s, "dvnn-objects"));
  ck_assert_uint_eq(gst_value_list_get_size(gst_structure_get_value(s, "objects")), 16);
  gst_message_unref(message);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

}  // namespace dvnn::test::pipelines_tests
