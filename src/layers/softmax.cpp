// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/json.h"
#include "decode/scores.h"
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

class Softmax final : public CpuLayer {
 public:
  Softmax(int axis, const TensorDesc& input, const TensorDesc& output)
      : split_(split_at(input.shape, axis)),
        reader_(input),
        writer_(output),
        column_(split_.inner == 1 ? 0 : split_.count) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const float* in = reader_.read(inputs[0]);
    float* out = writer_.begin(outputs[0]);
    if (in != out) {
      std::memcpy(out, in, split_.outer * split_.count * split_.inner * sizeof(float));
    }
    if (split_.inner == 1) {
      decode::softmax_rows(out, split_.outer, split_.count);
    } else {
      for (size_t o = 0; o < split_.outer; ++o) {
        for (size_t i = 0; i < split_.inner; ++i) {
          column(out + o * split_.count * split_.inner + i);
        }
      }
    }
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  void column(float* first) {
    for (size_t k = 0; k < split_.count; ++k) column_[k] = first[k * split_.inner];
    decode::softmax_rows(column_.data(), 1, split_.count);
    for (size_t k = 0; k < split_.count; ++k) first[k * split_.inner] = column_[k];
  }

  AxisSplit split_;
  FloatReader reader_;
  FloatWriter writer_;
  std::vector<float> column_;
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
