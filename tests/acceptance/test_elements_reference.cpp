// SPDX-License-Identifier: Apache-2.0
// The elements against `dvnet run` on the same pixels, and against the golden detections on files
// that other decoders have decoded. Needs the reference data; skips without.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "gst_fixture.h"
#include "tensor/tensor.h"

namespace dvnn::test::elements_reference_tests {

namespace fs = std::filesystem;
using json = dvnn::Json;

namespace {

constexpr int kSkip = 77;
// GStreamer's and OpenCV's decoders differ in chroma upsampling and colour matrix (1.6 levels of
// 255 on average here). The same object then means what PASCAL VOC means by it: IoU of at least
// 0.5.
constexpr double kSameObjectIou = 0.5;
constexpr double kSureConfidence = 0.7, kFoundConfidence = 0.5;

struct Reference {
  const char *name, *golden, *prototxt, *caffemodel, *mean;
};
// Caffe SSDs whose boxes come out of the network itself.
constexpr Reference kReferences[] = {
    {"res10", "res10_caffe_from_uint8pb", "res10_300x300_deploy.prototxt",
     "res10_300x300_from_uint8pb.caffemodel", "104,117,123"},
    {"yufacedetectnet", "yufacedetectnet_v1", "yufacedetectnet-open-v1.prototxt",
     "yufacedetectnet-open-v1.caffemodel", "103.94,116.78,123.68"}};

const fs::path kData = DVNN_TEST_DATA;
fs::path work_folder;

std::string dvnet(const std::vector<std::string>& arguments) {
  std::vector<const gchar*> argv = {g_getenv("DVNN_DVNET")};
  for (const std::string& a : arguments) argv.push_back(a.c_str());
  argv.push_back(nullptr);
  gchar* out = nullptr;
  gint status = 0;
  const gboolean spawned =
      g_spawn_sync(nullptr, const_cast<gchar**>(argv.data()), nullptr, G_SPAWN_DEFAULT, nullptr,
                   nullptr, &out, nullptr, &status, nullptr);
  ck_assert_msg(spawned && g_spawn_check_wait_status(status, nullptr), "dvnet %s failed", argv[1]);
  const std::string text = out;
  g_free(out);
  return text;
}

std::string network_file(const Reference& reference) {
  const std::string path = work_folder / (std::string(reference.name) + ".dvn");
  if (!fs::exists(path)) {
    dvnet({"convert", "--from", "caffe", kData / "models" / reference.prototxt,
           kData / "models" / reference.caffemodel, "-o", path, "--mean", reference.mean});
  }
  return path;
}

// The results that one frame of a stream carried, by its number.
struct Frame {
  int number = 0, frames_seen = 0;
  std::vector<Found> found;
  int width = 0, height = 0;
};

// The values of a stream's first tensor, NCHW.
GstPadProbeReturn take_tensor(GstPad* pad, GstPadProbeInfo* info, gpointer data) {
  auto& values = *static_cast<std::vector<float>*>(data);
  if (!values.empty()) return GST_PAD_PROBE_OK;
  GstCaps* caps = gst_pad_get_current_caps(pad);
  const GstStructure* s = gst_caps_get_structure(caps, 0);
  ck_assert_str_eq(gst_structure_get_string(s, "types"), "float16");
  int c = 0, h = 0, w = 0;
  ck_assert_int_eq(std::sscanf(gst_structure_get_string(s, "dimensions"), "%d:%d:%d:1", &c, &h, &w),
                   3);
  gst_caps_unref(caps);
  const dvnn::Shape shape = {1, c, h, w};
  GstMapInfo map;
  ck_assert(gst_buffer_map(GST_PAD_PROBE_INFO_BUFFER(info), &map, GST_MAP_READ));
  values.resize(static_cast<size_t>(shape.elements()));
  dvnn::read_nchw({{dvnn::ElementType::kFloat16, dvnn::Layout::kWhc8, shape}, map.data},
                  values.data());
  gst_buffer_unmap(GST_PAD_PROBE_INFO_BUFFER(info), &map);
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn take_detections(GstPad* pad, GstPadProbeInfo* info, gpointer frame) {
  auto* f = static_cast<Frame*>(frame);
  if (f->frames_seen++ != f->number) return GST_PAD_PROBE_OK;
  f->found = detections(GST_PAD_PROBE_INFO_BUFFER(info));
  GstCaps* caps = gst_pad_get_current_caps(pad);
  const GstStructure* s = gst_caps_get_structure(caps, 0);
  gst_structure_get_int(s, "width", &f->width);
  gst_structure_get_int(s, "height", &f->height);
  gst_caps_unref(caps);
  return GST_PAD_PROBE_OK;
}

// Runs a pipeline to its end with a probe on an element's pad.
void run_with_probe(const std::string& description, const char* element, const char* pad_name,
                    GstPadProbeCallback callback, gpointer data) {
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(description.c_str(), &error);
  ck_assert_msg(pipeline && !error, "%s", error ? error->message : "");
  GstElement* probed = gst_bin_get_by_name(GST_BIN(pipeline), element);
  GstPad* pad = gst_element_get_static_pad(probed, pad_name);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, callback, data, nullptr);
  gst_object_unref(pad);
  gst_object_unref(probed);
  play_to_end(pipeline, description, 120 * GST_SECOND);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

// Runs `source` (up to raw video) through the elements and returns what frame `number` carried.
Frame run_elements(const std::string& source, const std::string& network,
                   const std::string& threshold, int number = 0,
                   const std::string& backend = "auto") {
  Frame frame;
  frame.number = number;
  run_with_probe(source + " ! dvconvert backend=" + backend + " ! dvinfer network=" + network +
                     " ! dvdecode threshold=" + threshold + " ! fakesink name=sink sync=false",
                 "sink", "sink", take_detections, &frame);
  ck_assert_msg(frame.frames_seen > number, "%s: only %d frames", source.c_str(),
                frame.frames_seen);
  return frame;
}

// The tensor that dvconvert makes of the first frame of `source` for that network.
std::vector<float> tensor_of(const std::string& source, const std::string& network) {
  std::vector<float> values;
  run_with_probe(source +
                     " ! dvconvert name=convert ! other/tensors,format=static ! dvinfer "
                     "network=" +
                     network + " ! fakesink",
                 "convert", "src", take_tensor, &values);
  return values;
}

// The values of a NumPy file of version 1.0 with float32 in row-major order.
std::vector<float> read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ck_assert_uint_gt(bytes.size(), 10);
  const size_t header =
      10 + static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
  std::vector<float> values((bytes.size() - header) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + header, values.size() * sizeof(float));
  return values;
}

// A detection of a JSON object, its box in pixels clipped to the frame.
Found in_pixels(const json& d, int width, int height) {
  auto pixel = [&](size_t i, int size) {
    return std::clamp(d["box"][i].get<double>() * size, 0.0, static_cast<double>(size));
  };
  return {"class " + std::to_string(d["cls"].get<int>()),
          d["conf"].get<double>(),
          pixel(0, width),
          pixel(1, height),
          pixel(2, width),
          pixel(3, height)};
}

double iou(const Found& a, const Found& b) {
  const double w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const double h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (w <= 0 || h <= 0) return 0;
  return w * h / ((a.x1 - a.x0) * (a.y1 - a.y0) + (b.x1 - b.x0) * (b.y1 - b.y0) - w * h);
}

bool has(const std::vector<Found>& list, const Found& wanted, double confidence) {
  for (const Found& f : list) {
    if (f.label == wanted.label && f.confidence >= confidence && iou(f, wanted) >= kSameObjectIou) {
      return true;
    }
  }
  return false;
}

// Objects that either side is sure of must be found by the other.
void expect_same_objects(const Frame& frame, const json& golden, const std::string& name) {
  std::vector<Found> wanted;
  for (const json& d : golden["detections"]) {
    wanted.push_back(in_pixels(d, frame.width, frame.height));
  }
  for (const Found& w : wanted) {
    ck_assert_msg(w.confidence < kSureConfidence || has(frame.found, w, kFoundConfidence),
                  "%s: no %s %.3f at %.1f,%.1f", name.c_str(), w.label.c_str(), w.confidence, w.x0,
                  w.y0);
  }
  for (const Found& f : frame.found) {
    ck_assert_msg(f.confidence < kSureConfidence || has(wanted, f, kFoundConfidence),
                  "%s: extra %s %.3f at %.1f,%.1f", name.c_str(), f.label.c_str(), f.confidence,
                  f.x0, f.y0);
  }
}

void expect_same_floats(const std::vector<Found>& a, const std::vector<Found>& b) {
  ck_assert_uint_eq(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ck_assert(a[i].label == b[i].label && a[i].confidence == b[i].confidence);
    ck_assert(a[i].x0 == b[i].x0 && a[i].y0 == b[i].y0 && a[i].x1 == b[i].x1 && a[i].y1 == b[i].y1);
  }
}

// Whether this build plays the next file of a test: slow ones play a share.
bool plays_next() {
  static size_t number = 0;
  return dvnn_plays(number++);
}

json golden_of(const Reference& reference, const std::string& name) {
  std::ifstream file(kData / "golden" / reference.golden / (name + ".json"));
  return file ? json::parse(file) : json();
}

}  // namespace

static int run_with_reference(const char* name, const std::vector<const TTest*>& tests) {
  if (!fs::exists(kData / "golden")) {
    std::printf("skipped: no reference data in '%s'\n", kData.c_str());
    return kSkip;
  }
  std::string folder = fs::temp_directory_path() / "dvnn-reference-XXXXXX";
  work_folder = mkdtemp(&folder[0]);
  const int status = run_gst_suite(name, tests);
  fs::remove_all(work_folder);
  return status;
}

DVNN_SUITE_RUN_BY(run_with_reference, elements_reference);

DVNN_TEST(the_same_pixels_give_the_tensor_and_boxes_of_dvnet_run) {
  int compared = 0;
  for (const Reference& reference : kReferences) {
    const std::string network = network_file(reference);
    for (const auto& entry : fs::directory_iterator(kData / "golden" / "frames")) {
      const std::string picture = entry.path();
      const json run = json::parse(
          dvnet({"run", "--json", "--threshold", "0.3", "--dump", work_folder, network, picture}));
      const std::string source =
          "filesrc location=" + picture + " ! pngdec ! videoconvert ! video/x-raw,format=BGR";
      const Frame frame = run_elements(source, network, "0.3", 0, "cpu");
      expect_same_floats(frame.found, run_elements(source, network, "0.3", 0, "device").found);
      const std::vector<float> tensor =
          read_npy(work_folder / (entry.path().filename().string() + ".tensor.npy"));
      ck_assert_msg(!tensor.empty() && tensor_of(source, network) == tensor,
                    "%s: the tensors differ", picture.c_str());
      ck_assert_uint_eq(frame.found.size(), run["detections"].size());
      for (size_t i = 0; i < frame.found.size(); ++i, ++compared) {
        const Found wanted = in_pixels(run["detections"][i], frame.width, frame.height);
        const Found& f = frame.found[i];
        // The same floats; the box went through float32 as a fraction of the frame on one side.
        ck_assert(f.label == wanted.label && f.confidence == wanted.confidence);
        const double tolerance = std::ldexp(std::max(frame.width, frame.height), -22);
        ck_assert_double_eq_tol(f.x0, wanted.x0, tolerance);
        ck_assert_double_eq_tol(f.y0, wanted.y0, tolerance);
        ck_assert_double_eq_tol(f.x1, wanted.x1, tolerance);
        ck_assert_double_eq_tol(f.y1, wanted.y1, tolerance);
      }
    }
  }
  ck_assert_int_gt(compared, 0);
}

DVNN_TEST(photos_through_decodebin_show_the_same_objects) {
  for (const Reference& reference : kReferences) {
    for (const auto& entry : fs::directory_iterator(kData / "images")) {
      const std::string name = entry.path().filename();
      const json golden = golden_of(reference, name);
      if (golden.is_null() || !plays_next()) continue;
      const Frame frame =
          run_elements("filesrc location=" + entry.path().string() + " ! decodebin ! videoconvert",
                       network_file(reference), "0.3");
      expect_same_objects(frame, golden, std::string(reference.name) + " " + name);
    }
  }
}

DVNN_TEST(videos_through_decodebin_show_the_same_objects) {
  int compared = 0;
  for (const Reference& reference : kReferences) {
    for (const auto& entry : fs::directory_iterator(kData / "videos")) {
      const std::string video = entry.path().filename();
      for (int number : {0, 30}) {
        char suffix[16];
        std::snprintf(suffix, sizeof suffix, "_f%05d", number);
        const json golden = golden_of(reference, video + suffix);
        if (golden.is_null() || !plays_next()) continue;
        // The decoder may pass some frames more before it sees the end that identity declares.
        const Frame frame = run_elements(
            "filesrc location=" + entry.path().string() +
                " ! decodebin ! videoconvert ! identity eos-after=" + std::to_string(number + 1),
            network_file(reference), "0.3", number);
        expect_same_objects(frame, golden, std::string(reference.name) + " " + video + suffix);
        compared += static_cast<int>(golden["detections"].size());
      }
    }
  }
  ck_assert_int_gt(compared, 0);
}

}  // namespace dvnn::test::elements_reference_tests
