// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
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

Result<ConstantAttributes> ConstantAttributes::parse(const Json& params) {
  constexpr size_t kMaxValues = size_t{1} << 24;
  JsonReader in(params, kName);
  ConstantAttributes a;
  a.values = in.numbers("values", kMaxValues);
  DVNN_TRY(in.status());
  return a;
}

Json ConstantAttributes::to_json() const {
  return {{"values", packed_numbers(values)}};
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
    return Error{ErrorCode::kMalformed, "field 'values' has " + std::to_string(values.size()) +
                                            " numbers, not those of the output " +
                                            outputs[0].shape.to_string()};
  }
  return std::unique_ptr<CpuLayer>(new Constant(values));
}

}  // namespace dvnn::layers
