// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/json.h"
#include "kernels/softmax.h"
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

class Softmax final : public CpuLayer {
 public:
  Softmax(int axis, const TensorDesc& input, const TensorDesc& output)
      : split_(split_at(input.shape, axis)), reader_(input), writer_(output) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const float* in = reader_.read(inputs[0]);
    float* out = writer_.begin(outputs[0]);
    if (in != out) {
      std::memcpy(out, in, split_.outer * split_.count * split_.inner * sizeof(float));
    }
    kernels::softmax(out, split_.outer, split_.count, split_.inner);
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  AxisSplit split_;
  FloatReader reader_;
  FloatWriter writer_;
};

}  // namespace

DVNN_LAYER_FACTORY(create_softmax_layer) {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  const int rank = inputs[0].shape.rank;
  JsonReader in(params, "Softmax");
  const int axis = static_cast<int>(in.integer("axis", 0, rank - 1, std::min(1, rank - 1)));
  DVNN_TRY(in.status());
  return std::unique_ptr<CpuLayer>(new Softmax(axis, inputs[0], outputs[0]));
}

}  // namespace dvnn::layers
