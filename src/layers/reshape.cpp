// SPDX-License-Identifier: Apache-2.0
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

class Reshape final : public CpuLayer {
 public:
  explicit Reshape(const TensorDesc& input) : reader_(input) {}
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    // Tensors of different element sizes share no memory: the one is written while the other is
    // read.
    if (is_plain_float(outputs[0].desc) && inputs[0].desc.type != ElementType::kFloat32) {
      read_nchw(inputs[0], reinterpret_cast<float*>(outputs[0].data));
    } else {
      write_nchw(reader_.read(inputs[0]), outputs[0]);
    }
    return {};
  }

 private:
  FloatReader reader_;
};

}  // namespace

DVNN_LAYER_FACTORY(create_reshape_layer) {
  (void)params;  // the shapes say it all
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  return std::unique_ptr<CpuLayer>(new Reshape(inputs[0]));
}

}  // namespace dvnn::layers
