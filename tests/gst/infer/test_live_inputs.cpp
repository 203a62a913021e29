// SPDX-License-Identifier: Apache-2.0
// Networks with live inputs beside the frame: where their values come from, and which frame has
// which.
#include <unistd.h>

#include <cstring>

#include "gst/dvnn/gstdvtensormeta.h"
#include "leaky_network.h"
#include "network/dvn_file.h"
#include "nnstreamer_rules.h"
#include "streams.h"
#include "watched_suite.h"

namespace dvnn::test::live_input_tests {

DVNN_WATCHED_SUITE(gst_live_inputs);

namespace {

constexpr size_t kPixels = size_t{8} * 8 * 3;

// sum = 0.5 * before + the frame's pixels, where each frame brings `before`.
network::Model live_network() {
  network::Model model = leaky_network();
  model.extra_inputs[0].next = -1;
  return model;
}

// sum = 0.5 * the sum before + the frame's pixels, and shown = sum + more: `sum` is a state, and
// each frame brings `more`.
network::Model remembering_network() {
  using layers::ElementwiseAttributes;
  network::Model model = leaky_network();
  const TensorDesc plain = model.tensors[2].desc;
  model.tensors.push_back({"more", plain, network::Storage::kIo, model.io_bytes});
  model.tensors.push_back({"shown", plain, network::Storage::kIo, 2 * model.io_bytes});
  model.io_bytes *= 3;
  network::Step step;
  step.name = "show";
  step.inputs = {2, 3};
  step.outputs = {4};
  ElementwiseAttributes chain;
  chain.inputs = 2;
  chain.steps = {ElementwiseAttributes::Step::of(kernels::Operation::kAdd, 0, 1)};
  step.layer = std::make_shared<layers::LayerAttributes>(chain);
  model.steps.push_back(step);
  model.extra_inputs.push_back({"more", 3, -1});
  model.outputs = {{"sum", 4}};
  return model;
}

// A network's file, and elements that run it.
class File {
 public:
  explicit File(const network::Model& model = live_network()) {
    close(mkstemp(&path_[0]));
    ck_assert(network::write_dvn(model, path_).ok());
  }
  ~File() { unlink(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string infer(const std::string& options = "") const {
    return "dvinfer name=infer when-busy=wait max-in-flight=3 network=" + path_ + " " + options;
  }

 private:
  std::string path_ = "/tmp/dvnn-live-XXXXXX";
};

// Writes a number that may be none of the enumeration's.
template <typename Enum>
void write(Enum* to, guint number) {
  static_assert(sizeof *to == sizeof number, "an enumeration of C");
  std::memcpy(to, &number, sizeof number);
}

GstBuffer* frame_of(guint8 value, int number = 0) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, kPixels, nullptr);
  gst_buffer_memset(frame, 0, value, kPixels);
  GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(number) * 40 * GST_MSECOND;
  GST_BUFFER_DURATION(frame) = 40 * GST_MSECOND;
  return frame;
}

Bytes floats_of(float value, size_t count = kPixels) {
  const std::vector<float> values(count, value);
  Bytes bytes(count * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Attaches a tensor of equal numbers, as an application does.
void attach(GstBuffer* frame, const char* name, float value, std::vector<gsize> dims) {
  GstDvTensor& tensor = gst_buffer_add_dv_tensor_meta(frame, 1)->tensors[0];
  tensor.id = g_quark_from_string(name);
  tensor.data_type = GST_DV_TENSOR_DATA_TYPE_FLOAT32;
  tensor.layout = GST_DV_TENSOR_LAYOUT_NCHW;
  tensor.num_dims = dims.size();
  std::copy(dims.begin(), dims.end(), tensor.dims);
  size_t count = 1;
  for (gsize d : dims) count *= d;
  tensor.data = buffer_of({floats_of(value, count)});
}

// Returns the first number of the newest tensor `sum` of the frame.
float sum_of(GstBuffer* frame) {
  const GstDvTensorMeta* meta = gst_buffer_get_dv_tensor_meta(frame);
  const GstDvTensor* tensor = meta ? gst_dv_tensor_meta_find_tensor(meta, "sum") : nullptr;
  ck_assert_msg(tensor, "the frame was not inferred");
  float sum = 0;
  gst_buffer_extract(tensor->data, 0, &sum, sizeof sum);
  return sum;
}

void expect_sum(GstHarness* h, float wanted) {
  GstBuffer* out = gst_harness_pull(h);
  ck_assert(out);
  ck_assert_float_eq(sum_of(out), wanted);
  gst_buffer_unref(out);
}

std::string video() {
  return video_caps("RGB", 8, 8);
}

const char* const kHeads[] = {"dvconvert ! ", "", "dvconvert ! queue ! "};

std::string error_with(const File& file, const std::string& options, GstBuffer* frame) {
  return error_of(file.infer(options), video(), frame);
}

void expect_words(const std::string& text, const char* words) {
  ck_assert_msg(text.find(words) != std::string::npos, "'%s' does not say '%s'", text.c_str(),
                words);
}

}  // namespace

DVNN_TEST(each_frame_has_its_own_value) {
  const File network;
  for (const char* head : kHeads) {
    GstHarness* const h = chain(head + network.infer("live-inputs=before=40"), video());
    std::vector<float> wanted;
    for (int i = 0; i < 60; ++i) {
      GstBuffer* frame = frame_of(static_cast<guint8>(i), i);
      const bool brings = i % 3 != 1;
      const auto value = static_cast<float>(brings ? i * 6 : 40);
      // The newest of two counts, and tensors of other names do not.
      if (i % 2 == 0 && brings) attach(frame, "before", 1, {1, 3, 8, 8});
      if (brings) attach(frame, "before", value, {3, 64});
      if (i % 5 == 0) attach(frame, "another", 9, {7});
      wanted.push_back(0.5f * value + static_cast<float>(i));
      ck_assert_int_eq(gst_harness_push(h, frame), GST_FLOW_OK);
      if (i % 7 != 6) continue;
      for (float sum : wanted) expect_sum(h, sum);
      wanted.clear();
    }
    for (float sum : wanted) expect_sum(h, sum);
    gst_harness_teardown(h);
  }
}

// The state is the stream's and begins anew with it; the live input is each frame's.
DVNN_TEST(a_state_and_a_live_input_do_not_mix) {
  const File network(remembering_network());
  for (const char* head : kHeads) {
    GstHarness* const h = chain(head + network.infer("live-inputs=more=1000"), video());
    std::vector<float> wanted;
    float state = 0;
    for (int i = 0; i < 40; ++i) {
      GstBuffer* frame = frame_of(static_cast<guint8>(i * 6), i);
      if (i == 23) GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_DISCONT);
      if (i == 23) state = 0;
      const bool brings = i % 4 == 1;
      if (brings) attach(frame, "more", static_cast<float>(i), {1, 3, 8, 8});
      state = 0.5f * state + static_cast<float>(i * 6);
      wanted.push_back(state + (brings ? static_cast<float>(i) : 1000.0f));
      ck_assert_int_eq(gst_harness_push(h, frame), GST_FLOW_OK);
      if (i % 5 != 4) continue;
      for (float sum : wanted) expect_sum(h, sum);
      wanted.clear();
    }
    gst_harness_teardown(h);
  }
}

DVNN_TEST(the_property_changes_between_two_frames) {
  const File network;
  GstHarness* const h = chain(network.infer("live-inputs=before=2"), video());
  GstElement* const infer = gst_bin_get_by_name(GST_BIN(h->element), "infer");
  for (int i = 0; i < 20; ++i) {
    const std::string text = "before=" + std::to_string(i) + ".5";
    g_object_set(infer, "live-inputs", text.c_str(), nullptr);
    ck_assert_int_eq(gst_harness_push(h, frame_of(3, i)), GST_FLOW_OK);
    expect_sum(h, 3 + 0.5f * (static_cast<float>(i) + 0.5f));
  }
  gst_object_unref(infer);
  gst_harness_teardown(h);
}

DVNN_TEST(another_networks_output_is_an_input) {
  network::Model first = leaky_network();
  first.name = "first";
  first.outputs[0].name = "before";
  const File of_first(first), network;
  GstHarness* const h = chain("dvinfer when-busy=wait network=" +
                                  of_first.infer().substr(of_first.infer().find("network=") + 8) +
                                  "! " + network.infer(),
                              video());
  float sum = 0;
  for (int i = 0; i < 20; ++i) {
    const auto value = static_cast<guint8>(i * 37 % 251);
    sum = 0.5f * sum + static_cast<float>(value);
    ck_assert_int_eq(gst_harness_push(h, frame_of(value, i)), GST_FLOW_OK);
    expect_sum(h, 0.5f * sum + static_cast<float>(value));
  }
  gst_harness_teardown(h);
}

DVNN_TEST(a_stream_of_tensors_brings_all_inputs) {
  const File network;
  const std::string fixed =
      "other/tensors,format=(string)static,num_tensors=(int)2,framerate=(fraction)25/1,"
      "types=(string)\"uint8,float32\",dimensions=(string)\"3:8:8:1,8:8:3:1\"";
  const Bytes pixels(kPixels, 7);
  for (bool flexible_stream : {false, true}) {
    GstHarness* const h = chain(
        network.infer(),
        flexible_stream ? "other/tensors,format=(string)flexible,framerate=(fraction)25/1" : fixed);
    for (int i = 0; i < 9; ++i) {
      const Bytes before = floats_of(static_cast<float>(i));
      GstBuffer* buffer = flexible_stream
                              ? buffer_of({flexible(kTypeUint8, {3, 8, 8, 1}, pixels),
                                           flexible(kTypeFloat32, {8, 8, 3, 1}, before)})
                              : buffer_of({pixels, before});
      ck_assert_int_eq(gst_harness_push(h, buffer), GST_FLOW_OK);
      GstBuffer* out = gst_harness_pull(h);
      ck_assert(out);
      float sum = 0;
      gst_buffer_extract(out, 0, &sum, sizeof sum);
      ck_assert_float_eq(sum, 7 + 0.5f * static_cast<float>(i));
      gst_buffer_unref(out);
    }
    gst_harness_teardown(h);
  }
  const std::string other =
      "other/tensors,format=(string)static,num_tensors=(int)2,framerate=(fraction)25/1,"
      "types=(string)\"uint8,float32\",dimensions=(string)\"3:8:8:1,8:8:2:1\"";
  expect_words(error_of(network.infer(), other, buffer_of({pixels, floats_of(1, 128)})),
               "tensor 1 of the stream, float32 8:8:2:1, is not the live input 'before'");
}

DVNN_TEST(values_that_are_missing_or_do_not_fit_are_errors) {
  const File network;
  expect_words(error_with(network, "", frame_of(1)), "live input 'before' has no value");
  GstBuffer* frame = frame_of(1);
  attach(frame, "before", 1, {1, 2});
  expect_words(error_with(network, "live-inputs=before=1", frame),
               "the frame's tensor is 1x2, the input 1x3x8x8");
  frame = frame_of(1);
  attach(frame, "before", 1, {1, 3, 8, 8});
  gst_buffer_set_size(gst_buffer_get_dv_tensor_meta(frame)->tensors[0].data, 100);
  expect_words(error_with(network, "", frame), "shorter than its dimensions say");
  // Frames that are not inferred need no values.
  GstHarness* const h = chain(network.infer("active=false"), video());
  ck_assert_int_eq(gst_harness_push(h, frame_of(1)), GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(h));
  gst_harness_teardown(h);
}

// Any element may attach a tensor, and say anything of it.
DVNN_TEST(tensors_that_lie_are_errors_that_name_the_input) {
  using Lie = void (*)(GstDvTensor*);
  const Lie lies[] = {
      [](GstDvTensor* t) { write(&t->layout, 77); },
      [](GstDvTensor* t) { write(&t->layout, G_MAXUINT); },
      [](GstDvTensor* t) { write(&t->data_type, 77); },
      [](GstDvTensor* t) { t->layout = GST_DV_TENSOR_LAYOUT_HWC8, t->num_dims = 2; },
      [](GstDvTensor* t) { t->num_dims = 0; },
      [](GstDvTensor* t) { t->num_dims = G_MAXSIZE; },
      [](GstDvTensor* t) { t->dims[1] = 0; },
      [](GstDvTensor* t) { t->dims[1] = G_MAXSIZE / 2; },
      [](GstDvTensor* t) { t->dims[0] = t->dims[1] = gsize{1} << (sizeof(gsize) * 4); },
      [](GstDvTensor* t) { gst_buffer_resize(t->data, 0, 767); },
      [](GstDvTensor* t) { gst_clear_buffer(&t->data); }};
  const File network;
  for (const Lie lie : lies) {
    for (const char* head : kHeads) {
      GstBuffer* frame = frame_of(1);
      attach(frame, "before", 1, {1, 3, 8, 8});
      lie(&gst_buffer_get_dv_tensor_meta(frame)->tensors[0]);
      expect_words(error_of(head + network.infer("live-inputs=before=1"), video(), frame),
                   "live input 'before'");
    }
  }
}

// A value belongs to its frame, whatever lies between two of them.
DVNN_TEST(caps_flushes_and_streams_keep_values_apart) {
  const File network;
  GstHarness* const h = chain("dvconvert ! " + network.infer("live-inputs=before=100"), video());
  const auto push = [&](int number, int side) {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, size_t{3} * side * side, nullptr);
    gst_buffer_memset(frame, 0, 5, size_t{3} * side * side);
    GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(number) * 40 * GST_MSECOND;
    if (number % 2) attach(frame, "before", static_cast<float>(number), {1, 3, 8, 8});
    ck_assert_int_eq(gst_harness_push(h, frame), GST_FLOW_OK);
  };
  const auto expect = [&](int number) {
    expect_sum(h, 5 + 0.5f * (number % 2 ? static_cast<float>(number) : 100));
  };
  int number = 0;
  for (int round = 0; round < 6; ++round) {
    const int side = round % 2 ? 16 : 8;
    gst_harness_set_src_caps_str(h, video_caps("RGB", side, side).c_str());
    for (int i = 0; i < 5; ++i) push(number + i, side);
    for (int i = 0; i < 5; ++i) expect(number + i);
    number += 5;
    if (round % 3 == 1) {
      // What waits is dropped, with its values.
      push(number + 1, side);
      gst_harness_push_event(h, gst_event_new_flush_start());
      gst_harness_push_event(h, gst_event_new_flush_stop(TRUE));
      while (GstBuffer* late = gst_harness_try_pull(h)) gst_buffer_unref(late);
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      gst_harness_push_event(h, gst_event_new_segment(&segment));
    }
    if (round % 3 == 2) {
      gst_harness_push_event(h, gst_event_new_eos());
      gst_element_set_state(h->element, GST_STATE_READY);
      gst_element_set_state(h->element, GST_STATE_PLAYING);
      gst_harness_push_event(h, gst_event_new_flush_start());
      gst_harness_push_event(h, gst_event_new_flush_stop(TRUE));
      gst_harness_push_event(h, gst_event_new_stream_start("again"));
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      GstCaps* caps = gst_caps_from_string(video_caps("RGB", side, side).c_str());
      gst_harness_push_event(h, gst_event_new_caps(caps));
      gst_caps_unref(caps);
      gst_harness_push_event(h, gst_event_new_segment(&segment));
    }
  }
  gst_harness_teardown(h);
}

DVNN_TEST(a_property_that_is_wrong_is_refused_with_a_sentence) {
  const File network, without(leaky_network());
  const struct {
    const File& file;
    const char *text, *words;
  } wrong[] = {{network, "other=1", "no live input 'other': it has 'before'"},
               {network, "before=1,other=2", "no live input 'other'"},
               {without, "before=1", "network 'leaky' has no live input 'before'"},
               {network, "before", "is not NAME=NUMBER"},
               {network, "before=1x", "is not NAME=NUMBER"},
               {network, "before=nan", "is not NAME=NUMBER"},
               {network, "before=1e39", "is not NAME=NUMBER"},
               {network, "=1", "is not NAME=NUMBER"},
               {network, "before=1,before=2", "is not NAME=NUMBER"}};
  for (const auto& one : wrong) {
    GstElement* const element = gst_parse_launch(one.file.infer().c_str(), nullptr);
    GstBus* const bus = gst_bus_new();
    gst_element_set_bus(element, bus);
    g_object_set(element, "live-inputs", one.text, nullptr);
    ck_assert_int_eq(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
    GstMessage* const message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    ck_assert(message);
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    expect_words(error->message, one.words);
    g_error_free(error);
    gst_message_unref(message);
    gst_element_set_state(element, GST_STATE_NULL);
    gst_object_unref(bus);
    gst_object_unref(element);
  }
}

}  // namespace dvnn::test::live_input_tests
