// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

class Concat final : public CpuLayer {
 public:
  Concat(int axis, Span<const TensorDesc> inputs, const TensorDesc& output)
      : out_(split_at(output.shape, axis)), writer_(output) {
    for (const TensorDesc& in : inputs) {
      parts_.push_back(split_at(in.shape, axis));
      readers_.emplace_back(in);
    }
  }

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    float* out = writer_.begin(outputs[0]);
    size_t at = 0;  // along the axis
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (out_.outer == 1) {  // goes to its place as it is converted
        float* to = out + at * out_.inner;
        if (reinterpret_cast<const float*>(inputs[i].data) != to) read_nchw(inputs[i], to);
      } else {
        copy_blocks(readers_[i].read(inputs[i]), parts_[i].count * out_.inner,
                    out + at * out_.inner);
      }
      at += parts_[i].count;
    }
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  void copy_blocks(const float* in, size_t block, float* out) const {
    for (size_t o = 0; o < out_.outer; ++o) {
      float* to = out + o * out_.count * out_.inner;
      if (to != in) std::memcpy(to, in + o * block, block * sizeof(float));
    }
  }

  AxisSplit out_;
  std::vector<AxisSplit> parts_;
  std::vector<FloatReader> readers_;
  FloatWriter writer_;
};

}  // namespace

Result<ConcatAttributes> ConcatAttributes::parse(const nlohmann::json& params) {
  JsonReader in(params, kName);
  ConcatAttributes a;
  a.axis = static_cast<int>(in.integer("axis", 0, Shape::kMaxRank - 1, 1));
  DVNN_TRY(in.status());
  return a;
}

nlohmann::json ConcatAttributes::to_json() const {
  return {{"axis", axis}};
}

DimsResult ConcatAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_ASSIGN(auto dims, same_dims(inputs));
  const Shape& first = inputs[0];
  if (axis >= first.rank) {
    return Error{ErrorCode::kUnsupported, "the axis does not exist in " + first.to_string()};
  }
  nth(dims, axis) = 0;
  for (Shape shape : inputs) {
    const std::string text = shape.to_string();
    if (shape.rank == first.rank) {
      nth(dims, axis) += shape[axis];
      shape[axis] = first[axis];
    }
    if (shape != first) {
      return Error{ErrorCode::kUnsupported,
                   text + " does not fit " + first.to_string() + format(" along axis %d", axis)};
    }
  }
  return dims;
}

LayerResult ConcatAttributes::create(Span<const TensorDesc> inputs,
                                     Span<const TensorDesc> outputs) const {
  constexpr size_t kMaxInputs = 1024;
  DVNN_TRY(expect_arity(inputs, 1, kMaxInputs, outputs));
  const Shape& shape = outputs[0].shape;
  int sum = 0;
  for (const TensorDesc& input : inputs) {
    bool fits = input.shape.rank == shape.rank && axis < shape.rank;
    for (int i = 0; fits && i < shape.rank; ++i) fits = i == axis || input.shape[i] == shape[i];
    if (!fits) {
      return Error{ErrorCode::kMalformed, "input shape " + input.shape.to_string() +
                                              " does not fit the output's " + shape.to_string()};
    }
    sum += input.shape[axis];
  }
  if (sum != shape[axis]) {
    return Error{ErrorCode::kMalformed, "the inputs do not fill the output's axis"};
  }
  return std::unique_ptr<CpuLayer>(new Concat(axis, inputs, outputs[0]));
}

}  // namespace dvnn::layers
