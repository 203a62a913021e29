// SPDX-License-Identifier: Apache-2.0
#include "base/nth.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"
#include "layers/loops/moves.h"
#include "tensor/tensor.h"

namespace dvnn::layers {
namespace {

// Between two layouts that are both not row-major: goes by way of row-major elements.
class ReorderedReshape final : public CpuLayer {
 public:
  ReorderedReshape(const TensorDesc& input, const TensorDesc& output)
      : reader_(input), writer_(plain_float(output.shape), output) {
    writer_.add(whole_part(output.shape));
  }
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    writer_.run(reinterpret_cast<const uint8_t*>(reader_.read(inputs[0])), outputs[0].data);
    return {};
  }

 private:
  FloatReader reader_;
  Moves writer_;
};

bool is_row_major(const TensorDesc& desc) {
  return desc.layout == Layout::kNchw || !is_float(desc.type);
}

}  // namespace

void ReshapeAttributes::fields(Fields* f) {
  f->integers("dims", &dims, -1, 1 << 28);
}

DimsResult ReshapeAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  const Shape& shape = inputs[0];
  std::vector<int64_t> result(dims.begin(), dims.end());
  int64_t known = 1, left = -1;
  for (size_t i = 0; i < result.size(); ++i) {
    const int axis = static_cast<int>(i);
    if (result[i] == 0) result[i] = axis < shape.rank ? shape[axis] : 1;
    if (result[i] < 0) left = axis;
    if (result[i] > 0 && (known *= result[i]) > kMaxTensorElements) break;
  }
  if (left >= 0 && known <= shape.elements() && shape.elements() % known == 0) {
    nth(result, left) = shape.elements() / known;
    known = shape.elements();
  }
  if (known == shape.elements()) return result;
  return unsupported("does not hold the elements of " + shape.to_string());
}

Cost ReshapeAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out);
}

LayerResult ReshapeAttributes::create(Span<const TensorDesc> inputs,
                                      Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  // Bytes are put in order by read_moved() and finish_moved().
  const TensorDesc &in = inputs[0], &out = outputs[0];
  if (is_row_major(out)) {
    const TensorDesc target = {out.type, Layout::kNchw, in.shape};
    return make_move_layer(in, target, whole_part(in.shape));
  }
  if (is_row_major(in)) {
    const TensorDesc source = {in.type, Layout::kNchw, out.shape};
    return make_move_layer(source, out, whole_part(out.shape));
  }
  return std::unique_ptr<CpuLayer>(new ReorderedReshape(in, out));
}

}  // namespace dvnn::layers
