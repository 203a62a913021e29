// SPDX-License-Identifier: Apache-2.0
#include "layers/attributes/fields.h"
#include "layers/factories.h"

namespace dvnn::layers {
namespace {

class Constant final : public CpuLayer {
 public:
  explicit Constant(std::vector<float> values) : values_(std::move(values)) {}
  Status run(Span<const ConstTensorView>, Span<const TensorView> outputs) override {
    write_nchw(values_.data(), outputs[0]);
    return {};
  }

 private:
  std::vector<float> values_;
};

}  // namespace

void ConstantAttributes::fields(Fields* f) {
  constexpr size_t kMaxValues = size_t{1} << 24;
  f->packed("values", &values, kMaxValues, true);  // masks of attention are -infinity
}

DimsResult ConstantAttributes::dims_after(Span<const Shape>) const {
  return std::vector<int64_t>(shape.dims, shape.dims + shape.rank);
}

Cost ConstantAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out).keep_floats(elements_of(out));
}

LayerResult ConstantAttributes::create(Span<const TensorDesc> inputs,
                                       Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 0, 0, outputs));
  if (static_cast<int64_t>(values.size()) != outputs[0].shape.elements()) {
    return malformed("field 'values' has " + std::to_string(values.size()) +
                     " numbers, not those of the output " + outputs[0].shape.to_string());
  }
  return std::unique_ptr<CpuLayer>(new Constant(values));
}

}  // namespace dvnn::layers
