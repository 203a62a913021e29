// SPDX-License-Identifier: Apache-2.0
// Models of 4, 8 and 16 bits: the CPU rounds as they define it, in floating point.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "base/format.h"
#include "base/nth.h"
#include "import/onnx/operators.h"
#include "import/options.h"

namespace dvnn::import {
namespace {

using kernels::Curve;
using kernels::Operation;

struct Scaling {
  int scale = 0;
  int zero = -1;  // -1: none
};

// Returns numbers of blocks along an axis, each repeated for all elements of its block.
Result<int> by_blocks(const OnnxNode& node, int input, const Shape& in) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int64_t at, onnx_axis(node.integer("axis", 1), in.axes()));
  DVNN_ASSIGN(const auto given, node.constant(input));
  const int axis = static_cast<int>(at);
  const int64_t block = node.integer("block_size", 0), size = in[axis];
  const int64_t blocks = block < 1 ? 0 : (size + block - 1) / std::max<int64_t>(block, 1);
  std::vector<int64_t> dims = dims_of(in);
  int64_t inner = 1, outer = 1;
  for (int i = 0; i < in.rank; ++i) (i < axis ? outer : inner) *= i == axis ? 1 : in[i];
  nth(dims, axis) = blocks;
  if (blocks < 1 || given->dims != dims) {
    return unsupported(
        "scales " + given_shape_text(given->dims) + " for " + in.to_string() +
        format(" are neither one for each index of axis %d nor one for each block of %lld", axis,
               static_cast<long long>(block)));
  }
  DVNN_TRY(node.importer().check_numbers(in.count()));
  std::vector<float> numbers;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < size; ++i) {
      const auto first = given->values.begin() + (o * blocks + i / block) * inner;
      std::transform(first, first + inner, std::back_inserter(numbers),
                     [](double number) { return static_cast<float>(number); });
    }
  }
  return b.constant(node.name() + format("_input%d", input), dims_of(in), std::move(numbers));
}

// Returns a scale or a zero point as a value that broadcasts to `in`: one number, one for each
// index of the axis, or one for each block along it.
Result<int> along_axis(const OnnxNode& node, int input, const Shape& in) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int value, node.value(input));
  if (b.shape_of(value).elements() == 1) return value;
  if (b.shape_of(value).rank != 1) return by_blocks(node, input, in);
  DVNN_ASSIGN(const int64_t axis, onnx_axis(node.integer("axis", 1), in.axes()));
  if (b.shape_of(value)[0] != in[static_cast<int>(axis)]) return by_blocks(node, input, in);
  std::vector<int64_t> dims(in.axes(), 1);
  nth(dims, axis) = in[static_cast<int>(axis)];
  return b.reshape(node.name() + format("_input%d", input), value, dims);
}

Result<Scaling> read_scaling(const OnnxNode& node, int in) {
  const Shape shape = node.builder().shape_of(in);
  Scaling scaling;
  DVNN_ASSIGN(scaling.scale, along_axis(node, 1, shape));
  if (node.has(2)) {
    DVNN_ASSIGN(scaling.zero, along_axis(node, 2, shape));
  }
  return scaling;
}

bool is_all(const std::vector<double>& numbers, double number) {
  return std::all_of(numbers.begin(), numbers.end(), [number](double n) { return n == number; });
}

// Returns the smallest and the largest number of the node's result type.
Result<std::pair<float, float>> limits_of(const OnnxNode& node) {
  constexpr int64_t kUint8 = 2, kInt8 = 3, kUint16 = 4, kInt16 = 5, kUint4 = 21, kInt4 = 22;
  int64_t type = node.integer("output_dtype", 0);
  if (type == 0 && node.is_constant(2)) {
    DVNN_ASSIGN(const auto zero, node.constant(2));
    type = zero->type;
  }
  if (type == 0 || type == kUint8) return std::pair(0.0f, 255.0f);
  if (type == kInt8) return std::pair(-128.0f, 127.0f);
  if (type == kUint16) return std::pair(0.0f, 65535.0f);
  if (type == kInt16) return std::pair(-32768.0f, 32767.0f);
  if (type == kUint4) return std::pair(0.0f, 15.0f);
  if (type == kInt4) return std::pair(-8.0f, 7.0f);
  return unsupported(
      format("numbers of type %lld are not supported, integers of 4, 8 and 16 bits are",
             static_cast<long long>(type)));
}

// Returns a node's scale and zero point, if they are known.
std::optional<OnnxReal> known_scaling(const OnnxNode& node) {
  if (!node.is_constant(1) || (node.has(2) && !node.is_constant(2))) return std::nullopt;
  const auto numbers = [&](int input) {
    return node.importer().entries.at(node.input_name(input)).constant->values;
  };
  OnnxReal known = {-1, numbers(1), {}};
  if (node.has(2)) known.zero = numbers(2);
  if (is_all(known.zero, 0)) known.zero.clear();
  return known;
}

// Returns the real number that a node quantises, if it is not to be rounded. What a model's
// integers cannot hold stands for an activation that its exporter left out: numbers below 0 for
// ReLU, and those above 6, too, for ReLU6.
Result<std::optional<OnnxReal>> unrounded(const OnnxNode& node, int in,
                                          std::pair<float, float> limits) {
  auto real = known_scaling(node);
  if (!node.importer().options.unrounded || node.is_constant(0) || !real) {
    return std::optional<OnnxReal>();
  }
  real->value = in;
  const auto least = static_cast<double>(limits.first);
  const bool from_zero =
      least == 0 ? real->zero.empty() : !real->zero.empty() && is_all(real->zero, least);
  if (!from_zero) return real;
  const auto most = static_cast<double>(limits.second) - least;
  const bool to_six = std::all_of(real->scale.begin(), real->scale.end(), [most](double scale) {
    constexpr double kStep = 0.01;  // more than a step of 8 bits
    return std::abs(most * scale - 6) < 6 * kStep;
  });
  const auto limit = to_six ? device::Activation::kRelu6 : device::Activation::kRelu;
  DVNN_ASSIGN(real->value, node.builder().activation(node.name() + "_limits", in, limit));
  return real;
}

// Returns the value that was quantised to the node's input with the node's own scale and zero
// point, if it was not rounded.
std::optional<int> real_of(const OnnxNode& node) {
  const auto it = node.importer().entries.find(node.input_name(0));
  if (it == node.importer().entries.end() || !it->second.real) return std::nullopt;
  const OnnxReal& real = *it->second.real;
  const auto own = known_scaling(node);
  if (!own || own->scale != real.scale || own->zero != real.zero) return std::nullopt;
  return real.value;
}

}  // namespace

Status import_onnx_dequantize(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  if (const auto real = real_of(node)) return node.done(*real);
  DVNN_ASSIGN(int at, node.value(0));
  DVNN_ASSIGN(const Scaling scaling, read_scaling(node, at));
  if (scaling.zero >= 0) {
    DVNN_ASSIGN(at, b.binary(node.name() + "_zero", Operation::kSub, at, scaling.zero));
  }
  return node.done(b.binary(node.name(), Operation::kMul, at, scaling.scale));
}

Status import_onnx_quantize(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const std::string& name = node.name();
  DVNN_ASSIGN(const auto limits, limits_of(node));
  DVNN_ASSIGN(int at, node.value(0));
  DVNN_ASSIGN(const Scaling scaling, read_scaling(node, at));
  DVNN_ASSIGN(const auto real, unrounded(node, at, limits));
  if (real) at = real->value;
  DVNN_ASSIGN(at, b.binary(name + "_scaled", Operation::kDiv, at, scaling.scale));
  if (!real) {
    DVNN_ASSIGN(at, b.unary(name + "_rounded", Curve::kRound, at));
  }
  if (scaling.zero >= 0) {
    DVNN_ASSIGN(at, b.binary(name + "_zero", Operation::kAdd, at, scaling.zero));
  }
  if (!real) {
    DVNN_ASSIGN(at, b.unary(name, Curve::kClip, at, limits.first, limits.second));
  }
  DVNN_TRY(node.done(at));
  if (real) {
    node.importer().entries[node.output_name(0)].real = real;
    ++node.importer().unrounded;
  }
  return {};
}

namespace {

// ONNX Runtime's matrix of 4 or 8 bits: (n, blocks, bytes of a block), with a scale and a zero
// point for each block; without zero points, they are in the middle of the range.
struct FewBits {
  int64_t k = 0, n = 0, bits = 4, block = 32, blocks = 0;
  std::shared_ptr<const OnnxConstant> bytes, scales, zeros;

  // Returns number `i` of row `row`. Each row has `in_row` numbers and begins with a new byte.
  double number(const OnnxConstant& from, int64_t row, int64_t i, int64_t in_row) const {
    if (bits == 8) return nth(from.values, row * in_row + i);
    const auto byte = static_cast<unsigned>(nth(from.values, row * ((in_row + 1) / 2) + i / 2));
    return static_cast<double>(byte >> (i % 2 * 4) & 15);
  }
  double zero(int64_t row, int64_t i) const {
    constexpr int64_t kUint8 = 2;
    if (!zeros) return static_cast<double>(int64_t{1} << (bits - 1));
    if (zeros->type != kUint8) return nth(zeros->values, row * blocks + i);
    return number(*zeros, row, i, blocks);
  }
};

Result<FewBits> read_few_bits(const OnnxNode& node) {
  FewBits matrix;
  matrix.k = node.integer("K", 0);
  matrix.n = node.integer("N", 0);
  matrix.bits = node.integer("bits", 4);
  matrix.block = node.integer("block_size", 0);
  constexpr int64_t kMost = 1 << 24;
  if (matrix.bits != 4 && matrix.bits != 8) {
    return unsupported(format("weights of %lld bits are not supported, those of 4 and 8 are",
                              static_cast<long long>(matrix.bits)));
  }
  for (int64_t number : {matrix.k, matrix.n, matrix.block}) {
    if (number >= 1 && number <= kMost) continue;
    return malformed(format("K, N or block_size is %lld", static_cast<long long>(number)));
  }
  matrix.blocks = (matrix.k + matrix.block - 1) / matrix.block;
  DVNN_ASSIGN(matrix.bytes, node.constant(1));
  DVNN_ASSIGN(matrix.scales, node.constant(2));
  if (node.has(3)) {
    DVNN_ASSIGN(matrix.zeros, node.constant(3));
  }
  if (node.has(4)) return unsupported("an order of groups is not supported");
  const auto holds = [](const OnnxConstant& constant, int64_t count) {
    return static_cast<int64_t>(constant.values.size()) == count;
  };
  const int64_t per_block = (matrix.block * matrix.bits + 7) / 8;
  const int64_t zeros = matrix.n * (matrix.bits == 4 ? (matrix.blocks + 1) / 2 : matrix.blocks);
  const bool fits = holds(*matrix.bytes, matrix.n * matrix.blocks * per_block) &&
                    holds(*matrix.scales, matrix.n * matrix.blocks) &&
                    (!matrix.zeros || holds(*matrix.zeros, zeros) ||
                     (!matrix.zeros->integral && holds(*matrix.zeros, matrix.n * matrix.blocks)));
  if (!fits) return malformed("its weights have another size than it says");
  DVNN_TRY(node.importer().check_numbers(static_cast<uint64_t>(matrix.k * matrix.n)));
  return matrix;
}

}  // namespace

// The real numbers of the weights are known, so this is a plain product.
Status import_microsoft_matmul_nbits(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  DVNN_ASSIGN(const int in, node.value(0));
  DVNN_ASSIGN(const FewBits from, read_few_bits(node));
  OnnxConstant weights;
  weights.dims = {from.k, from.n};
  weights.values.resize(static_cast<size_t>(from.k * from.n));
  for (int64_t n = 0; n < from.n; ++n) {
    for (int64_t k = 0; k < from.k; ++k) {
      const int64_t i = k / from.block;
      const double number = from.number(*from.bytes, n, k, from.blocks * from.block);
      nth(weights.values, k * from.n + n) =
          (number - from.zero(n, i)) * nth(from.scales->values, n * from.blocks + i);
    }
  }
  if (!node.has(5)) return node.done(onnx_product(node, node.name(), in, weights));
  DVNN_ASSIGN(const int product, onnx_product(node, node.name() + "_product", in, weights));
  DVNN_ASSIGN(const int bias, node.value(5));
  return node.done(b.binary(node.name(), Operation::kAdd, product, bias));
}

}  // namespace dvnn::import
