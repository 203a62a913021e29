// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "base/format.h"
#include "base/json.h"
#include "base/names.h"
#include "base/nth.h"
#include "layers/factories.h"
#include "layers/float_layer.h"
#include "layers/strides.h"
#include "tensor/tensor_json.h"

namespace dvnn::layers {
namespace {

constexpr const char* kBorderModes[] = {"constant", "edge", "reflect",
                                        "wrap"};  // in the enum's order

// Returns which element of an axis of `size` stands at `at`, which may lie outside; -1: the value.
int source_of(int64_t at, int64_t size, BorderMode mode) {
  if (at >= 0 && at < size) return static_cast<int>(at);
  switch (mode) {
    case BorderMode::kConstant:
      return -1;
    case BorderMode::kEdge:
      return static_cast<int>(std::clamp<int64_t>(at, 0, size - 1));
    case BorderMode::kWrap:
      return static_cast<int>((at % size + size) % size);
    case BorderMode::kReflect:
      break;
  }
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1), turn = (at % period + period) % period;
  return static_cast<int>(std::min(turn, period - turn));
}

}  // namespace

Result<BorderAttributes> BorderAttributes::parse(const Json& params) {
  constexpr int64_t kMost = kMaxTensorElements;
  JsonReader in(params, kName);
  BorderAttributes a;
  a.before = in.integers("before", -kMost, kMost, Shape::kMaxRank);
  a.after = in.integers("after", -kMost, kMost, Shape::kMaxRank);
  const auto mode = parse_name<BorderMode>(in.text("mode", kBorderModes[0]), kBorderModes, "mode");
  if (!mode.ok()) in.fail("mode", mode.error().message);
  a.value = static_cast<float>(in.number("value", 0));
  DVNN_TRY(in.status());
  a.mode = mode.value();
  return a;
}

Json BorderAttributes::to_json() const {
  return {
      {"before", before}, {"after", after}, {"mode", nth(kBorderModes, mode)}, {"value", value}};
}

DimsResult BorderAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_ASSIGN(auto dims, same_dims(inputs));
  if (before.size() != dims.size() || after.size() != dims.size()) {
    return Error{ErrorCode::kUnsupported, format("has borders of %zu axes for %s", before.size(),
                                                 inputs[0].to_string().c_str())};
  }
  for (size_t i = 0; i < dims.size(); ++i) dims[i] += int64_t{before[i]} + after[i];
  return dims;
}

LayerResult BorderAttributes::create(Span<const TensorDesc> inputs,
                                     Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_result(*this, 1, inputs, outputs));
  const Shape &shape = inputs[0].shape, &out = outputs[0].shape;
  std::vector<std::vector<int>> sources(before.size());  // per axis
  for (size_t i = 0; i < sources.size(); ++i) {
    const int axis = static_cast<int>(i);
    for (int64_t k = 0; k < out[axis]; ++k) {
      sources[i].push_back(source_of(k - before[i], shape[axis], mode));
    }
  }
  return make_float_layer(inputs, outputs,
                          [sources = std::move(sources), out, strides = strides_of(shape),
                           value = value](const float* const* in, float* result) {
                            const size_t last = out.axes() - 1;
                            for_each_row(out, [&](const int* index) {
                              int64_t at = 0;
                              bool outside = false;
                              for (size_t i = 0; i < last; ++i) {
                                const int source = nth(sources[i], index[i]);
                                outside |= source < 0;
                                at += source * strides[i];
                              }
                              for (int source : sources[last]) {
                                *result++ = outside || source < 0 ? value : in[0][at + source];
                              }
                            });
                          });
}

}  // namespace dvnn::layers
