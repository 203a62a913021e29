// SPDX-License-Identifier: Apache-2.0
// Decoders on outputs of random numbers, against plain code that copies, transforms and compares
// one number after the other.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "base/format.h"
#include "decode/decoder.h"
#include "kernels/suppression.h"
#include "tools/commands.h"
#include "tools/options.h"
#include "tools/timing.h"

namespace dvnn::tools {
namespace {

using nlohmann::json;

// An output and how its numbers are spread: most of them are low, as a network's are.
struct OutputSpec {
  const char* name;
  Shape shape;
  float mean, spread;
};

struct DecodeCase {
  const char* name;
  const char* decoder;
  json params;
  std::vector<OutputSpec> outputs;
  // What plain code needs to know: values of a row, where scores are, how a score is made.
  size_t columns, first_score, scores;
  bool by_columns, sigmoid, objectness;
};

std::vector<DecodeCase> decode_cases() {
  const json image = {640, 640};
  return {
      {"grid (YOLOX)",
       "grid",
       {{"image", image},
        {"strides", {8, 16, 32}},
        {"objectness_score", "sigmoid"},
        {"score", "sigmoid"}},
       {{"o", {1, 8400, 85}, -6, 2}},
       85,
       5,
       80,
       false,
       true,
       true},
      {"boxes (YOLOv8)",
       "boxes",
       {{"image", image}, {"parts", {"boxes+scores"}}, {"score", "sigmoid"}},
       {{"o", {1, 84, 8400}, -8, 2}},
       84,
       4,
       80,
       true,
       true,
       false},
      {"anchors (YOLOv5)",
       "anchors",
       {{"image", image},
        {"strides", {16}},
        {"anchors", {{30, 61, 62, 45, 59, 119}}},
        {"box", "yolo-scaled"},
        {"objectness_score", "sigmoid"},
        {"score", "sigmoid"}},
       {{"o", {1, 255, 40, 40}, -6, 2}},
       85,
       5,
       80,
       true,
       true,
       true},
      {"ssd (RetinaFace)",
       "ssd",
       {{"parts", {"boxes+scores"}},
        {"num_classes", 2},
        {"background_label_id", 0},
        {"score", "sigmoid"},
        {"anchors",
         {{"rule", "min-boxes"},
          {"image", image},
          {"strides", {8, 16, 32}},
          {"min_boxes", {{16, 32}, {64, 128}, {256, 512}}}}}},
       {{"o", {1, 16800, 6}, -6, 2}},
       6,
       5,
       1,
       false,
       true,
       false},
  };
}

// The output in memory, in half precision as devices give it.
std::vector<uint8_t> random_output(const OutputSpec& spec) {
  const TensorDesc desc{ElementType::kFloat16, Layout::kNchw, spec.shape};
  std::mt19937 random(1);
  std::normal_distribution<float> number(spec.mean, spec.spread);
  std::vector<float> values(static_cast<size_t>(spec.shape.elements()));
  for (float& v : values) v = number(random);
  std::vector<uint8_t> bytes(static_cast<size_t>(desc.bytes()));
  write_nchw(values.data(), {desc, bytes.data()});
  return bytes;
}

// The plain way: everything to float, rows by transposition, every score through its sigmoid, the
// best class of each row, boxes of those above the threshold, suppression of all pairs.
size_t decode_plainly(const DecodeCase& c, const ConstTensorView& view, float threshold) {
  std::vector<float> values(static_cast<size_t>(view.desc.shape.elements()));
  read_nchw(view, values.data());
  const size_t rows = values.size() / c.columns;
  if (c.by_columns) {
    std::vector<float> turned(values.size());
    for (size_t i = 0; i < rows; ++i) {
      for (size_t k = 0; k < c.columns; ++k) turned[i * c.columns + k] = values[k * rows + i];
    }
    values.swap(turned);
  }
  auto sigmoid = [](float x) { return 1 / (1 + std::exp(-x)); };
  std::vector<kernels::Box> boxes;
  std::vector<int> classes;
  std::vector<kernels::Candidate> candidates;
  for (size_t i = 0; i < rows; ++i) {
    const float* row = &values[i * c.columns];
    const float sure = c.objectness ? sigmoid(row[4]) : 1;
    float best = -1;
    int best_class = 0;
    for (size_t k = 0; k < c.scores; ++k) {
      const float score =
          sure * (c.sigmoid ? sigmoid(row[c.first_score + k]) : row[c.first_score + k]);
      if (score > best) {
        best = score;
        best_class = static_cast<int>(k);
      }
    }
    if (!(best >= threshold)) continue;
    const float x = static_cast<float>(i % 80) * 8, y = static_cast<float>(i / 80) * 4;
    candidates.push_back({best, static_cast<int>(boxes.size())});
    boxes.push_back({x + row[0], y + row[1], x + row[0] + 8 * std::exp(row[2]),
                     y + row[1] + 8 * std::exp(row[3])});
    classes.push_back(best_class);
  }
  size_t kept = 0;
  for (size_t k = 0; k < c.scores; ++k) {
    std::vector<kernels::Candidate> own;
    for (const kernels::Candidate& candidate : candidates) {
      if (classes[static_cast<size_t>(candidate.index)] == static_cast<int>(k))
        own.push_back(candidate);
    }
    kernels::plain::suppress_non_maxima(boxes, {}, &own);
    kept += own.size();
  }
  return kept;
}

double microseconds(const std::function<void()>& work, int rounds) {
  constexpr double kPerMillisecond = 1000;
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) times.push_back(time_ms(work) * kPerMillisecond);
  return median(std::move(times));
}

Status bench(const DecodeCase& c, int rounds) {
  std::vector<decode::NamedOutput> named;
  std::vector<std::vector<uint8_t>> memory;
  std::vector<ConstTensorView> views;
  for (const OutputSpec& spec : c.outputs) {
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
    const double plain = microseconds([&] { kept = decode_plainly(c, views[0], threshold); },
                                      std::max(1, rounds / 4));
    std::printf("%-20s %-12s %4.2f %8zu %10.0f %10.0f %8.1f\n", c.name,
                c.outputs[0].shape.to_string().c_str(), double{threshold}, found.size(), ours,
                plain, plain / ours);
  }
  return {};
}

}  // namespace

int bench_decode_command(int argc, char** argv) {
  gint rounds = 40;
  const GOptionEntry entries[] = {
      {"rounds", 'n', 0, G_OPTION_ARG_INT, &rounds,
       "Times that each decoder runs; the median counts (default 40)", "N"},
      {nullptr, 0, 0, G_OPTION_ARG_NONE, nullptr, nullptr, nullptr}};
  auto args = parse_options("", "Times decoders at a low and a high threshold against plain code.",
                            entries, argc, argv);
  if (!args.ok()) return wrong_usage("bench decode", args.error().message);
  if (!args.value().empty() || rounds < 1) {
    return wrong_usage("bench decode", "takes no arguments, and at least one round");
  }
  std::printf("%-20s %-12s %4s %8s %10s %10s %8s\n", "decoder", "output", "at", "objects", "us",
              "plain us", "ratio");
  for (const DecodeCase& c : decode_cases()) {
    if (Status s = bench(c, rounds); !s.ok()) return fail(s.error());
  }
  return 0;
}

}  // namespace dvnn::tools
