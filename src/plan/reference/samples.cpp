// SPDX-License-Identifier: Apache-2.0
#include "plan/reference/measure.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/nth.h"
#include "plan/reference/reference.h"

namespace dvnn::plan {
namespace {

// Takes a few seconds of one core.
constexpr double kMostMacs = 8e9;

double macs_of(const Graph& graph) {
  double macs = 0;
  for (const Node& node : graph.nodes) {
    const double made = static_cast<double>(graph.shape_of(node.output).elements());
    if (node.op == Op::kConvolution && node.run.m > 0) {
      macs += made * static_cast<double>(node.weights.size()) / node.run.m;
    } else if (node.op == Op::kInnerProduct) {
      macs += static_cast<double>(node.weights.size());
    }
  }
  return macs;
}

// Returns whether a graph has layers of users' libraries, which the converter does not load.
bool has_users_layers(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.layer<layers::CustomAttributes>() != nullptr;
  });
}

// Returns pixels 0..255 of every channel: a corner each of noise, a gradient, stripes and blocks of
// one colour, because photographs have all of these.
std::vector<float> seeded_picture(const Shape& shape) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> pixel(0, 255);
  std::vector<float> values;
  values.reserve(shape.count());
  constexpr int kBlock = 16;
  for (int c = 0; c < shape.c(); ++c) {
    for (int y = 0; y < shape.h(); ++y) {
      for (int x = 0; x < shape.w(); ++x) {
        const bool left = 2 * x < shape.w(), above = 2 * y < shape.h();
        const int noise = pixel(random);
        int value = noise;
        if (!left && above) value = 255 * x / shape.w();
        if (left && !above) value = x / kBlock % 2 ? 255 : 0;
        if (!left && !above) value = (x / kBlock * 37 + y / kBlock * 91 + c * 53) % 256;
        values.push_back(static_cast<float>(value));
      }
    }
  }
  return values;
}

// Returns numbers for an input that is not a picture, of a magnitude that layers suit.
std::vector<float> seeded_numbers(const Shape& shape) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(shape.count());
  for (float& value : values) value = normal(random);
  return values;
}

void to_input(const InputSpec& picture, const Shape& shape, std::vector<float>* pixels) {
  const size_t plane = pixels->size() / shape.channels();
  for (size_t i = 0; i < pixels->size(); ++i) {
    const size_t c = i / plane;
    (*pixels)[i] = ((*pixels)[i] - picture.mean[c]) * picture.scale[c];
  }
}

}  // namespace

bool can_be_measured(const Graph& graph) {
  return macs_of(graph) <= kMostMacs && !has_users_layers(graph);
}

Result<std::vector<std::vector<float>>> sample_inputs(const Graph& graph,
                                                      const PlanOptions& options,
                                                      const InputSpec& picture) {
  const Shape input = graph.shape_of(graph.input);
  const bool pictures = is_picture(input);
  std::vector<std::vector<float>> samples;
  if (pictures) samples = options.samples;
  if (samples.empty()) samples = {pictures ? seeded_picture(input) : seeded_numbers(input)};
  for (std::vector<float>& sample : samples) {
    if (static_cast<int64_t>(sample.size()) != input.elements()) {
      return invalid_argument("a sample does not fit the input");
    }
    if (pictures) to_input(picture, input, &sample);
  }
  return samples;
}

Result<std::vector<float>> measure_ranges(const Graph& graph, const PlanOptions& options,
                                          const InputSpec& picture) {
  if (!can_be_measured(graph)) return std::vector<float>();
  DVNN_ASSIGN(const auto samples, sample_inputs(graph, options, picture));
  DVNN_ASSIGN(const auto reference, Reference::over(graph));
  std::vector<float> largest(graph.values.size(), 0.0f);
  // A state takes some frames to grow from its zeros.
  constexpr size_t kFrames = 8;
  const size_t frames =
      graph.extra_inputs.empty() ? samples.size() : std::max(samples.size(), kFrames);
  for (size_t frame = 0; frame < frames; ++frame) {
    DVNN_TRY(check_cancelled(options.cancellation));
    const auto see = [&](int value, const std::vector<float>& numbers) {
      float& most = nth(largest, value);
      for (float v : numbers) {
        if (std::isfinite(v)) most = std::max(most, std::fabs(v));
      }
    };
    DVNN_TRY(reference->run_past(samples[frame % samples.size()].data(), see));
    reference->keep_states();
  }
  return largest;
}

}  // namespace dvnn::plan
