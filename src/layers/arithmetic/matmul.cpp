// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "layers/factories.h"
#include "layers/float_layer.h"
#include "layers/strides.h"

namespace dvnn::layers {
namespace {

struct Product {
  int64_t m, k, n;
  std::vector<uint32_t> first, second;  // where each pair of matrices begins
};

// Returns the dimensions in front of the matrices.
Shape batch_of(const Shape& shape) {
  Shape batch = shape;
  batch.rank -= 2;
  if (batch.rank == 0) return {1};
  return batch;
}

void multiply(const Product& p, const float* a, const float* b, float* out) {
  std::fill(out, out + p.m * p.n, 0.0f);
  for (int64_t i = 0; i < p.m; ++i, a += p.k, out += p.n) {
    for (int64_t k = 0; k < p.k; ++k) {
      const float x = a[k];
      const float* row = b + k * p.n;
      for (int64_t j = 0; j < p.n; ++j) out[j] += x * row[j];
    }
  }
}

}  // namespace

Result<MatMulAttributes> MatMulAttributes::parse(const nlohmann::json&) {
  return MatMulAttributes();
}

nlohmann::json MatMulAttributes::to_json() const {
  return nlohmann::json::object();
}

DimsResult MatMulAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 2));
  const Shape &a = inputs[0], &b = inputs[1];
  if (inputs.size() != 2 || a.rank < 2 || b.rank < 2 || a[a.rank - 1] != b[b.rank - 2]) {
    return Error{ErrorCode::kUnsupported,
                 a.to_string() + " and " + b.to_string() + " have no product"};
  }
  std::vector<int64_t> dims;
  const int rank = std::max(a.rank, b.rank);
  for (int i = rank; i > 2; --i) {
    const int x = i <= a.rank ? a[a.rank - i] : 1, y = i <= b.rank ? b[b.rank - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return Error{ErrorCode::kUnsupported,
                   a.to_string() + " and " + b.to_string() + " do not go together"};
    }
    dims.push_back(std::max(x, y));
  }
  dims.push_back(a[a.rank - 2]);
  dims.push_back(b[b.rank - 1]);
  return dims;
}

LayerResult MatMulAttributes::create(Span<const TensorDesc> inputs,
                                     Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_result(*this, 2, inputs, outputs));
  const Shape shapes[] = {inputs[0].shape, inputs[1].shape};
  const Shape& out = outputs[0].shape;
  Product product = {};
  product.m = out[out.rank - 2];
  product.n = out[out.rank - 1];
  product.k = shapes[0][shapes[0].rank - 1];
  const Shape batch = batch_of(out);
  auto begins = [&](const Shape& shape, std::vector<uint32_t>* list) {
    Strides strides = broadcast_strides(batch_of(shape), batch);
    const int64_t matrix = int64_t{shape[shape.rank - 1]} * shape[shape.rank - 2];
    for (int64_t& stride : strides) stride *= matrix;
    walk(batch, strides, 0, [&](int64_t at) { list->push_back(static_cast<uint32_t>(at)); });
  };
  begins(shapes[0], &product.first);
  begins(shapes[1], &product.second);
  return make_float_layer(inputs, outputs,
                          [p = std::move(product)](const float* const* in, float* result) {
                            for (size_t i = 0; i < p.first.size(); ++i) {
                              multiply(p, in[0] + p.first[i], in[1] + p.second[i],
                                       result + static_cast<int64_t>(i) * p.m * p.n);
                            }
                          });
}

}  // namespace dvnn::layers
