// SPDX-License-Identifier: Apache-2.0
// Networks that run on the results of another: what each is shown, when, and of which object.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "layers/attributes.h"
#include "network/dvn_file.h"
#include "streams.h"
#include "watched_suite.h"

namespace dvnn::test::chain_tests {

DVNN_WATCHED_SUITE(gst_chains);

namespace {

using Numbers = std::vector<float>;

// out = factor * in, in another shape. Values are exact, as factors are powers of two.
network::Model network_of(const char* name, const Shape& in, const Shape& out, float factor) {
  using layers::ElementwiseAttributes;
  network::Model model;
  model.name = name;
  constexpr uint64_t kRoom = 64 * 1024;
  model.tensors = {
      {"in", {ElementType::kFloat32, Layout::kNchw, in}, network::Storage::kIo, 0},
      {"mid", {ElementType::kFloat32, Layout::kNchw, in}, network::Storage::kIo, kRoom},
      {"out", {ElementType::kFloat32, Layout::kNchw, out}, network::Storage::kIo, 2 * kRoom}};
  model.io_bytes = 3 * kRoom;
  model.input.picture.order = ChannelOrder::kGray;
  ElementwiseAttributes line;
  line.inputs = 1;
  line.steps = {ElementwiseAttributes::Step::of(kernels::Curve::kLine, factor, 0, 0)};
  layers::ReshapeAttributes shape;
  shape.dims.assign(out.dims, out.dims + out.rank);
  model.steps.resize(2);
  model.steps[0].name = "line";
  model.steps[0].inputs = {0};
  model.steps[0].outputs = {1};
  model.steps[0].layer = std::make_shared<layers::LayerAttributes>(line);
  model.steps[1].name = "shape";
  model.steps[1].inputs = {1};
  model.steps[1].outputs = {2};
  model.steps[1].layer = std::make_shared<layers::LayerAttributes>(shape);
  model.outputs = {{"out", 2}};
  return model;
}

class File {
 public:
  explicit File(const network::Model& model) {
    close(mkstemp(&path_[0]));
    const Status written = network::write_dvn(model, path_);
    ck_assert_msg(written.ok(), "%s", written.ok() ? "" : written.error().message.c_str());
  }
  ~File() { unlink(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string infer(const std::string& options = "") const {
    return "dvinfer network=" + path_ + " " + options;
  }
  std::string then(const std::string& options = "") const {
    return infer("input-from=out " + options);
  }

 private:
  std::string path_ = "/tmp/dvnn-chain-XXXXXX";
};

constexpr const char* kWindows =
    "audio/x-raw(meta:GstDvWindow),format=F32LE,layout=interleaved,channels=1,rate=16000";

GstBuffer* window_of(const Numbers& samples, size_t number, bool begins = false) {
  const gsize size = samples.size() * sizeof(float);
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, size, nullptr);
  gst_buffer_fill(buffer, 0, samples.data(), size);
  GST_BUFFER_PTS(buffer) = number * 10 * GST_MSECOND;
  GST_BUFFER_DURATION(buffer) = 10 * GST_MSECOND;
  if (begins) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
  return buffer;
}

Numbers some_numbers(size_t count, std::mt19937* random) {
  Numbers numbers(count);
  for (float& n : numbers) n = static_cast<float>(static_cast<int>((*random)() % 2001) - 1000) / 8;
  return numbers;
}

GstDvPassState state_of(GstBuffer* frame, guint pass) {
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  ck_assert(meta && pass < gst_dv_objects_meta_get_n_passes(meta));
  return gst_dv_objects_meta_get_pass(meta, pass)->state;
}

Numbers numbers_of(const GstDvTensorMeta* meta) {
  Numbers numbers(gst_buffer_get_size(meta->tensors[0].data) / sizeof(float));
  gst_buffer_extract(meta->tensors[0].data, 0, numbers.data(), numbers.size() * sizeof(float));
  return numbers;
}

// Returns the first output of the network, or nothing if it did not run on the frame.
Numbers result_of(GstBuffer* frame, const char* network) {
  gpointer state = nullptr;
  while (GstMeta* meta =
             gst_buffer_iterate_meta_filtered(frame, &state, GST_DV_TENSOR_META_API_TYPE)) {
    const auto* tensors = reinterpret_cast<const GstDvTensorMeta*>(meta);
    if (std::strcmp(gst_dv_network_info_get_name(tensors->network), network) == 0) {
      return numbers_of(tensors);
    }
  }
  return {};
}

void append(const Numbers& more, Numbers* all) {
  all->insert(all->end(), more.begin(), more.end());
}

Numbers newest(const Numbers& all, size_t count) {
  return all.size() < count ? Numbers()
                            : Numbers(all.end() - static_cast<ptrdiff_t>(count), all.end());
}

void multiply(float factor, Numbers* numbers) {
  for (float& n : *numbers) n *= factor;
}

void expect_words(const std::string& text, const char* words) {
  ck_assert_msg(text.find(words) != std::string::npos, "'%s' does not say '%s'", text.c_str(),
                words);
}

// A spectrum of two lines of each window, an embedding of five lines, a word of three embeddings.
struct Chain {
  File spectrum{network_of("spectrum", {1, 16}, {1, 1, 2, 8}, 2)};
  File embedding{embedding_network()};
  File word{network_of("word", {1, 3, 40}, {1, 120}, 0.5f)};

  static network::Model embedding_network() {
    network::Model model = network_of("embedding", {1, 1, 5, 8}, {1, 1, 1, 40}, 4);
    model.input.picture.mean = {-16, -16, -16};
    model.input.picture.scale = {0.25f, 0.25f, 0.25f};
    return model;
  }
  std::string all(const std::string& options = "") const {
    return spectrum.infer() + "! " + embedding.then() + "! " + word.then(options);
  }
};

// What the chain should make, by lists of all that was made since the stream began.
struct Expected {
  Numbers lines, embeddings;
  void begin_anew() { lines.clear(), embeddings.clear(); }
  // Takes a window; returns what the last network makes of it.
  Numbers take(Numbers window) {
    multiply(2, &window);
    append(window, &lines);
    Numbers five = newest(lines, 40);
    if (five.empty()) return {};
    for (float& n : five) n = (n + 16) * 0.25f * 4;
    append(five, &embeddings);
    Numbers three = newest(embeddings, 120);
    multiply(0.5f, &three);
    return three;
  }
};

}  // namespace

DVNN_TEST(each_network_is_shown_the_newest_results) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  const Chain networks;
  GstHarness* h = chain(networks.all(), kWindows);
  Expected expected;
  size_t skipped = 0;
  for (size_t i = 0; i < 60; ++i) {
    const bool begins = i == 0 || random() % 20 == 0;
    if (begins) expected.begin_anew();
    const Numbers window = some_numbers(16, &random);
    GstBuffer* out = gst_harness_push_and_pull(h, window_of(window, i, begins));
    ck_assert_ptr_nonnull(out);
    const Numbers want = expected.take(window);
    ck_assert_msg(result_of(out, "word") == want, "seed %u: window %zu", seed, i);
    ck_assert(state_of(out, 0) == GST_DV_PASS_INFERRED);
    ck_assert((state_of(out, 1) == GST_DV_PASS_INFERRED) == (expected.lines.size() >= 40));
    ck_assert((state_of(out, 2) == GST_DV_PASS_INFERRED) == !want.empty());
    if (want.empty()) ++skipped;
    gst_buffer_unref(out);
  }
  ck_assert_uint_ge(skipped, 4);
  gst_harness_teardown(h);
}

// Frames that a network passes over are missing for the next; all else is in its window.
DVNN_TEST(rules_choose_runs_and_not_what_is_shown) {
  std::mt19937 random(3);
  const Chain networks;
  GstHarness* h = chain(networks.all("interval-frames=3"), kWindows);
  Expected expected;
  for (size_t i = 0, full = 0; i < 30; ++i) {
    const Numbers window = some_numbers(16, &random);
    GstBuffer* out = gst_harness_push_and_pull(h, window_of(window, i));
    Numbers want = expected.take(window);
    const bool runs = !want.empty() && full++ % 3 == 0;
    ck_assert(result_of(out, "word") == (runs ? want : Numbers()));
    gst_buffer_unref(out);
  }
  gst_harness_teardown(h);
}

DVNN_TEST(results_begin_anew_with_the_stream) {
  std::mt19937 random(4);
  const Chain networks;
  GstHarness* h = chain(networks.all(), kWindows);
  Expected expected;
  size_t i = 0;
  const auto go_on = [&](size_t count) {
    for (size_t end = i + count; i < end; ++i) {
      const Numbers window = some_numbers(16, &random);
      GstBuffer* out = gst_harness_push_and_pull(h, window_of(window, i));
      ck_assert(result_of(out, "word") == expected.take(window));
      gst_buffer_unref(out);
    }
  };
  go_on(8);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h, gst_event_new_segment(&segment));
  expected.begin_anew();
  go_on(8);
  gst_harness_push_event(h, gst_event_new_flush_start());
  gst_harness_push_event(h, gst_event_new_flush_stop(TRUE));
  gst_harness_push_event(h, gst_event_new_segment(&segment));
  expected.begin_anew();
  go_on(8);
  gst_harness_teardown(h);
}

// Windows lie along the axis in which results differ from the input, here the innermost one.
DVNN_TEST(columns_are_shown_as_columns) {
  std::mt19937 random(5);
  const File first(network_of("first", {1, 12}, {1, 4, 1, 3}, 1));
  const File second(network_of("second", {1, 4, 1, 6}, {1, 24}, 1));
  GstHarness* h = chain(first.infer() + "! " + second.then(), kWindows);
  Numbers before;
  for (size_t i = 0; i < 6; ++i) {
    const Numbers now = some_numbers(12, &random);
    GstBuffer* out = gst_harness_push_and_pull(h, window_of(now, i));
    Numbers want;
    for (size_t row = 0; row < 4 && i > 0; ++row) {
      for (size_t c = 0; c < 3; ++c) want.push_back(before[row * 3 + c]);
      for (size_t c = 0; c < 3; ++c) want.push_back(now[row * 3 + c]);
    }
    ck_assert(result_of(out, "second") == want);
    gst_buffer_unref(out);
    before = now;
  }
  gst_harness_teardown(h);
}

namespace {

// A frame on which a network "looks" has left results on some objects.
class Looks {
 public:
  Looks() : info_(gst_dv_network_info_new("looks", "", "{}", nullptr)) {}
  ~Looks() { gst_dv_network_info_unref(info_); }
  Looks(const Looks&) = delete;
  Looks& operator=(const Looks&) = delete;

  // `shown`: tracks, 0 for an object without one, and the results on them.
  GstBuffer* frame(const std::vector<std::pair<guint64, Numbers>>& shown, size_t number) const {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, size_t{8} * 24, nullptr);
    gst_buffer_memset(frame, 0, 0, size_t{8} * 24);
    GST_BUFFER_PTS(frame) = number * 40 * GST_MSECOND;
    GstDvObjectsMeta* objects = gst_buffer_add_dv_objects_meta(frame);
    const guint pass = gst_dv_objects_meta_add_pass(
        objects, "looks", shown.empty() ? GST_DV_PASS_SKIPPED : GST_DV_PASS_INFERRED);
    gst_dv_objects_meta_get_pass(objects, pass)->regions = static_cast<guint>(shown.size());
    for (const auto& [track, result] : shown) {
      GstDvObject* object =
          gst_dv_objects_meta_add_object(objects, GST_DV_OBJECT_DETECTION, 0, "person", 0.9f);
      object->track_id = track;
      object->x0 = object->y0 = 1;
      object->x1 = object->y1 = 7;
      const guint64 id = object->id;
      GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, 1);
      meta->network = gst_dv_network_info_ref(info_);
      meta->region = regions_++ % 7;
      meta->region_kind = GST_DV_REGION_OBJECT;
      meta->object = id;
      meta->input_width = meta->input_height = 8;
      meta->x0 = meta->y0 = 1;
      meta->x1 = meta->y1 = 7;
      GstDvTensor& tensor = meta->tensors[0];
      tensor.id = g_quark_from_string("out");
      tensor.data_type = GST_DV_TENSOR_DATA_TYPE_FLOAT32;
      tensor.layout = GST_DV_TENSOR_LAYOUT_NCHW;
      tensor.num_dims = 2;
      tensor.dims[0] = 1;
      tensor.dims[1] = result.size();
      tensor.data = gst_buffer_new_allocate(nullptr, result.size() * sizeof(float), nullptr);
      gst_buffer_fill(tensor.data, 0, result.data(), result.size() * sizeof(float));
    }
    return frame;
  }

 private:
  GstDvNetworkInfo* info_;
  mutable guint regions_ = 0;
};

// Returns the results of the network by the track of the object that each is on.
std::map<guint64, Numbers> results_by_track(GstBuffer* frame, const char* network) {
  std::map<guint64, Numbers> results;
  const GstDvObjectsMeta* objects = gst_buffer_get_dv_objects_meta(frame);
  gpointer state = nullptr;
  while (GstMeta* meta =
             gst_buffer_iterate_meta_filtered(frame, &state, GST_DV_TENSOR_META_API_TYPE)) {
    const auto* tensors = reinterpret_cast<const GstDvTensorMeta*>(meta);
    if (std::strcmp(gst_dv_network_info_get_name(tensors->network), network) != 0) continue;
    ck_assert_int_eq(tensors->region_kind, GST_DV_REGION_OBJECT);
    ck_assert(tensors->x0 == 1 && tensors->x1 == 7);
    const GstDvObject* object = gst_dv_objects_meta_find_object(objects, tensors->object);
    ck_assert_ptr_nonnull(object);
    results[object->track_id] = numbers_of(tensors);
  }
  return results;
}

}  // namespace

// Embeddings over time: each track has a window of its own, wherever its object stands in the list.
DVNN_TEST(each_track_has_its_own_results) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  const File action(network_of("action", {1, 4, 3}, {1, 12}, 2));
  const Looks looks;
  GstHarness* h = chain(action.then(), video_caps("RGB", 8, 8));
  std::map<guint64, Numbers> all;
  size_t ran = 0;
  for (size_t i = 0; i < 60; ++i) {
    std::vector<std::pair<guint64, Numbers>> shown;
    std::map<guint64, Numbers> want;
    for (guint64 track = 1; track <= 5; ++track) {
      if (random() % 3 == 0) continue;
      shown.emplace_back(track, some_numbers(3, &random));
    }
    if (random() % 4 == 0) shown.emplace_back(0, some_numbers(3, &random));
    std::shuffle(shown.begin(), shown.end(), random);
    for (const auto& [track, result] : shown) {
      if (track == 0) continue;
      append(result, &all[track]);
      Numbers four = newest(all[track], 12);
      multiply(2, &four);
      if (!four.empty()) want[track] = four;
    }
    ran += want.size();
    GstBuffer* out = gst_harness_push_and_pull(h, looks.frame(shown, i));
    ck_assert_ptr_nonnull(out);
    ck_assert_msg(results_by_track(out, "action") == want, "seed %u: frame %zu", seed, i);
    gst_buffer_unref(out);
  }
  ck_assert_uint_ge(ran, 60);
  gst_harness_teardown(h);
}

// Of 256 tracks the windows are kept: one that was not shown for longest begins anew.
DVNN_TEST(many_tracks_take_the_place_of_one_that_is_gone) {
  const File action(network_of("action", {1, 4, 3}, {1, 12}, 2));
  const Looks looks;
  GstHarness* h = chain(action.then(), video_caps("RGB", 8, 8));
  for (size_t i = 0; i < 9; ++i) {
    // Track 1 is gone for a while, 2 is always there, and in each frame come 50 others.
    std::vector<std::pair<guint64, Numbers>> shown = {{2, Numbers(3, 2)}};
    if (i < 3 || i == 8) shown.emplace_back(1, Numbers(3, 1));
    for (guint64 other = 0; i >= 2 && i < 8 && other < 50; ++other) {
      shown.emplace_back(100 * i + other, Numbers(3, 3));
    }
    GstBuffer* out = gst_harness_push_and_pull(h, looks.frame(shown, i));
    ck_assert_ptr_nonnull(out);
    std::map<guint64, Numbers> want;
    if (i >= 3) want[2] = Numbers(12, 4);
    ck_assert_msg(results_by_track(out, "action") == want, "frame %zu", i);
    gst_buffer_unref(out);
  }
  gst_harness_teardown(h);
}

// A result that is a whole input needs no track, and no earlier frame.
DVNN_TEST(a_whole_input_is_shown_at_once) {
  const File head(network_of("head", {1, 1, 1, 3}, {1, 3}, 2));
  const Looks looks;
  GstHarness* h = chain(head.then(), video_caps("RGB", 8, 8));
  GstBuffer* out = gst_harness_push_and_pull(h, looks.frame({{0, {1, 2, 3}}, {7, {4, 5, 6}}}, 0));
  const auto have = results_by_track(out, "head");
  ck_assert(have.at(0) == Numbers({2, 4, 6}) && have.at(7) == Numbers({8, 10, 12}));
  gst_buffer_unref(out);
  out = gst_harness_push_and_pull(h, looks.frame({}, 1));
  ck_assert(results_by_track(out, "head").empty());
  ck_assert_int_eq(state_of(out, 1), GST_DV_PASS_SKIPPED);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

// dvdecode takes the last network's results, and none where that one has not run.
DVNN_TEST(only_the_last_network_is_decoded) {
  std::mt19937 random(6);
  network::Model model = network_of("word", {1, 3, 32}, {1, 96}, 1);
  model.decoder.name = "classification";
  model.decoder.params = {{"top_k", 1}};
  const File first(network_of("first", {1, 32}, {1, 32}, 1)), word(model);
  GstHarness* h = chain(first.infer() + "! " + word.then() + "! dvdecode threshold=0", kWindows);
  for (size_t i = 0; i < 6; ++i) {
    Numbers window = some_numbers(32, &random);
    window[i] = 1000;
    GstBuffer* out = gst_harness_push_and_pull(h, window_of(window, i));
    ck_assert_ptr_nonnull(out);
    const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(out);
    ck_assert_uint_eq(gst_dv_objects_meta_get_n_objects(meta), i < 2 ? 0 : 1);
    ck_assert(result_of(out, "word").empty() && result_of(out, "first") == window);
    gst_buffer_unref(out);
  }
  gst_harness_teardown(h);
}

DVNN_TEST(numbers_that_are_not_finite_begin_anew) {
  const File first(network_of("first", {1, 4}, {1, 4}, 1)),
      second(network_of("second", {1, 2, 4}, {1, 8}, 2));
  GstHarness* h = chain(first.infer() + "! " + second.then(), kWindows);
  constexpr float kBeyond = std::numeric_limits<float>::infinity();
  const Numbers windows[] = {{1, 1, 1, 1}, {2, 2, kBeyond, 2}, {3, 3, 3, 3}, {4, 4, 4, 4}};
  for (size_t i = 0; i < 4; ++i) {
    GstBuffer* out = gst_harness_push_and_pull(h, window_of(windows[i], i));
    const Numbers want = i == 3 ? Numbers{6, 6, 6, 6, 8, 8, 8, 8} : Numbers{};
    ck_assert(result_of(out, "second") == want);
    gst_buffer_unref(out);
  }
  gst_harness_teardown(h);
}

DVNN_TEST(the_outputs_may_leave_as_tensors) {
  const File first(network_of("first", {1, 4}, {1, 4}, 1)),
      second(network_of("second", {1, 2, 4}, {1, 8}, 2));
  GstHarness* h =
      chain(first.infer() + "! " + second.then() + "! capsfilter caps=other/tensors", kWindows);
  gst_harness_push(h, window_of({1, 2, 3, 4}, 0));
  gst_harness_push(h, window_of({5, 6, 7, 8}, 1));
  GstBuffer* out = gst_harness_pull(h);
  Numbers have(8);
  gst_buffer_extract(out, 0, have.data(), have.size() * sizeof(float));
  ck_assert(have == Numbers({2, 4, 6, 8, 10, 12, 14, 16}));
  ck_assert_uint_eq(GST_BUFFER_PTS(out), 10 * GST_MSECOND);
  gst_buffer_unref(out);
  ck_assert_ptr_null(gst_harness_try_pull(h));
  gst_harness_teardown(h);
}

DVNN_TEST(what_can_never_come_is_refused_by_a_sentence) {
  const File first(network_of("first", {1, 4}, {1, 4}, 1)),
      second(network_of("second", {1, 2, 4}, {1, 8}, 2));
  const File third(network_of("third", {1, 2, 5}, {1, 10}, 2));
  const auto window = [] { return window_of({1, 2, 3, 4}, 0); };
  const std::string from = first.infer() + "! ";
  expect_words(error_of(from + second.infer("input-from=other"), kWindows, window()),
               "no network upstream has an output 'other': there are 'first/out'");
  expect_words(error_of(second.then(), kWindows, window()),
               "or any that is left here: put this dvinfer behind that of the network");
  expect_words(error_of(from + third.then(), kWindows, window()),
               "output 'first/out': a result of 1x4 is neither the input, 1x2x5, nor rows of it");
  ck_assert(error_of(from + second.infer("input-from=first/out"), kWindows, window()).empty());
}

}  // namespace dvnn::test::chain_tests
