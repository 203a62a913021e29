// SPDX-License-Identifier: Apache-2.0
// Layers with a parameter per channel: PReLU and Scale.
#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

constexpr size_t kMaxChannels = 1 << 20;

// y = x * (x > 0 ? positive[c] : negative[c]) + bias[c]
struct ChannelLine {
  std::vector<float> positive, negative, bias;
};

// Tells whether the channels are the second axis, as in chains of single elements
// (elementwise.cpp).
bool suits_chain(const Shape& shape, int axis) {
  return axis == std::min(1, shape.rank - 1);
}

LayerResult create_chain(std::vector<std::vector<float>> constants,
                         std::vector<ElementwiseAttributes::Step> steps,
                         Span<const TensorDesc> inputs, Span<const TensorDesc> outputs) {
  ElementwiseAttributes chain;
  chain.constants = std::move(constants);
  chain.steps = std::move(steps);
  return chain.create(inputs, outputs);
}

ElementwiseAttributes::Step combine(kernels::Operation operation, int x, int y) {
  ElementwiseAttributes::Step step;
  step.combines = true;
  step.operation = operation;
  step.x = x;
  step.y = y;
  return step;
}

class PerChannel final : public CpuLayer {
 public:
  PerChannel(ChannelLine line, int axis, const TensorDesc& input, const TensorDesc& output)
      : line_(std::move(line)),
        split_(split_at(input.shape, axis)),
        reader_(input),
        writer_(output) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const float* in = reader_.read(inputs[0]);
    float* out = writer_.begin(outputs[0]);
    for (size_t o = 0; o < split_.outer; ++o) {
      for (size_t c = 0; c < split_.count; ++c) {
        for (size_t i = 0; i < split_.inner; ++i, ++in, ++out) {
          *out = *in * (*in > 0 ? line_.positive[c] : line_.negative[c]) + line_.bias[c];
        }
      }
    }
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  ChannelLine line_;
  AxisSplit split_;
  FloatReader reader_;
  FloatWriter writer_;
};

// The list for all channels: as given, one value for all, or the default if absent.
Result<std::vector<float>> per_channel(std::vector<float> list, const char* name, size_t channels,
                                       float fallback) {
  if (list.empty()) list.push_back(fallback);
  if (list.size() == 1) list.resize(channels, list[0]);
  if (list.size() != channels) {
    return Error{ErrorCode::kMalformed,
                 format("field '%s' has %zu values for %zu channels", name, list.size(), channels)};
  }
  return list;
}

}  // namespace

Result<PreluAttributes> PreluAttributes::parse(const Json& params) {
  JsonReader in(params, kName);
  PreluAttributes a;
  a.slope = in.numbers("slope", kMaxChannels);
  DVNN_TRY(in.status());
  return a;
}

Json PreluAttributes::to_json() const {
  return {{"slope", slope}};
}

DimsResult PreluAttributes::dims_after(Span<const Shape> inputs) const {
  return same_dims(inputs);
}

Cost PreluAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return ElementwiseAttributes().cost(in, out);  // as of the chain that it becomes
}

LayerResult PreluAttributes::create(Span<const TensorDesc> inputs,
                                    Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  const int axis = std::min(1, inputs[0].shape.rank - 1);
  const size_t channels = split_at(inputs[0].shape, axis).count;
  ChannelLine line;
  DVNN_ASSIGN(line.negative, per_channel(slope, "slope", channels, 0));
  if (suits_chain(inputs[0].shape, axis)) {
    return create_chain({std::move(line.negative)}, {combine(kernels::Operation::kPrelu, 0, 1)},
                        inputs, outputs);
  }
  line.positive.assign(channels, 1);
  line.bias.assign(channels, 0);
  return std::unique_ptr<CpuLayer>(new PerChannel(std::move(line), axis, inputs[0], outputs[0]));
}

Result<ScaleAttributes> ScaleAttributes::parse(const Json& params) {
  JsonReader in(params, kName);
  ScaleAttributes a;
  a.axis = parse_axis(&in);
  a.scale = in.numbers("scale", kMaxChannels);
  a.bias = in.numbers("bias", kMaxChannels);
  DVNN_TRY(in.status());
  return a;
}

Json ScaleAttributes::to_json() const {
  Json out = Json::object();
  if (axis) out["axis"] = *axis;
  if (!scale.empty()) out["scale"] = scale;
  if (!bias.empty()) out["bias"] = bias;
  return out;
}

DimsResult ScaleAttributes::dims_after(Span<const Shape> inputs) const {
  return same_dims(inputs);
}

Cost ScaleAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return ElementwiseAttributes().cost(in, out);  // as of the chain that it becomes
}

LayerResult ScaleAttributes::create(Span<const TensorDesc> inputs,
                                    Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  DVNN_ASSIGN(const int along, axis_in(inputs[0].shape, axis));
  const size_t channels = split_at(inputs[0].shape, along).count;
  ChannelLine line;
  DVNN_ASSIGN(line.positive, per_channel(scale, "scale", channels, 1));
  DVNN_ASSIGN(line.bias, per_channel(bias, "bias", channels, 0));
  if (suits_chain(inputs[0].shape, along)) {
    return create_chain(
        {std::move(line.positive), std::move(line.bias)},
        {combine(kernels::Operation::kMul, 0, 1), combine(kernels::Operation::kAdd, 3, 2)}, inputs,
        outputs);
  }
  line.negative = line.positive;
  return std::unique_ptr<CpuLayer>(new PerChannel(std::move(line), along, inputs[0], outputs[0]));
}

}  // namespace dvnn::layers
