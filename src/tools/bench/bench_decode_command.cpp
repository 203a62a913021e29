// SPDX-License-Identifier: Apache-2.0
// Decoders on outputs of random numbers, compared with simple code that copies, activates and
// compares number by number; and suppression, compared with all pairs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>

#include "base/format.h"
#include "base/json.h"
#include "decode/decoder.h"
#include "kernels/boxes/suppression.h"
#include "tools/bench/bench_decode_cases.h"
#include "tools/bench/plot.h"
#include "tools/commands.h"
#include "tools/options.h"
#include "tools/timing.h"

namespace dvnn::tools {
namespace {

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
