// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/numbers.h"
#include "base/share.h"
#include "kernels/arithmetic/reductions.h"
#include "kernels/movement/movement.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {
namespace {

struct Product {
  int64_t m, k, n;
  std::vector<uint32_t> first, second;  // offsets of each pair of matrices
};

// Returns the dimensions in front of the matrices.
Shape batch_of(const Shape& shape) {
  Shape batch = shape;
  batch.rank -= 2;
  if (batch.rank == 0) return {1};
  return batch;
}

// Products with few columns are computed transposed, (b a) of transposed matrices: the same
// products and sums.
constexpr int64_t kFewColumns = 8;

void turn_matrix(const float* from, float* to, int64_t rows, int64_t columns) {
  kernels::transpose(from, to, static_cast<size_t>(rows), static_cast<size_t>(columns));
}

// Computes rows of one product; threads share them.
void multiply(const float* a, const float* b, float* to, int64_t m, int64_t k, int64_t n) {
  constexpr int64_t kTaskProducts = 1 << 16, kRows = 4;
  const int64_t worth = kTaskProducts / std::max<int64_t>(1, k * n) / kRows * kRows;
  const int64_t rows = std::max(kRows, worth);
  share(static_cast<int>((m + rows - 1) / rows), [&](int task) {
    const int64_t first = task * rows, some = std::min(rows, m - first);
    kernels::multiply(a + first * k, b, to + first * n, static_cast<size_t>(some),
                      static_cast<size_t>(k), static_cast<size_t>(n));
  });
}

void multiply_all(const Product& p, const float* a, const float* b, float* to) {
  const bool turns = p.n < kFewColumns && p.m > p.n;
  const auto floats = [](int64_t rows, int64_t columns) {
    return Workspace::current().floats(static_cast<size_t>(rows * columns));
  };
  float* const turned_a = turns ? floats(p.m, p.k) : nullptr;
  float* const turned_b = turns ? floats(p.k, p.n) : nullptr;
  float* const turned = turns ? floats(p.m, p.n) : nullptr;
  for (size_t i = 0; i < p.first.size(); ++i, to += p.m * p.n) {
    const float *x = a + p.first[i], *y = b + p.second[i];
    if (!turns) {
      multiply(x, y, to, p.m, p.k, p.n);
      continue;
    }
    turn_matrix(x, turned_a, p.m, p.k);
    turn_matrix(y, turned_b, p.k, p.n);
    multiply(turned_b, turned_a, turned, p.n, p.k, p.m);
    turn_matrix(turned, to, p.n, p.m);
  }
}

}  // namespace

void MatMulAttributes::fields(Fields*) {}

DimsResult MatMulAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 2));
  const Shape &a = inputs[0], &b = inputs[1];
  if (inputs.size() != 2 || a.rank < 2 || b.rank < 2 || a[a.rank - 1] != b[b.rank - 2]) {
    return unsupported(a.to_string() + " and " + b.to_string() + " have no product");
  }
  std::vector<int64_t> dims;
  const int rank = std::max(a.rank, b.rank);
  for (int i = rank; i > 2; --i) {
    const int x = i <= a.rank ? a[a.rank - i] : 1, y = i <= b.rank ? b[b.rank - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return unsupported(a.to_string() + " and " + b.to_string() + " do not go together");
    }
    dims.push_back(std::max(x, y));
  }
  dims.push_back(a[a.rank - 2]);
  dims.push_back(b[b.rank - 1]);
  return dims;
}

Cost MatMulAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  const uint64_t made = elements_of(out), length = in.empty() ? 1 : last_extent(in[0].shape);
  // Transposed copies of the matrices, and the offset of each matrix.
  return float_layer_cost(in, out, 0)
      .borrow_floats(saturating_sum(elements_of(in), made))
      .keep_floats(saturating_product(2, made))
      .add_macs(saturating_product(made, length));
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
                            multiply_all(p, in[0], in[1], result);
                          });
}

}  // namespace dvnn::layers
