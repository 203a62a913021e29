// SPDX-License-Identifier: Apache-2.0
#include "layers/cost.h"

#include <algorithm>

#include "base/budget.h"
#include "base/json.h"
#include "base/saturate.h"
#include "decode/ssd.h"
#include "layers/attributes.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

uint64_t sum(uint64_t a, uint64_t b) {
  return saturating_sum(a, b);
}

uint64_t product(uint64_t a, uint64_t b) {
  return saturating_product(a, b);
}

uint64_t elements(const TensorDesc& desc) {
  return static_cast<uint64_t>(std::max<int64_t>(desc.shape.elements(), 0));
}

uint64_t floats(uint64_t count) {
  return product(count, sizeof(float));
}

// A parameter if it is a whole number in 1..2^28.
uint64_t count_of(JsonReader* params, const char* name) {
  constexpr int64_t kLargest = int64_t{1} << 28;
  const nlohmann::json* value = params->member(name);
  if (!value || !value->is_number_integer()) return 1;
  return static_cast<uint64_t>(params->integer(name, 1, kLargest, 1));
}

void add_pooling(JsonReader* params, const Shape& in, const Shape& out, Cost* cost) {
  if (in.rank != 4 || out.rank != 4) return;
  const auto w = static_cast<uint64_t>(in.w()), h = static_cast<uint64_t>(in.h());
  const bool global = params->boolean("global", false);
  const uint64_t x = global ? w : std::min(count_of(params, "kernel_w"), w);
  const uint64_t y = global ? h : std::min(count_of(params, "kernel_h"), h);
  cost->work = sum(cost->work, product(static_cast<uint64_t>(out.elements()), product(x, y)));
}

void add_convolution(JsonReader* params, const Shape& in, const Shape& out, Cost* cost) {
  if (in.rank != 4 || out.rank != 4) return;
  const uint64_t channels =
      std::max<uint64_t>(static_cast<uint64_t>(in.c()) / count_of(params, "groups"), 1);
  const uint64_t area = product(count_of(params, "kernel_w"), count_of(params, "kernel_h"));
  cost->work =
      sum(cost->work, product(static_cast<uint64_t>(out.elements()), product(channels, area)));
  cost->kept_bytes = sum(cost->kept_bytes,
                         floats(product(static_cast<uint64_t>(out.c()), product(channels, area))));
  if (!params->boolean("transposed", false)) return;
  // The size of the input with stride - 1 zeros between its pixels.
  const uint64_t w = product(static_cast<uint64_t>(in.w()), count_of(params, "stride_w"));
  const uint64_t h = product(static_cast<uint64_t>(in.h()), count_of(params, "stride_h"));
  const uint64_t wide = product(static_cast<uint64_t>(in.c()), product(w, h));
  cost->shared_bytes = sum(cost->shared_bytes, floats(wide));
  cost->work = sum(cost->work, wide);
}

void add_detection_output(const nlohmann::json& params, const TensorDesc& priors, Cost* cost) {
  constexpr uint64_t kBytesPerPrior = 128;  // priors twice, boxes, candidates and results
  const uint64_t count = elements(priors) / 8;
  cost->kept_bytes = sum(cost->kept_bytes, product(count, kBytesPerPrior));
  const auto ssd = decode::parse_ssd_params(params, "");
  if (ssd.ok()) cost->candidates = decode::count_candidates(ssd.value(), count);
}

// What a result of a layer's takes beside one look at each input: taps of windows, products. Layers
// without a line here take no more.
template <typename Attributes>
uint64_t taps_of(const Attributes&, Span<const TensorDesc>) {
  return 1;
}

uint64_t taps_of(const MatMulAttributes&, Span<const TensorDesc> inputs) {
  if (inputs.size() == 0) return 1;
  const Shape& shape = inputs[0].shape;
  return shape.rank > 0 ? static_cast<uint64_t>(std::max(shape[shape.rank - 1], 1)) : 1;
}

uint64_t taps_of(const LrnAttributes& lrn, Span<const TensorDesc>) {
  return static_cast<uint64_t>(lrn.size);
}

uint64_t taps_of(const GridSampleAttributes&, Span<const TensorDesc>) {
  return 64;  // four along each of three axes
}

uint64_t taps_of(const WindowPoolAttributes& pool, Span<const TensorDesc>) {
  uint64_t taps = 1;
  for (int size : pool.kernel) taps = product(taps, static_cast<uint64_t>(size));
  return taps;
}

uint64_t taps_of(const ResizeAttributes& resize, Span<const TensorDesc>) {
  // Four along each axis that changes; with antialiasing, as many as fall together.
  double most = 1;
  for (float scale : resize.scales) most = std::max(most, 1 / static_cast<double>(scale));
  constexpr uint64_t kPerAxis = 4 * Shape::kMaxRank;
  return resize.antialias ? product(kPerAxis, static_cast<uint64_t>(std::min(most, 1e9)))
                          : kPerAxis;
}

// Layers that are functions of whole tensors (float_layer.h): a result of their own, and lists of
// where each element is.
void add_float_layer(const std::string& type, const nlohmann::json& params,
                     Span<const TensorDesc> inputs, uint64_t made, Cost* cost) {
  cost->shared_bytes = sum(cost->shared_bytes, product(3, floats(made)));
  cost->kept_bytes = sum(cost->kept_bytes, floats(made));
  for (const TensorDesc& desc : inputs) {
    cost->kept_bytes = sum(cost->kept_bytes, floats(elements(desc)));
  }
  const auto attributes = parse_layer(type, params);
  if (!attributes.ok()) return;  // which is told when it is made
  const uint64_t taps =
      std::visit([&](const auto& a) { return taps_of(a, inputs); }, attributes.value());
  cost->work = sum(cost->work, product(made, taps));
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  kept_bytes = sum(kept_bytes, other.kept_bytes);
  shared_bytes = std::max(shared_bytes, other.shared_bytes);
  work = sum(work, other.work);
  candidates = sum(candidates, other.candidates);
  return *this;
}

Cost cost_of(const std::string& type, const nlohmann::json& params, Span<const TensorDesc> inputs,
             Span<const TensorDesc> outputs) {
  // Most layers keep their inputs and results as row-major floats, unless those are row-major
  // already.
  Cost cost;
  for (const TensorDesc& desc : inputs) {
    cost.work = sum(cost.work, elements(desc));
    if (!is_plain_float(desc)) cost.shared_bytes = sum(cost.shared_bytes, floats(elements(desc)));
  }
  uint64_t made = 0;
  for (const TensorDesc& desc : outputs) {
    made = sum(made, elements(desc));
    if (!is_plain_float(desc)) cost.shared_bytes = sum(cost.shared_bytes, floats(elements(desc)));
  }
  cost.work = sum(cost.work, made);
  JsonReader in(params, type);
  const bool one_to_one = inputs.size() == 1 && outputs.size() == 1;
  const uint64_t result = floats(made);
  if (type == "Binary" || type == "Slice" || type == "Eltwise") {
    cost.shared_bytes = sum(cost.shared_bytes, result);
  }
  if (type == "Binary") {  // an index for each operand that repeats
    for (const TensorDesc& desc : inputs) {
      if (elements(desc) != made) cost.kept_bytes = sum(cost.kept_bytes, result);
    }
  } else if (type == "Slice" || type == "Constant" || type == "Pad" || type == "Normalize" ||
             type == "Softmax" || type == "PriorBox") {
    cost.kept_bytes = sum(cost.kept_bytes, result);
  } else if (type == "Pooling" && one_to_one) {
    add_pooling(&in, inputs[0].shape, outputs[0].shape, &cost);
  } else if (type == "Convolution" && one_to_one) {
    add_convolution(&in, inputs[0].shape, outputs[0].shape, &cost);
  } else if (type == "DetectionOutput" && inputs.size() == 3) {
    add_detection_output(params, inputs[2], &cost);
  } else if (is_float_layer(type)) {
    add_float_layer(type, params, inputs, made, &cost);
  }
  return cost;
}

Status check_cost(const Cost& cost, const std::string& whose) {
  DVNN_TRY(check_budget(Budget::kScratchBytes, sum(cost.kept_bytes, cost.shared_bytes),
                        whose + " take memory of their own (bytes)"));
  DVNN_TRY(check_budget(Budget::kCpuWork, cost.work, whose + " read, write and multiply elements"));
  return check_budget(Budget::kCandidates, cost.candidates,
                      whose + " look for boxes that overlap among candidates");
}

}  // namespace dvnn::layers
