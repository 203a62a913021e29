// SPDX-License-Identifier: Apache-2.0
// Upstream's elements and ours in one line. Each test is skipped where this GStreamer has not the
// element. Leaks are not looked for: objectdetectionoverlay 1.26 keeps its last picture for ever.
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "analytics_fixture.h"

namespace dvnn::test::upstream_tests {

namespace {

constexpr int kSize = 64;  // of frames, pixels

// A file that goes with the test.
struct TemporaryFile {
  explicit TemporaryFile(const std::string& suffix)
      : path("/tmp/dvnn-upstream-" + std::to_string(getpid()) + suffix) {}
  ~TemporaryFile() { unlink(path.c_str()); }
  std::string path;
};

#ifdef DVNN_HAVE_TENSORS
// A message of protobuf's wire format. Numbers of fields are those of onnx.proto.
class ProtoMessage {
 public:
  ProtoMessage& number(int field, uint64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    varint(value);
    return *this;
  }
  ProtoMessage& bytes(int field, const std::string& value) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  ProtoMessage& message(int field, const ProtoMessage& value) { return bytes(field, value.text_); }
  const std::string& text() const { return text_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

// Returns metadata to append to a model so that onnxinference uses an output's name as its
// tensor's id.
std::string onnx_output_id(const std::string& output) {
  return ProtoMessage().message(14, ProtoMessage().bytes(1, output).bytes(2, output)).text();
}

// The grid network (grid_network.h) as an ONNX file, for other elements to run. Written byte by
// byte, because linking the protobuf library beside ONNX Runtime, which has the same messages, ends
// the process.
std::string onnx_grid() {
  auto floats = [](const std::string& name, const std::vector<uint64_t>& dims,
                   const std::vector<float>& values) {
    ProtoMessage tensor;
    for (const uint64_t dim : dims) tensor.number(1, dim);
    std::string raw(values.size() * sizeof(float), '\0');
    std::memcpy(&raw[0], values.data(), raw.size());
    return tensor.number(2, 1).bytes(8, name).bytes(9, raw);
  };
  auto node = [](const char* op, const std::vector<std::string>& inputs,
                 const std::string& output) {
    ProtoMessage made;
    for (const std::string& input : inputs) made.bytes(1, input);
    return made.bytes(2, output).bytes(4, op);
  };
  auto integers = [](const char* name, const std::vector<uint64_t>& values) {
    ProtoMessage attribute;
    attribute.bytes(1, name);
    for (const uint64_t value : values) attribute.number(8, value);
    return attribute.number(20, 7);
  };
  auto integer = [](const char* name, uint64_t value) {
    return ProtoMessage().bytes(1, name).number(3, value).number(20, 2);
  };
  auto picture = [](const std::string& name, const std::vector<uint64_t>& dims) {
    ProtoMessage shape;
    for (const uint64_t dim : dims) shape.message(1, ProtoMessage().number(1, dim));
    const ProtoMessage type =
        ProtoMessage().message(1, ProtoMessage().number(1, 1).message(2, shape));
    return ProtoMessage().bytes(1, name).message(2, type);
  };
  std::vector<float> red(2 * 3 * 16, 0.0f);
  for (size_t i = 0; i < 16; ++i) {
    red[3 * 16 + i] = 4;        // class 1, red
    red[3 * 16 + 16 + i] = -4;  // class 1, green
  }
  const auto stride = integers("strides", {4, 4});
  const auto order = integers("perm", {0, 2, 3, 1});
  ProtoMessage graph;
  graph.message(1, node("Conv", {"x", "red", "red_bias"}, "conf_map").message(5, stride))
      .message(1, node("Conv", {"x", "still"}, "loc_map").message(5, stride))
      .message(1, node("Transpose", {"loc_map"}, "loc").message(5, order))
      .message(1, node("Transpose", {"conf_map"}, "conf_rows").message(5, order))
      .message(1, node("Softmax", {"conf_rows"}, "conf").message(5, integer("axis", 3)))
      .bytes(2, "grid")
      .message(5, floats("red", {2, 3, 4, 4}, red))
      .message(5, floats("red_bias", {2}, {0, -32}))
      .message(5, floats("still", {4, 3, 4, 4}, std::vector<float>(4 * 3 * 16, 0.0f)))
      .message(11, picture("x", {1, 3, 16, 16}))
      .message(12, picture("loc", {1, 4, 4, 4}))
      .message(12, picture("conf", {1, 4, 4, 2}));
  return ProtoMessage()
             .number(1, 8)
             .message(8, ProtoMessage().bytes(1, "").number(2, 13))
             .message(7, graph)
             .text() +
         onnx_output_id("loc") + onnx_output_id("conf");
}

// Returns what a pipeline that begins with one picture finds in it.
std::vector<Found> found_in(const std::string& picture, const std::string& elements) {
  const std::string description = "filesrc location=" + picture +
                                  " ! jpegdec ! videoconvert ! videoscale ! "
                                  "video/x-raw,format=RGB,width=320,height=240,"
                                  "pixel-aspect-ratio=1/1 ! " +
                                  elements + " ! fakesink name=sink enable-last-sample=true";
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(description.c_str(), &error);
  ck_assert_msg(pipeline && !error, "%s", error ? error->message : "");
  play_to_end(pipeline, description, 60 * GST_SECOND);
  GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  GstSample* last = nullptr;
  g_object_get(sink, "last-sample", &last, nullptr);
  ck_assert_ptr_nonnull(last);
  const std::vector<Found> list = detections(gst_sample_get_buffer(last));
  gst_sample_unref(last);
  gst_object_unref(sink);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  // The thread in which the bin went on to PLAYING may still have a reference. With the last one
  // onnxinference would end there, while this process ends and ONNX Runtime with it: a crash in
  // every few hundred runs.
  while (GST_OBJECT_REFCOUNT_VALUE(pipeline) > 1) g_usleep(1000);
  gst_object_unref(pipeline);
  return list;
}

void run_dvnet(const std::vector<std::string>& arguments) {
  std::vector<gchar*> argv = {const_cast<gchar*>(DVNN_DVNET)};
  for (const std::string& argument : arguments)
    argv.push_back(const_cast<gchar*>(argument.c_str()));
  argv.push_back(nullptr);
  gchar *out = nullptr, *err = nullptr;
  gint status = -1;
  g_spawn_sync(nullptr, argv.data(), nullptr, static_cast<GSpawnFlags>(0), nullptr, nullptr, &out,
               &err, &status, nullptr);
  ck_assert_msg(status == 0, "dvnet: %s", err ? err : "did not start");
  g_free(out);
  g_free(err);
}
#endif

}  // namespace

static int run_with_others(const char* name, const std::vector<const TTest*>& tests) {
  gst_init(nullptr, nullptr);
  const int status = dvnn_run_suite(name, tests);
  remove_network();
  return status;
}

DVNN_SUITE_RUN_BY(run_with_others, gst_upstream);

// Upstream's overlay strokes a line of two pixels along the rectangle's edges. At the frame's own
// it moves the line, so cells within are taken.
DVNN_TEST(objectdetectionoverlay_draws_our_boxes) {
  if (!there("objectdetectionoverlay")) return;
  const std::string overlay =
      " ! videoconvert ! objectdetectionoverlay draw-labels=false "
      "object-detection-outline-color=0xff00ff00";
  Line drawn(grid_infer() + " ! dvdecode" + overlay, kSize, kSize);
  Line bare(grid_infer() + " ! dvdecode exports=0" + overlay, kSize, kSize);
  for (const auto& [column, row] : {std::make_pair(2, 1), {1, 2}, {1, 1}}) {
    GstBuffer* square = red_square("RGB", kSize, kSize, column, row);
    const std::vector<guint8> source = bytes(square);
    gst_buffer_unref(square);
    ck_assert(pushed(&bare, red_square("RGB", kSize, kSize, column, row)) == source);
    const auto seen = pushed(&drawn, red_square("RGB", kSize, kSize, column, row));
    const int x0 = column * 16, y0 = row * 16, x1 = x0 + 16, y1 = y0 + 16;
    for (int y = 0; y < kSize; ++y) {
      for (int x = 0; x < kSize; ++x) {
        const auto at = static_cast<size_t>(3 * (y * kSize + x));
        const int green = seen[at + 1] - source[at + 1];
        const bool within = x >= x0 - 1 && x <= x1 && y >= y0 - 1 && y <= y1;
        const bool deep = x >= x0 + 1 && x < x1 - 1 && y >= y0 + 1 && y < y1 - 1;
        const bool edge = within && !deep;
        ck_assert_msg(edge ? green > 100 : green == 0, "cell %d,%d: green %d at pixel %d,%d",
                      column, row, green, x, y);
      }
    }
  }
}

DVNN_TEST(ioutracker_tracks_our_objects) {
  if (!there("ioutracker")) return;
  Line line(grid_infer() + " ! dvdecode ! ioutracker", kSize, kSize);
  guint64 first = 0;
  for (GstClockTime pts = 0; pts < 3; ++pts) {
    GstBuffer* frame = red_square("RGB", kSize, kSize, 2, 1);
    GST_BUFFER_PTS(frame) = pts * 40 * GST_MSECOND;
    GstBuffer* out = line.push(frame);
    const std::vector<Entry> list = entries(out);
    ck_assert_uint_eq(list.size(), 1);
    const guint64 track = track_of(out, list[0].id);
    if (pts == 0) first = track;
    ck_assert_uint_eq(track, first);
    gst_buffer_unref(out);
  }
}

#ifdef DVNN_HAVE_TENSORS
static void expect_ssd_detections(const std::string& settings) {
  if (!there("ssdobjectdetector")) return;
  const TemporaryFile labels(".txt");
  // From 1.28 on class 1 is the first line.
  const bool background = !GST_CHECK_VERSION(1, 28, 0);
  std::ofstream(labels.path) << (background ? "background\n" : "") << "red one\n";
  Line line(grid_infer(settings) + " ! ssdobjectdetector label-file=" + labels.path, kSize, kSize);
  GstBuffer* out = line.push(red_square("RGB", kSize, kSize, 2, 1));
  const std::vector<Entry> list = entries(out);
  ck_assert_uint_eq(list.size(), 1);
  dvnn_assert_text(list[0].label, "red one");
  ck_assert(list[0].confidence > 0.9f);
  ck_assert(list[0].x == 32 && list[0].y == 16 && list[0].w == 16 && list[0].h == 16);
  gst_buffer_unref(out);
}

DVNN_TEST(ssdobjectdetector_reads_our_detections) {
  expect_ssd_detections("tensor-meta=always");
}

#if GST_CHECK_VERSION(1, 28, 0)
DVNN_TEST(decoders_get_what_their_caps_ask_for) {
  expect_ssd_detections("");
}

#endif

DVNN_TEST(onnxinference_and_dvinfer_find_the_same_squares) {
  if (!there("onnxinference")) return;
  const TemporaryFile model(".onnx");
  const std::string bytes_of_model = onnx_grid();
  std::ofstream(model.path, std::ios::binary) << bytes_of_model;
  constexpr int kInput = 16;  // onnxinference scales nothing
  Line ours(grid_infer() + " ! dvdecode", kInput, kInput);
  Line upstream("onnxinference input-image-format=chw input-tensor-scale=255 model-file=" +
                    model.path + " ! dvdecode tensor-network=" + network_path(),
                kInput, kInput);
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 4; ++column) {
      std::vector<Found> found[2];
      for (const bool onnx : {false, true}) {
        GstBuffer* out =
            (onnx ? upstream : ours).push(red_square("RGB", kInput, kInput, column, row));
        ck_assert_msg(found_square(out, kInput, kInput, column, row), "%s, cell %d,%d: %s",
                      onnx ? "onnxinference" : "dvinfer", column, row,
                      describe(detections(out)).c_str());
        found[onnx] = detections(out);
        gst_buffer_unref(out);
      }
      const std::string why = difference(found[1], found[0], 1e-3, 1e-3);
      ck_assert_msg(why.empty(), "cell %d,%d: %s", column, row, why.c_str());
    }
  }
}

double overlap(const Found& a, const Found& b) {
  const double width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const double height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (width <= 0 || height <= 0) return 0;
  auto area = [](const Found& f) { return (f.x1 - f.x0) * (f.y1 - f.y0); };
  return width * height / (area(a) + area(b) - width * height);
}

// Two candidates for a face may be nearer in confidence than binary16, with its 11 bits, can tell
// after a dozen layers. Then either may suppress the other: where one has our box and the other
// theirs, ours becomes theirs.
void settle_ties(const std::vector<Found>& theirs, std::vector<Found>* ours) {
  constexpr double kTie = 2e-3, kSameFace = 0.7;
  for (Found& found : *ours) {
    for (const Found& other : theirs) {
      if (other.label == found.label && overlap(other, found) >= kSameFace &&
          std::fabs(other.confidence - found.confidence) <= kTie) {
        found = other;
      }
    }
  }
}

// A real face detector: its anchors, 4,420 candidates and their suppression.
DVNN_TEST(onnxinference_and_dvinfer_find_the_same_faces) {
  if (!there("onnxinference")) return;
  const std::string data = DVNN_TEST_DATA;
  const std::string model = data + "/models/version-RFB-320_without_postprocessing.onnx";
  std::ifstream in(model, std::ios::binary);
  if (!in || !*DVNN_DVNET) {
    std::printf("skipped: no reference data in '%s', or no converter\n", data.c_str());
    return;
  }
  std::string bytes_of_model((std::istreambuf_iterator<char>(in)), {});
  const TemporaryFile with_ids(".onnx"), network(".dvn");
  // onnxinference 1.26 refuses outputs that the model's metadata give no id.
  bytes_of_model += onnx_output_id("boxes") + onnx_output_id("scores");
  std::ofstream(with_ids.path, std::ios::binary) << bytes_of_model;
  run_dvnet({"convert", model, "-o", network.path, "--order", "rgb", "--mean", "127", "--scale",
             "0.0078125", "--decoder", "ssd", "--decoder-params",
             R"({"loc": "boxes", "conf": "scores", "num_classes": 2, "nms_threshold": 0.3,
                 "anchors": {"rule": "min-boxes", "image": [320, 240], "strides": [8, 16, 32, 64],
                 "min_boxes": [[10, 16, 24], [32, 48], [64, 96], [128, 192, 256]]}})"});
  size_t faces = 0;
  for (const char* picture : {"ulfg_1.jpg", "ulfg_5.jpg", "12_angry_men.jpg", "mssdface_car.jpg"}) {
    const std::string path = data + "/images/" + picture;
    auto ours = found_in(
        path, "dvconvert ! dvinfer watchdog-ms=60000 network=" + network.path + " ! dvdecode");
    const auto theirs = found_in(path,
                                 "onnxinference input-image-format=chw input-tensor-offset=-127 "
                                 "input-tensor-scale=128 model-file=" +
                                     with_ids.path + " ! dvdecode tensor-network=" + network.path);
    // The device rounds each layer to float16.
    if (!difference(theirs, ours, 0.25, 0.02).empty()) settle_ties(theirs, &ours);
    const std::string why = difference(theirs, ours, 0.25, 0.02);
    ck_assert_msg(why.empty(), "%s: %s", picture, why.c_str());
    faces += ours.size();
  }
  std::printf("%zu faces by both\n", faces);
  ck_assert_uint_ge(faces, 20);
}
#endif

}  // namespace dvnn::test::upstream_tests
