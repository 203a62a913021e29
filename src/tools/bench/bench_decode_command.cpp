// SPDX-License-Identifier: Apache-2.0
// Decoders on outputs of random numbers, compared with simple code that copies, activates and
// compares number by number; and suppression, compared with all pairs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/json.h"
#include "decode/decoder.h"
#include "kernels/boxes/suppression.h"
#include "tools/bench/bench_decode_plain.h"
#include "tools/bench/plot.h"
#include "tools/commands.h"
#include "tools/options.h"
#include "tools/timing.h"

namespace dvnn::tools {
namespace {

// An output with the distribution of its numbers, most of which are low, as in real outputs.
struct BenchOutput {
  const char* name;
  Shape shape;
  float mean, spread;
  // Returns the number at an index of the output, given a random number; may be empty.
  std::function<float(size_t at, float random)> number = {};
};

// Values of the outputs, one vector each, in the order of their shapes.
using PlainOutputs = std::vector<std::vector<float>>;

// Outputs of random numbers, and simple code that decodes them to the same objects.
struct DecodeCase {
  const char* name;
  const char* decoder;
  Json params;
  std::vector<BenchOutput> outputs;
  // Decodes in the simplest way: activates all numbers, compares every score, and suppresses boxes
  // in pairs. Returns the number of objects.
  std::function<size_t(const PlainOutputs& outputs, float threshold)> plain;
};

const Json kImage = {640, 640};

DecodeCase grid_case() {
  PlainBoxes plain{85, 5, 80, false, true};
  return {"grid (YOLOX)",
          "grid",
          {{"image", kImage},
           {"strides", {8, 16, 32}},
           {"objectness_score", "sigmoid"},
           {"score", "sigmoid"}},
          {{"o", {1, 8400, 85}, -6, 2}},
          plain};
}

DecodeCase boxes_case() {
  PlainBoxes plain{84, 4, 80, true, false};
  return {"boxes (YOLOv8)",
          "boxes",
          {{"image", kImage}, {"parts", {"boxes+scores"}}, {"score", "sigmoid"}},
          {{"o", {1, 84, 8400}, -8, 2}},
          plain};
}

DecodeCase anchors_case() {
  PlainBoxes plain{85, 5, 80, true, true};
  return {"anchors (YOLOv5)",
          "anchors",
          {{"image", kImage},
           {"strides", {16}},
           {"anchors", {{30, 61, 62, 45, 59, 119}}},
           {"box", "yolo-scaled"},
           {"objectness_score", "sigmoid"},
           {"score", "sigmoid"}},
          {{"o", {1, 255, 40, 40}, -6, 2}},
          plain};
}

DecodeCase ssd_case() {
  PlainBoxes plain{6, 5, 1, false, false};
  return {"ssd (RetinaFace)",
          "ssd",
          {{"parts", {"boxes+scores"}},
           {"num_classes", 2},
           {"background_label_id", 0},
           {"score", "sigmoid"},
           {"anchors",
            {{"rule", "min-boxes"},
             {"image", kImage},
             {"strides", {8, 16, 32}},
             {"min_boxes", {{16, 32}, {64, 128}, {256, 512}}}}}},
          {{"o", {1, 16800, 6}, -6, 2}},
          plain};
}

// 200 rows of a DetectionOutput layer, all of them used.
DecodeCase rows_case() {
  auto row = [](size_t at, float random) {
    constexpr size_t kRow = 7;
    const float place = static_cast<float>(at / kRow) / 256;
    const float numbers[kRow] = {0, 1, std::abs(random), place, place, place + 0.1f, place + 0.2f};
    return numbers[at % kRow];
  };
  return {"detection-output",
          "detection-output",
          Json::object(),
          {{"o", {1, 1, 200, 7}, 0, 0.3f, row}},
          plain_rows};
}

DecodeCase centres_case() {
  return {"heatmap-centres",
          "heatmap-centres",
          {{"image", {512, 512}},
           {"stride", 4},
           {"num_classes", 80},
           {"score", "sigmoid"},
           {"nms_threshold", 1}},
          {{"hm", {1, 80, 128, 128}, -8, 2},
           {"wh", {1, 2, 128, 128}, 10, 3},
           {"off", {1, 2, 128, 128}, 0.5f, 0.1f}},
          plain_centres};
}

DecodeCase segmentation_case() {
  return {
      "segmentation", "segmentation", Json::object(), {{"o", {1, 19, 256, 512}, 0, 1}}, plain_map};
}

DecodeCase heatmaps_case() {
  return {"keypoints (maps)",
          "keypoints",
          {{"form", "heatmaps"}, {"skeleton", "coco-17"}},
          {{"o", {1, 17, 64, 48}, 0.1f, 0.1f}},
          plain_heatmaps};
}

DecodeCase simcc_case() {
  return {"keypoints (SimCC)",
          "keypoints",
          {{"form", "simcc"}, {"skeleton", "coco-17"}},
          {{"x", {1, 17, 384}, 0.1f, 0.1f}, {"y", {1, 17, 512}, 0.1f, 0.1f}},
          plain_simcc};
}

DecodeCase coordinates_case() {
  return {"keypoints (face)",
          "keypoints",
          {{"form", "coordinates"},
           {"skeleton", "face-468"},
           {"point_size", 3},
           {"unit", "pixels"},
           {"image", {192, 192}}},
          {{"o", {1, 1404}, 96, 30}},
          plain_coordinates};
}

// Words: bars of 40 x 8 cells in every other block of 64 x 32.
DecodeCase text_case() {
  auto bar = [](size_t at, float random) {
    const size_t x = at % 640 % 64, y = at / 640 % 32;
    return x < 40 && y < 8 ? 0.8f + 0.05f * random : 0.05f * std::abs(random);
  };
  return {"db (PaddleOCR)",
          "db",
          Json::object(),
          {{"o", {1, 1, 640, 640}, 0, 1, bar}},
          PlainRegions{640, 640, 0.3f}};
}

DecodeCase line_case() {
  Json alphabet = Json::array();
  for (int i = 0; i < 6624; ++i) alphabet.push_back("a");
  return {"ctc (PaddleOCR)",
          "ctc",
          {{"alphabet", alphabet}, {"score", "softmax"}},
          {{"o", {1, 40, 6625}, 0, 2}},
          PlainText{6625}};
}

std::vector<DecodeCase> whole_cases() {
  return {{"classification",
           "classification",
           {{"softmax", true}},
           {{"o", {1, 1000}, 0, 3}},
           plain_classes},
          {"embedding", "embedding", Json::object(), {{"o", {1, 512}, 0, 1}}, plain_embedding},
          {"number (age)",
           "number",
           {{"names", {"age"}}, {"expectation", true}, {"score", "softmax"}},
           {{"o", {1, 101}, 0, 2}},
           plain_expectation}};
}

// Returns at least one case for each decoder but "none", which does nothing.
std::vector<DecodeCase> decode_cases() {
  std::vector<DecodeCase> cases = {grid_case(),         anchors_case(),  ssd_case(),
                                   boxes_case(),        centres_case(),  rows_case(),
                                   segmentation_case(), heatmaps_case(), simcc_case(),
                                   coordinates_case(),  text_case(),     line_case()};
  for (DecodeCase& whole : whole_cases()) cases.push_back(std::move(whole));
  return cases;
}

// Returns an output in half precision, as devices write it.
std::vector<uint8_t> random_output(const BenchOutput& spec) {
  const TensorDesc desc{ElementType::kFloat16, Layout::kNchw, spec.shape};
  std::mt19937 random(1);
  std::normal_distribution<float> number(spec.mean, spec.spread);
  std::vector<float> values(spec.shape.count());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = number(random);
    if (spec.number) values[i] = spec.number(i, values[i]);
  }
  std::vector<uint8_t> bytes(desc.bytes());
  write_nchw(values.data(), {desc, bytes.data()});
  return bytes;
}

// Runs the simple code, which begins by converting all numbers to floats.
size_t decode_plainly(const DecodeCase& c, const std::vector<ConstTensorView>& views,
                      float threshold) {
  PlainOutputs outputs;
  for (const ConstTensorView& view : views) {
    outputs.emplace_back(view.desc.shape.count());
    read_nchw(view, outputs.back().data());
  }
  return c.plain(outputs, threshold);
}

double microseconds(const std::function<void()>& work, int rounds) {
  constexpr double kPerMillisecond = 1000;
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) times.push_back(time_ms(work) * kPerMillisecond);
  return median(std::move(times));
}

Status bench(const DecodeCase& c, int rounds, BarPlot::Panel* panel) {
  std::vector<decode::NamedOutput> named;
  std::vector<std::vector<uint8_t>> memory;
  std::vector<ConstTensorView> views;
  for (const BenchOutput& spec : c.outputs) {
    memory.push_back(random_output(spec));
    named.push_back({spec.name, {ElementType::kFloat16, Layout::kNchw, spec.shape}});
    views.push_back({named.back().desc, memory.back().data()});
  }
  DVNN_ASSIGN(const auto decoder, decode::create_decoder(c.decoder, c.params, named));
  for (const float threshold : {0.01f, 0.5f}) {
    objects::Objects found;
    Status status;
    const double ours = microseconds(
        [&] {
          found.clear();
          status = decoder->decode(views, threshold, &found);
        },
        rounds);
    DVNN_TRY(status);
    size_t kept = 0;
    const double plain =
        microseconds([&] { kept = decode_plainly(c, views, threshold); }, std::max(1, rounds / 4));
    std::printf("%-20s %-12s %4.2f %8zu %10.1f %10.1f %8.1f\n", c.name,
                c.outputs[0].shape.to_string().c_str(), double{threshold}, found.size(), ours,
                plain, plain / ours);
    panel->rows.push_back(
        {format("%s, from %.2f", c.name, double{threshold}), {ours / 1e3, plain / 1e3}});
  }
  return {};
}

// Returns candidates of one class: objects spread over a frame, or a few objects with many boxes
// each.
std::vector<kernels::Box> candidate_boxes(size_t count, bool crowded) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> number(0, 1);
  constexpr size_t kThings = 20;
  const float side = crowded ? 0.2f : 0.7f / std::sqrt(static_cast<float>(count));
  std::vector<kernels::Box> boxes;
  for (size_t i = 0; i < count; ++i) {
    float x = number(random), y = number(random);
    if (crowded && i >= kThings) {
      x = boxes[i % kThings].x0 + 0.02f * x;
      y = boxes[i % kThings].y0 + 0.02f * y;
    }
    boxes.push_back({x, y, x + side, y + side});
  }
  return boxes;
}

void bench_suppression(size_t count, bool crowded, int rounds) {
  const std::vector<kernels::Box> boxes = candidate_boxes(count, crowded);
  std::vector<kernels::Candidate> all, left;
  for (size_t i = 0; i < count; ++i) {
    all.push_back({static_cast<float>(i * 7919 % count), static_cast<int>(i)});
  }
  kernels::KeptBoxes kept;
  const double ours = microseconds(
      [&] {
        left = all;
        kernels::suppress_non_maxima(boxes, {}, &left, &kept);
      },
      rounds);
  const double plain = microseconds(
      [&] {
        left = all;
        kernels::plain::suppress_non_maxima(boxes, {}, &left);
      },
      std::max(1, rounds / 4));
  std::printf("%-20s %-12zu %4s %8zu %10.1f %10.1f %8.1f\n", "suppression", count,
              crowded ? "20" : "all", left.size(), ours, plain, plain / ours);
}

int bench_decoders(const Arguments& arguments) {
  const int rounds = arguments.number("rounds");
  if (!arguments.files().empty() || rounds < 1) {
    return wrong_usage(arguments.command(), "takes no arguments, and at least one round");
  }
  std::printf("%-20s %-12s %4s %8s %10s %10s %8s\n", "decoder", "output", "at", "objects", "us",
              "plain us", "ratio");
  // Logarithmic, as times are from fractions of a microsecond to many milliseconds.
  BarPlot plot = {"Decoders, by threshold",
                  {"ours", "plain code"},
                  {{"Time (logarithmic)", {}}},
                  BarPlot::Scale::kLogarithmic};
  for (const DecodeCase& c : decode_cases()) {
    if (Status s = bench(c, rounds, &plot.panels.front()); !s.ok())
      return fail(s.error().within(c.name));
  }
  if (Status s = write_plot(arguments.text("plot"), plot); !s.ok()) return fail(s.error());
  std::printf("\n%-20s %-12s %4s %8s %10s %10s %8s\n", "", "candidates", "of", "kept", "us",
              "all pairs", "ratio");
  for (const size_t count : {100, 1000, 5000}) {
    for (const bool crowded : {false, true}) bench_suppression(count, crowded, rounds);
  }
  return 0;
}

constexpr Option kBenchDecodeOptions[] = {
    {"rounds", 'n', Takes::kNumber, "N", "Times that each decoder runs; the median counts", "40"},
    kPlotOption};

}  // namespace

const Command kBenchDecodeCommand = {
    "bench decode",
    "time decoders against plain code",
    "",
    "Times decoders at a low and a high threshold against plain code.",
    kBenchDecodeOptions,
    bench_decoders};

}  // namespace dvnn::tools
