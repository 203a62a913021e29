// SPDX-License-Identifier: Apache-2.0
// Sound in windows: their samples and times against a list of all samples, and what a network with
// a memory hears of them.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "base/json.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "gst_fixture.h"
#include "leaky_network.h"
#include "network/dvn_file.h"

namespace dvnn::test::audio_tests {

DVNN_GST_SUITE(gst_audio);

namespace {

constexpr int kRate = 16000;
constexpr int kHeard = 16;  // samples that the network takes

// sum = the sum before / 2 + the window, in the network's file. Its class is the place of the
// largest sum.
class HearingNetwork {
 public:
  HearingNetwork() {
    network::Model model = leaky_network(0.5f, {1, 1, 1, kHeard});
    model.name = "hearing";
    model.decoder.name = "classification";
    model.decoder.params = {{"top_k", 1}};
    for (int i = 0; i < kHeard; ++i) model.labels.push_back("sound " + std::to_string(i));
    close(mkstemp(&path[0]));
    ck_assert(network::write_dvn(model, path).ok());
  }
  ~HearingNetwork() { unlink(path.c_str()); }
  HearingNetwork(const HearingNetwork&) = delete;
  HearingNetwork& operator=(const HearingNetwork&) = delete;
  std::string path = "/tmp/dvnn-hearing-XXXXXX";
};

std::string sound_caps(const char* format = "F32LE", int rate = kRate) {
  return "audio/x-raw,format=" + std::string(format) +
         ",layout=interleaved,channels=1,rate=" + std::to_string(rate);
}

GstBuffer* sound(const std::vector<float>& samples, GstClockTime time, bool as_int16 = false) {
  std::vector<int16_t> whole;
  for (const float sample : samples) {
    whole.push_back(static_cast<int16_t>(std::lround(sample * 32768)));
  }
  const gsize size = samples.size() * (as_int16 ? sizeof(int16_t) : sizeof(float));
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, size, nullptr);
  gst_buffer_fill(buffer, 0, as_int16 ? static_cast<const void*>(whole.data()) : samples.data(),
                  size);
  GST_BUFFER_PTS(buffer) = time;
  return buffer;
}

GstClockTime time_of(size_t samples, int rate = kRate) {
  return gst_util_uint64_scale(samples, GST_SECOND, static_cast<guint64>(rate));
}

struct Window {
  std::vector<float> samples;
  GstClockTime time = 0, duration = 0;
  guint64 offset = 0;
  bool begins = false;
};

Window read_window(GstBuffer* buffer) {
  Window window;
  window.samples.resize(gst_buffer_get_size(buffer) / sizeof(float));
  gst_buffer_extract(buffer, 0, window.samples.data(), gst_buffer_get_size(buffer));
  window.time = GST_BUFFER_PTS(buffer);
  window.duration = GST_BUFFER_DURATION(buffer);
  window.offset = GST_BUFFER_OFFSET(buffer);
  window.begins = GST_BUFFER_IS_DISCONT(buffer);
  return window;
}

// The windows of an uninterrupted sound that begins at `begin`, by the definition.
void append_wanted(const std::vector<float>& samples, GstClockTime begin, int rate, size_t window,
                   size_t hop, size_t lead, bool pads, std::vector<Window>* all) {
  std::vector<float> padded(lead, 0.0f);
  padded.insert(padded.end(), samples.begin(), samples.end());
  size_t covered = lead;
  bool begins = true;
  for (size_t at = 0; at < padded.size(); at += hop) {
    const size_t end = std::min(at + window, padded.size());
    const bool whole = at + window <= padded.size();
    if (!whole && (!pads || end <= covered)) break;
    Window one;
    one.samples.assign(padded.begin() + static_cast<ptrdiff_t>(at),
                       padded.begin() + static_cast<ptrdiff_t>(end));
    one.samples.resize(window, 0.0f);
    one.offset = at > lead ? at - lead : 0;
    one.time = begin + time_of(one.offset, rate);
    one.duration = time_of(end - lead, rate) - time_of(one.offset, rate);
    one.begins = begins;
    begins = false;
    all->push_back(one);
    covered = end;
    if (!whole) break;
  }
}

GstHarness* listening(const std::string& description, const std::string& caps = sound_caps()) {
  GstHarness* h = gst_harness_new_parse(description.c_str());
  gst_harness_set_src_caps_str(h, caps.c_str());
  return h;
}

// Returns the first error of a pipeline that must fail.
std::string error_of(const std::string& description) {
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(description.c_str(), &error);
  ck_assert_msg(pipeline && !error, "%s", error ? error->message : "");
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
  ck_assert(message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR);
  gst_message_parse_error(message, &error, nullptr);
  const std::string text = error->message;
  g_error_free(error);
  gst_message_unref(message);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  return text;
}

void expect_words(const std::string& text, const char* words) {
  ck_assert_msg(text.find(words) != std::string::npos, "\"%s\" does not say \"%s\"", text.c_str(),
                words);
}

}  // namespace

DVNN_TEST(windows_have_the_samples_and_the_times_of_the_sound) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  auto between = [&](size_t low, size_t high) { return low + random() % (high - low + 1); };
  for (int round = 0; round < dvnn_rounds(60); ++round) {
    const size_t window = between(1, 40), hop = between(1, 60), lead = between(0, window - 1);
    const bool as_int16 = random() % 2, pads = random() % 2;
    const int rates[] = {8000, 16000, 44100}, rate = rates[random() % 3];
    GstHarness* h = listening("dvaudio rate=0 window=" + std::to_string(window) +
                                  " hop=" + std::to_string(hop) + " lead=" + std::to_string(lead) +
                                  " pad-end=" + (pads ? "true" : "false"),
                              sound_caps(as_int16 ? "S16LE" : "F32LE", rate));
    std::vector<Window> wanted;
    GstClockTime begin = between(0, 3) * GST_SECOND + between(0, 999);
    const size_t parts = between(1, 3);
    for (size_t part = 0; part < parts; ++part) {
      std::vector<float> all;
      for (size_t left = between(1, 6); left > 0; --left) {
        std::vector<float> samples(between(1, 90));
        for (float& sample : samples) {
          sample = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1024;
        }
        // Times are a little wrong, as those of sound cards are, but for the first.
        const GstClockTime time =
            begin + time_of(all.size(), rate) + (all.empty() ? 0 : between(0, 10 * GST_MSECOND));
        gst_harness_push(h, sound(samples, time, as_int16));
        all.insert(all.end(), samples.begin(), samples.end());
      }
      // Only the end of the stream pads: at a gap, the rest is left out.
      append_wanted(all, begin, rate, window, hop, lead, pads && part + 1 == parts, &wanted);
      begin += time_of(all.size(), rate) + between(1, 3) * GST_SECOND;
    }
    gst_harness_push_event(h, gst_event_new_eos());
    size_t count = 0;
    while (GstBuffer* out = gst_harness_try_pull(h)) {
      const Window have = read_window(out);
      gst_buffer_unref(out);
      ck_assert_msg(count < wanted.size(), "seed %u: more than %zu windows", seed, wanted.size());
      const Window& want = wanted[count++];
      ck_assert_msg(have.samples == want.samples, "seed %u: samples of window %zu", seed, count);
      ck_assert_msg(have.time == want.time && have.duration == want.duration &&
                        have.offset == want.offset && have.begins == want.begins,
                    "seed %u: window %zu is at %" GST_TIME_FORMAT " (%d), not %" GST_TIME_FORMAT,
                    seed, count, GST_TIME_ARGS(have.time), have.begins, GST_TIME_ARGS(want.time));
    }
    ck_assert_msg(count == wanted.size(),
                  "seed %u: %zu windows, not %zu (window %zu, hop %zu, lead %zu)", seed, count,
                  wanted.size(), window, hop, lead);
    gst_harness_teardown(h);
  }
}

DVNN_TEST(samples_are_scaled) {
  GstHarness* h = listening("dvaudio window=2 scale=32768", sound_caps("S16LE"));
  GstBuffer* out = gst_harness_push_and_pull(h, sound({-1, 0.25f}, 0, true));
  ck_assert(read_window(out).samples == (std::vector<float>{-32768, 8192}));
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(sound_without_times_begins_at_zero) {
  GstHarness* h = listening("dvaudio window=4 hop=2");
  gst_harness_push(h, sound({1, 2, 3}, GST_CLOCK_TIME_NONE));
  gst_harness_push(h, sound({4, 5, 6}, GST_CLOCK_TIME_NONE));
  for (size_t i = 0; i < 2; ++i) {
    GstBuffer* out = gst_harness_pull(h);
    const Window window = read_window(out);
    gst_buffer_unref(out);
    ck_assert(window.time == time_of(2 * i) && window.samples[0] == static_cast<float>(1 + 2 * i));
  }
  gst_harness_teardown(h);
}

// A microphone's buffers are shorter than a window, and the first one has the flag DISCONT.
DVNN_TEST(a_window_may_take_many_buffers) {
  GstHarness* h = listening("dvaudio window=5");
  std::vector<float> heard;
  for (int i = 0; i < 8; ++i) {
    GstBuffer* buffer = sound({static_cast<float>(2 * i), static_cast<float>(2 * i + 1)},
                              time_of(static_cast<size_t>(2 * i)));
    // An interruption in the middle of a window leaves out the sample before it.
    if (i == 0 || i == 3) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    gst_harness_push(h, buffer);
  }
  while (GstBuffer* out = gst_harness_try_pull(h)) {
    const Window window = read_window(out);
    gst_buffer_unref(out);
    ck_assert(window.begins == (heard.empty() || window.samples[0] == 6));
    heard.insert(heard.end(), window.samples.begin(), window.samples.end());
  }
  ck_assert(heard == (std::vector<float>{0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  gst_harness_teardown(h);
}

DVNN_TEST(a_flush_and_another_segment_begin_anew) {
  GstHarness* h = listening("dvaudio window=4");
  const auto expect_fresh = [h] {
    gst_harness_push(h, sound({7, 8, 9}, 5 * GST_SECOND));
    gst_harness_push(h, sound({10}, 5 * GST_SECOND + time_of(3)));
    GstBuffer* out = gst_harness_pull(h);
    const Window window = read_window(out);
    gst_buffer_unref(out);
    ck_assert(window.samples == (std::vector<float>{7, 8, 9, 10}) && window.begins &&
              window.time == 5 * GST_SECOND);
    ck_assert(gst_harness_try_pull(h) == nullptr);
  };
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push(h, sound({1, 2}, 0));
  gst_harness_push_event(h, gst_event_new_segment(&segment));
  expect_fresh();
  gst_harness_push(h, sound({1, 2}, 5 * GST_SECOND + time_of(4)));
  gst_harness_push_event(h, gst_event_new_flush_start());
  gst_harness_push_event(h, gst_event_new_flush_stop(TRUE));
  gst_harness_push_event(h, gst_event_new_segment(&segment));
  expect_fresh();
  gst_harness_teardown(h);
}

// The network says how long windows are, and forgets where the sound is interrupted.
DVNN_TEST(a_network_with_a_memory_hears_each_window_in_order) {
  const HearingNetwork network;
  GstHarness* h = listening("dvaudio hop=12 lead=4 ! dvinfer network=" + network.path);
  std::mt19937 random(1);
  std::vector<std::vector<float>> wanted;
  GstClockTime begin = 0;
  for (int part = 0; part < 2; ++part) {
    std::vector<float> all(120);
    for (float& sample : all) {
      sample = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1024;
    }
    gst_harness_push(h, sound({all.begin(), all.begin() + 50}, begin));
    gst_harness_push(h, sound({all.begin() + 50, all.end()}, begin + time_of(50)));
    std::vector<Window> windows;
    append_wanted(all, begin, kRate, kHeard, 12, 4, false, &windows);
    std::vector<float> sum(kHeard, 0.0f);
    for (const Window& window : windows) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] / 2 + window.samples[i];
      wanted.push_back(sum);
    }
    begin += GST_SECOND;
  }
  ck_assert_uint_eq(wanted.size(), 20);
  for (const std::vector<float>& sums : wanted) {
    GstBuffer* out = gst_harness_pull(h);
    ck_assert_ptr_nonnull(out);
    const GstDvTensorMeta* meta = gst_buffer_get_dv_tensor_meta(out);
    ck_assert_msg(meta != nullptr, "a window was not inferred");
    std::vector<float> have(kHeard);
    gst_buffer_extract(meta->tensors[0].data, 0, have.data(), kHeard * sizeof(float));
    ck_assert(have == sums);
    gst_buffer_unref(out);
  }
  gst_harness_teardown(h);
}

DVNN_TEST(what_is_heard_is_published_with_its_time) {
  const HearingNetwork network;
  std::string path = "/tmp/dvnn-heard-XXXXXX";
  close(mkstemp(&path[0]));
  GstHarness* h = listening("dvaudio ! dvinfer network=" + network.path +
                            " ! dvdecode threshold=0.5 ! dvpublish location=" + path);
  std::vector<size_t> loudest;
  for (size_t i = 0; i < 8; ++i) {
    loudest.push_back(5 * i % kHeard);
    std::vector<float> samples(kHeard, 0.0f);
    samples[loudest.back()] = 0.875f;
    gst_harness_push(h, sound(samples, time_of(i * kHeard)));
    GstBuffer* out = gst_harness_pull(h);
    const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(out);
    ck_assert(meta && gst_dv_objects_meta_get_n_objects(meta) == 1);
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, 0);
    ck_assert(object->kind == GST_DV_OBJECT_CLASSIFICATION && !gst_dv_object_has_box(object));
    gst_buffer_unref(out);
  }
  // dvpublish has written all when its end of the stream has passed.
  gst_harness_push_event(h, gst_event_new_eos());
  bool ended = false;
  while (!ended) {
    GstEvent* event = gst_harness_pull_event(h);
    ck_assert_ptr_nonnull(event);
    ended = GST_EVENT_TYPE(event) == GST_EVENT_EOS;
    gst_event_unref(event);
  }
  gst_harness_teardown(h);
  std::ifstream file(path);
  std::string line;
  for (size_t i = 0; i < loudest.size(); ++i) {
    ck_assert_msg(static_cast<bool>(std::getline(file, line)), "%zu documents", i);
    const auto document = parse_json(line, "a document");
    ck_assert(document.ok());
    const Json& json = document.value();
    dvnn_assert_text(json["type"].get<std::string>(), "frame");
    ck_assert(!json.contains("frame"));  // sound has no size
    ck_assert_uint_eq(json["time"]["pts"].get<guint64>(), time_of(i * kHeard));
    ck_assert_uint_eq(json["objects"].size(), 1);
    const std::string label = "sound " + std::to_string(loudest[i]);
    dvnn_assert_text(json["objects"][0]["label"].get<std::string>(), label.c_str());
    ck_assert(!json["objects"][0].contains("box"));
  }
  unlink(path.c_str());
}

DVNN_TEST(what_does_not_fit_is_refused_by_a_sentence) {
  const HearingNetwork network;
  const std::string source = "audiotestsrc num-buffers=3 ! dvaudio ";
  const std::string infer = " ! dvinfer network=" + network.path + " ! fakesink";
  expect_words(error_of(source + "! fakesink"), "no dvinfer downstream says how many samples");
  expect_words(error_of(source + "window=17" + infer), "17 samples, and the network takes 16");
  expect_words(error_of(source + "lead=16" + infer), "16 samples of silence fill the first window");
  expect_words(error_of(source + "window=16 ! dvinfer network=" + network_path() + " ! fakesink"),
               "samples of sound are one line of numbers");
}

DVNN_TEST(windows_of_another_length_are_refused_by_dvinfer) {
  const HearingNetwork network;
  GstHarness* h = gst_harness_new_parse(("dvinfer on-error=drop network=" + network.path).c_str());
  gst_harness_set_src_caps_str(
      h, "audio/x-raw(meta:GstDvWindow),format=F32LE,layout=interleaved,channels=1,rate=16000");
  gst_harness_push(h, sound(std::vector<float>(17), 0));
  gst_harness_push(h, sound(std::vector<float>(16), 0));
  GstBuffer* out = gst_harness_pull(h);
  ck_assert_uint_eq(gst_buffer_get_size(out), 16 * sizeof(float));
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

// An error downstream leaves many windows unsent.
DVNN_TEST(an_end_after_an_error_is_survived) {
  GstHarness* h = listening("dvaudio window=4 ! identity error-after=2");
  ck_assert_int_eq(gst_harness_push(h, sound(std::vector<float>(1001), 0)), GST_FLOW_ERROR);
  gst_harness_push_event(h, gst_event_new_eos());
  gst_harness_teardown(h);
}

// Overlapping windows must not be played as if they were the sound.
DVNN_TEST(windows_are_no_sound_for_other_elements) {
  GError* error = nullptr;
  GstElement* pipeline =
      gst_parse_launch("audiotestsrc ! dvaudio window=16 ! audioconvert ! fakesink", &error);
  ck_assert_ptr_nonnull(error);
  g_error_free(error);
  if (pipeline) gst_object_unref(pipeline);
}

DVNN_TEST(windows_take_as_long_as_their_sound) {
  GstHarness* h = listening("dvaudio window=1600 lead=400");
  gst_harness_push(h, sound(std::vector<float>(10), 0));
  ck_assert_uint_eq(gst_harness_query_latency(h), time_of(1200));
  gst_harness_teardown(h);
}

}  // namespace dvnn::test::audio_tests
