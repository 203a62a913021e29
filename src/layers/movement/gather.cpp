// SPDX-License-Identifier: Apache-2.0
// Elements by their indices, and repeated arrays.
#include <algorithm>

#include "base/format.h"
#include "base/nth.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"
#include "layers/loops/moves.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

void GatherAttributes::fields(Fields* f) {
  f->integer("axis", &axis, 0, Shape::kMaxRank - 1);
}

DimsResult GatherAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 2));
  const Shape &in = inputs[0], &places = inputs[1];
  DVNN_TRY(axes_or_all({axis}, in.rank));
  std::vector<int64_t> dims(in.dims, in.dims + axis);
  dims.insert(dims.end(), places.dims, places.dims + places.rank);
  dims.insert(dims.end(), in.dims + axis + 1, in.dims + in.rank);
  return dims;
}

Cost GatherAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return float_layer_cost(in, out);
}

LayerResult GatherAttributes::create(Span<const TensorDesc> inputs,
                                     Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 2, 2, outputs));
  const Shape& shape = inputs[0].shape;
  DVNN_TRY(axes_or_all({axis}, shape.rank));
  const AxisSplit split = split_at(shape, axis);
  const size_t places = inputs[1].shape.count();
  if (outputs[0].shape.elements() != static_cast<int64_t>(split.outer * places * split.inner)) {
    return malformed("the output " + outputs[0].shape.to_string() + " does not fit");
  }
  return make_float_layer(inputs, outputs, [split, places](const float* const* in, float* result) {
    const auto count = static_cast<float>(split.count);
    for (size_t o = 0; o < split.outer; ++o) {
      const float* from = in[0] + o * split.count * split.inner;
      for (size_t p = 0; p < places; ++p, result += split.inner) {
        const float said = in[1][p] < 0 ? in[1][p] + count : in[1][p];
        // NaN is index 0, because it must not be converted to an integer.
        const float place = said >= 0 ? std::min(said, count - 1) : 0.0f;
        const float* element = from + static_cast<size_t>(place) * split.inner;
        std::copy(element, element + split.inner, result);
      }
    }
  });
}

namespace {

// For row-major floats, which are written in their order.
struct TileRows {
  Shape shape, out;
  Strides strides;

  void operator()(const float* const* in, float* result) const {
    const int last = out.rank - 1;
    for_each_row(out, [&](const int* index) {
      const float* from = in[0];
      for (int i = 0; i < last; ++i) from += index[i] % shape[i] * nth(strides, i);
      for (int k = 0; k < out[last]; k += shape[last]) {
        result = std::copy(from, from + shape[last], result);
      }
    });
  }
};

}  // namespace

void TileAttributes::fields(Fields* f) {
  f->integers("repeats", &repeats, 1, kMaxTensorElements);
}

DimsResult TileAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_ASSIGN(auto dims, same_dims(inputs));
  if (repeats.size() != dims.size()) {
    return unsupported(
        format("repeats %zu dimensions of %s", repeats.size(), inputs[0].to_string().c_str()));
  }
  for (size_t i = 0; i < dims.size(); ++i) dims[i] *= repeats[i];
  return dims;
}

Cost TileAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return float_layer_cost(in, out).keep_bytes(part_bytes(out)).keep_bytes(index_bytes(out));
}

LayerResult TileAttributes::create(Span<const TensorDesc> inputs,
                                   Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_result(*this, 1, inputs, outputs));
  const Shape &shape = inputs[0].shape, &out = outputs[0].shape;
  if (is_plain_float(inputs[0]) && is_plain_float(outputs[0])) {
    return make_float_layer(inputs, outputs, TileRows{shape, out, strides_of(shape)});
  }
  AxisPlaces places(repeats.size());
  for (int i = 0; i < out.rank; ++i) {
    for (int k = 0; k < out[i]; ++k) nth(places, i).push_back(k % shape[i]);
  }
  return make_places_layer(inputs, outputs[0], std::move(places), 0);
}

}  // namespace dvnn::layers
