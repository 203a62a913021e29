// SPDX-License-Identifier: Apache-2.0
// Streams of tensors as NNStreamer's elements make and take them: into dvinfer, and out of it.
#include <algorithm>
#include <functional>

#include "gst/dvnn/gstdvtensormeta.h"

#include "grid_network.h"
#include "gst_fixture.h"
#include "network/dvn_file.h"
#include "nnstreamer_rules.h"
#include "streams.h"
#include "tensor/half.h"

namespace dvnn::test::nnstreamer_tests {

DVNN_GST_SUITE(gst_nnstreamer);

namespace {

constexpr int kSize = 16;  // of the grid network's input

const std::string& infer() {
  static const std::string element = "dvinfer network=" + network_path();
  return element;
}

// Pixels of a picture that looks different from each side, row by row.
Bytes pixels() {
  GstBuffer* frame = noise("RGB", kSize, kSize);
  Bytes bytes = bytes_of(frame);
  gst_buffer_unref(frame);
  return bytes;
}

// The outputs for that picture, as frames give them.
const Bytes& outputs_for_frames() {
  static const Bytes outputs =
      output_of(infer() + " ! capsfilter caps=other/tensors", video_caps("RGB", kSize, kSize),
                noise("RGB", kSize, kSize));
  return outputs;
}

// The network's numbers for pixel component c of row y, column x.
float number(const Bytes& rows, int c, int y, int x) {
  return static_cast<float>(rows[static_cast<size_t>((y * kSize + x) * 3 + c)]) * (1 / 255.0f);
}

// Numbers in the order in which `at` visits them: outermost dimension first.
enum class Order { kRows, kColumns, kPlanes };

std::vector<float> numbers(Order order) {
  const Bytes rows = pixels();
  std::vector<float> list;
  for (int a = 0; a < (order == Order::kPlanes ? 3 : kSize); ++a) {
    for (int b = 0; b < kSize; ++b) {
      for (int c = 0; c < (order == Order::kPlanes ? kSize : 3); ++c) {
        list.push_back(order == Order::kRows      ? number(rows, c, a, b)
                       : order == Order::kColumns ? number(rows, c, b, a)
                                                  : number(rows, a, b, c));
      }
    }
  }
  return list;
}

Bytes float32(const std::vector<float>& list) {
  Bytes bytes(list.size() * 4);
  std::memcpy(bytes.data(), list.data(), bytes.size());
  return bytes;
}

Bytes float16(const std::vector<float>& list) {
  std::vector<dvnn::half_t> halves;
  for (float value : list) halves.push_back(dvnn::float_to_half(value));
  Bytes bytes(halves.size() * 2);
  std::memcpy(bytes.data(), halves.data(), bytes.size());
  return bytes;
}

std::string stream(const std::string& fields) {
  return "other/tensors,format=(string)static,framerate=(fraction)25/1," + fields;
}

std::string one(const std::string& type, const std::string& dimensions) {
  return stream("num_tensors=1,types=(string)" + type + ",dimensions=(string)" + dimensions);
}

const char* const kFlexible = "other/tensors,format=(string)flexible,framerate=(fraction)25/1";

// Caps of what leaves.
std::string caps_after(const std::string& description, const std::string& caps, GstBuffer* buffer) {
  GstHarness* h = chain(description, caps);
  gst_buffer_unref(gst_harness_push_and_pull(h, buffer));
  const std::string result = caps_text(gst_pad_get_current_caps(h->sinkpad));
  gst_harness_teardown(h);
  return result;
}

void expect_outputs(const std::string& caps, const std::vector<Bytes>& memories) {
  const Bytes have = output_of(infer(), caps, buffer_of(memories));
  ck_assert_msg(have == outputs_for_frames(), "%s", caps.c_str());
}

// The error of a stream into dvinfer; empty if a buffer comes out.
std::string error_of(const std::string& caps, const std::vector<Bytes>& memories) {
  return dvnn::test::error_of(infer(), caps, buffer_of(memories));
}

}  // namespace

// --- into dvinfer --------------------------------------------------------------------------------

DVNN_TEST(pixels_of_tensor_converter_are_normalised) {
  expect_outputs(one("uint8", "3:16:16:1"), {pixels()});
  // The order of sides counts: these are columns.
  Bytes turned;
  const Bytes rows = pixels();
  for (int x = 0; x < kSize; ++x) {
    for (int y = 0; y < kSize; ++y) {
      for (int c = 0; c < 3; ++c) {
        turned.push_back(rows[static_cast<size_t>((y * kSize + x) * 3 + c)]);
      }
    }
  }
  ck_assert(output_of(infer(), one("uint8", "3:16:16:1"), buffer_of({turned})) !=
            outputs_for_frames());
}

DVNN_TEST(floats_are_the_networks_own_numbers) {
  expect_outputs(one("float32", "3:16:16:1"), {float32(numbers(Order::kRows))});
  expect_outputs(one("float16", "3:16:16:1"), {float16(numbers(Order::kRows))});
  expect_outputs(one("float32", "16:16:3:1"), {float32(numbers(Order::kPlanes))});
  expect_outputs(one("float16", "16:16:3:1"), {float16(numbers(Order::kPlanes))});
  // dvconvert says this of a stream that is the device's own.
  expect_outputs(one("float16", "3:16:16:1") + ",layout=(string)nwhc",
                 {float16(numbers(Order::kColumns))});
}

DVNN_TEST(trailing_ones_mean_nothing) {
  for (const char* dimensions : {"3:16:16", "3:16:16:1", "3:16:16:1:1", "3:16:16:1:1:1:1:1",
                                 "3:16:16:0:0", "3:16:16:1:1:1:1:1:1:1:1:1:1:1:1:1"}) {
    expect_outputs(one("uint8", dimensions), {pixels()});
  }
  // An element that does not say is static.
  expect_outputs(
      "other/tensors,num_tensors=1,types=(string)uint8,dimensions=(string)3:16:16:1,"
      "framerate=(fraction)25/1",
      {pixels()});
}

DVNN_TEST(the_input_is_found_among_tensors_of_tensor_mux) {
  const Bytes before(7 * 8, 0x11), after(5 * 2, 0x22);
  for (const char* separator : {",", "."}) {
    const std::string s = separator;
    const std::string caps =
        stream("num_tensors=3,types=(string)\"int64" + s + "uint8" + s + "uint16\"," +
               "dimensions=(string)\"7:1:1:1" + s + "3:16:16:1" + s + "5\"");
    expect_outputs(caps, {before, pixels(), after});
    Bytes merged = before;
    append(&merged, pixels());
    append(&merged, after);
    expect_outputs(caps, {merged});
  }
  const std::string text =
      error_of(stream("num_tensors=2,types=(string)\"uint8,float32\",dimensions=(string)\"3:16:16:"
                      "1,3:16:16:1\""),
               {pixels(), float32(numbers(Order::kRows))});
  ck_assert_msg(text.find("several tensors") != std::string::npos, "'%s'", text.c_str());
}

DVNN_TEST(more_than_16_tensors_share_a_memory) {
  if (sizeof(void*) != 8) return;
  constexpr size_t kCount = 19;
  for (size_t which : {0u, 14u, 15u, 16u, 18u}) {
    std::string types, dimensions;
    std::vector<Bytes> memories;
    Bytes shared;
    std::vector<uint32_t> extra_types;
    std::vector<std::vector<uint32_t>> extra_dimensions;
    uint64_t first = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const bool is_input = i == which;
      const Bytes data = is_input ? pixels() : Bytes(4 * (i + 1), static_cast<uint8_t>(i));
      types += (i ? "," : "") + std::string(is_input ? "uint8" : "int32");
      dimensions += (i ? "," : "") + (is_input ? "3:16:16:1" : std::to_string(i + 1) + ":1:1:1");
      if (i < 15) {
        memories.push_back(data);
        continue;
      }
      append(&shared, data);
      if (i == 15) {
        first = data.size();
        continue;
      }
      extra_types.push_back(is_input ? kTypeUint8 : kTypeInt32);
      extra_dimensions.push_back(is_input ? std::vector<uint32_t>{3, 16, 16, 1}
                                          : std::vector<uint32_t>{static_cast<uint32_t>(i + 1)});
    }
    Bytes last = extra_header(first, extra_types, extra_dimensions);
    append(&last, shared);
    memories.push_back(last);
    expect_outputs(stream("num_tensors=19,types=(string)\"" + types + "\",dimensions=(string)\"" +
                          dimensions + "\""),
                   memories);
  }
}

DVNN_TEST(flexible_tensors_say_themselves_what_they_are) {
  const Bytes other = flexible(kTypeInt32, {4}, Bytes(16, 1));
  const Bytes u8 = flexible(kTypeUint8, {3, 16, 16, 1}, pixels());
  const Bytes f32 = flexible(kTypeFloat32, {3, 16, 16}, float32(numbers(Order::kRows)));
  const Bytes f16 = flexible(kTypeFloat16, {3, 16, 16, 1, 1}, float16(numbers(Order::kRows)));
  const Bytes planes = flexible(kTypeFloat32, {16, 16, 3, 1}, float32(numbers(Order::kPlanes)));
  for (const Bytes& tensor : {u8, f32, f16, planes}) {
    expect_outputs(kFlexible, {tensor});
    expect_outputs(kFlexible, {other, tensor});
    Bytes merged = other;
    append(&merged, tensor);
    append(&merged, other);
    expect_outputs(kFlexible, {merged});
  }
  // From buffer to buffer of one stream it may change.
  GstHarness* h = chain(infer(), kFlexible);
  for (const Bytes& tensor : {u8, f32, u8, planes}) {
    GstBuffer* out = gst_harness_push_and_pull(h, buffer_of({tensor}));
    ck_assert(bytes_of(out) == outputs_for_frames());
    gst_buffer_unref(out);
  }
  gst_harness_teardown(h);
}

DVNN_TEST(streams_that_are_no_input_are_refused_by_name) {
  auto refused = [](const std::string& caps, const char* words) {
    const std::string text = error_of(caps, {pixels()});
    ck_assert_msg(text.find(words) != std::string::npos, "%s: '%s'", caps.c_str(), text.c_str());
  };
  refused(one("uint8", "3:16:15:1"), "a stream of uint8 3:16:15:1 is not the network's input");
  refused(one("uint8", "4:16:16:1"), "uint8 3:16:16:1");
  refused(one("int32", "3:16:16:1"), "int32 3:16:16:1");
  refused(one("uint8", "16:16:3:1"), "uint8 16:16:3:1");  // planes of pixels
  refused(stream("num_tensors=2,types=(string)uint8,dimensions=(string)3:16:16:1"), "num_tensors");
  refused(one("uint8", "3:16:16:1:1:1:1:1:1:1:1:1:1:1:1:1:1"), "dimensions=3:16:16:1:1");
  refused(one("float16", "3:16:16:1") + ",layout=(string)hwc8", "layout hwc8");
  const std::string text = error_of(one("uint8", "3:16:16:1"), {Bytes(100, 0)});
  ck_assert_msg(text.find("100 bytes") != std::string::npos, "'%s'", text.c_str());
}

// NNStreamer's elements offer their caps with dimensions of four, of as many as there are, and of
// 16; and go on with the spelling that they are offered.
DVNN_TEST(caps_are_offered_as_they_are_spelled) {
  GstHarness* h = gst_harness_new_parse(infer().c_str());
  for (const char* dimensions :
       {"3:16:16:1", "3:16:16", "3:16:16:1:1:1:1:1:1:1:1:1:1:1:1:1", "3:16:16:1:1:1"}) {
    for (const char* type : {"uint8", "float32", "float16"}) {
      GstCaps* caps = gst_caps_from_string(one(type, dimensions).c_str());
      GstCaps* possible = gst_pad_peer_query_caps(h->srcpad, caps);
      ck_assert_msg(!gst_caps_is_empty(possible), "%s %s", type, dimensions);
      ck_assert(gst_pad_peer_query_accept_caps(h->srcpad, caps));
      gst_caps_unref(possible);
      gst_caps_unref(caps);
    }
  }
  // The first structure of all is what tensor_converter asks for flexible tensors by.
  GstCaps* all = gst_pad_peer_query_caps(h->srcpad, nullptr);
  const GstStructure* first = gst_caps_get_structure(all, 0);
  ck_assert(!gst_structure_has_name(first, "other/tensors") ||
            g_strcmp0(gst_structure_get_string(first, "format"), "flexible") != 0);
  gst_caps_unref(all);
  gst_harness_teardown(h);
}

// --- out of dvinfer ------------------------------------------------------------------------------

DVNN_TEST(outputs_leave_with_the_types_that_downstream_takes) {
  // tensor_decoder's sink pad.
  const std::string decoder =
      " ! capsfilter caps=\"other/tensors, format=(string)static, num_tensors=(int)[ 1, 256 ], "
      "framerate=(fraction)[ 0, max ]; other/tensors, format=(string)flexible\"";
  const std::string in = one("uint8", "3:16:16:1");
  const Bytes& want = outputs_for_frames();
  std::vector<float> values(want.size() / 4);
  std::memcpy(values.data(), want.data(), want.size());
  ck_assert(output_of(infer() + decoder, in, buffer_of({pixels()})) == want);
  const std::string caps = caps_after(infer() + decoder, in, buffer_of({pixels()}));
  for (const char* field :
       {"format=(string)static", "num_tensors=(int)2", "types=(string)\"float32\\,float32\"",
        "dimensions=(string)\"4:4:4:1\\,2:4:4:1\"", "framerate=(fraction)25/1"}) {
    ck_assert_msg(caps.find(field) != std::string::npos, "%s: %s", field, caps.c_str());
  }
  auto filtered = [&](const std::string& fields) {
    return output_of(infer() + " ! capsfilter caps=\"other/tensors," + fields + "\"", in,
                     buffer_of({pixels()}));
  };
  ck_assert(filtered("types=(string)float32.float32") == want);
  ck_assert(filtered("types=(string)float16.float16") == float16(values));
  ck_assert(filtered("dimensions=(string)4:4:4.2:4:4") == want);
  // Branches behind a tee share a buffer's memory, so nobody may write it in place.
  for (const char* types : {"float32.float32", "float16.float16"}) {
    GstHarness* h = gst_harness_new_parse(
        (infer() + " ! capsfilter caps=\"other/tensors,types=(string)" + types + "\"").c_str());
    gst_harness_set_src_caps_str(h, in.c_str());
    GstBuffer* out = gst_harness_push_and_pull(h, buffer_of({pixels()}));
    for (guint i = 0; i < gst_buffer_n_memory(out); ++i) {
      ck_assert(GST_MEMORY_IS_READONLY(gst_buffer_peek_memory(out, i)));
    }
    gst_buffer_unref(out);
    gst_harness_teardown(h);
  }
  // Each tensor behind its header: dimensions without trailing ones, the rest zeros.
  const std::ptrdiff_t loc = 4 * 4 * 4 * 4;
  Bytes headed = flexible(kTypeFloat32, {4, 4, 4}, Bytes(want.begin(), want.begin() + loc));
  append(&headed, flexible(kTypeFloat32, {2, 4, 4}, Bytes(want.begin() + loc, want.end())));
  ck_assert(filtered("format=(string)flexible") == headed);
}

namespace {

// Path of a variant of the grid network; removed with the object.
class NetworkFile {
 public:
  explicit NetworkFile(const std::function<void(dvnn::network::Model*)>& change) {
    dvnn::network::Model model = grid_network();
    change(&model);
    close(mkstemps(path_.data(), 4));
    ck_assert(dvnn::network::write_dvn(model, path_).ok());
  }
  ~NetworkFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/dvnn-outputs-XXXXXX.dvn";
};

}  // namespace

DVNN_TEST(outputs_of_the_device_are_laid_out_as_pictures) {
  const NetworkFile file([](dvnn::network::Model* model) {
    model->outputs = {{"map", 1}};  // the convolution's: 2 channels of 4 x 4, whc8
    model->decoder = {};
  });
  const std::string caps = video_caps("RGB", kSize, kSize), line = "dvinfer network=" + file.path();
  GstHarness* h = chain(line, caps);
  GstBuffer* frame = gst_harness_push_and_pull(h, noise("RGB", kSize, kSize));
  const GstDvTensorMeta* meta = gst_buffer_get_dv_tensor_meta(frame);
  const Bytes device = bytes_of(meta->tensors[0].data);
  ck_assert_uint_eq(meta->tensors[0].data_type, GST_DV_TENSOR_DATA_TYPE_FLOAT16);
  gst_buffer_unref(frame);
  gst_harness_teardown(h);
  // Element (c, x, y) lies at (x * 4 + y) * 2 + c there, and at (y * 4 + x) * 2 + c in the stream.
  Bytes rows(device.size());
  std::vector<float> values(device.size() / 2);
  for (size_t y = 0; y < 4; ++y) {
    for (size_t x = 0; x < 4; ++x) {
      for (size_t c = 0; c < 2; ++c) {
        const size_t to = (y * 4 + x) * 2 + c, from = (x * 4 + y) * 2 + c;
        dvnn::half_t half;
        std::memcpy(&half, &device[2 * from], 2);
        std::memcpy(&rows[2 * to], &half, 2);
        values[to] = dvnn::half_to_float(half);
      }
    }
  }
  ck_assert(rows != device);
  const std::string filter = line + " ! capsfilter caps=\"other/tensors";
  ck_assert(output_of(filter + "\"", caps, noise("RGB", kSize, kSize)) == rows);
  ck_assert(output_of(filter + ",types=(string)float32,dimensions=(string)2:4:4\"", caps,
                      noise("RGB", kSize, kSize)) == float32(values));
}

DVNN_TEST(more_than_16_outputs_share_a_memory) {
  if (sizeof(void*) != 8) return;
  constexpr size_t kCount = 18;
  const NetworkFile file([](dvnn::network::Model* model) {
    const auto outputs = model->outputs;
    model->outputs.clear();
    for (size_t i = 0; i < kCount; ++i) {
      model->outputs.push_back(outputs[i % 2]);
      model->outputs.back().name = "out" + std::to_string(i);
    }
    model->decoder = {};
  });
  const Bytes& two = outputs_for_frames();
  const std::ptrdiff_t cut = 4 * 4 * 4 * 4;
  const Bytes parts[] = {Bytes(two.begin(), two.begin() + cut),
                         Bytes(two.begin() + cut, two.end())};
  Bytes want;
  for (size_t i = 0; i < kCount; ++i) {
    if (i == 15) {
      append(&want,
             extra_header(parts[1].size(), {kTypeFloat32, kTypeFloat32}, {{4, 4, 4}, {2, 4, 4}}));
    }
    append(&want, parts[i % 2]);
  }
  GstHarness* h = chain("dvinfer network=" + file.path() + " ! capsfilter caps=other/tensors",
                        video_caps("RGB", kSize, kSize));
  GstBuffer* out = gst_harness_push_and_pull(h, noise("RGB", kSize, kSize));
  ck_assert_uint_eq(gst_buffer_n_memory(out), 16);
  ck_assert(bytes_of(out) == want);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(dvconvert_makes_each_form_that_dvinfer_takes) {
  const std::string caps = video_caps("NV12", 64, 48);
  const Bytes want = output_of("dvconvert ! " + infer() + " ! capsfilter caps=other/tensors", caps,
                               noise("NV12", 64, 48));
  for (const char* fields :
       {"", ",types=(string)float16", ",types=(string)float32", ",types=(string)uint8",
        ",dimensions=(string)16:16:3:1", ",layout=(string)nwhc", ",layout=(string)nhwc"}) {
    const Bytes have = output_of(
        "dvconvert ! capsfilter caps=\"other/tensors" + std::string(fields) + "\" ! " + infer(),
        caps, noise("NV12", 64, 48));
    ck_assert_msg(have == want, "%s", fields);
  }
}

}  // namespace dvnn::test::nnstreamer_tests
