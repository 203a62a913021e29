// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/operators/rotary.h"

#include "base/format.h"
#include "base/nth.h"
#include "import/onnx/operators.h"

namespace dvnn::import {
namespace {

using kernels::Operation;

// Factors of a token's numbers and of their partners in the pairs, and the partners' indices.
struct Turn {
  std::vector<float> own, partner, from;
};

// Returns the row of cosines and sines for a token.
Result<int64_t> row_of(const Rotary& rotary, int64_t token, int64_t rows) {
  int64_t row = token;
  if (rotary.places) {
    const std::vector<int64_t> places = rotary.places->ints();
    if (places.empty()) return malformed("names no places");
    // A single number is the first token's position.
    const auto count = static_cast<int64_t>(places.size());
    row = count == 1 ? places[0] + token : token < count ? nth(places, token) : -1;
  }
  if (row >= 0 && row < rows) return row;
  return malformed(format("token %lld has no row among %lld of cosines",
                          static_cast<long long>(token), static_cast<long long>(rows)));
}

Result<Turn> turn_of(const Rotary& rotary, int64_t tokens, int64_t numbers) {
  const OnnxConstant &cosines = *rotary.cosines, &sines = *rotary.sines;
  const int64_t half = cosines.dims.empty() ? 0 : cosines.dims.back();
  if (half < 1 || 2 * half > numbers || cosines.values.size() != sines.values.size()) {
    return malformed(format("%lld angles for %lld numbers", static_cast<long long>(half),
                            static_cast<long long>(numbers)));
  }
  const auto rows = static_cast<int64_t>(cosines.values.size()) / half;
  Turn turn;
  for (int64_t i = 0; i < numbers; ++i) {
    const int64_t partner = i >= 2 * half        ? i
                            : rotary.interleaved ? (i ^ 1)
                                                 : (i < half ? i + half : i - half);
    turn.from.push_back(static_cast<float>(partner));
  }
  for (int64_t token = 0; token < tokens; ++token) {
    DVNN_ASSIGN(const int64_t row, row_of(rotary, token, rows));
    for (int64_t i = 0; i < numbers; ++i) {
      const int64_t pair = row * half + (rotary.interleaved ? i / 2 : i % half);
      const bool turns = i < 2 * half, first = rotary.interleaved ? i % 2 == 0 : i < half;
      const double sine = turns ? nth(sines.values, pair) : 0;
      turn.own.push_back(static_cast<float>(turns ? nth(cosines.values, pair) : 1));
      turn.partner.push_back(static_cast<float>(first ? -sine : sine));
    }
  }
  return turn;
}

}  // namespace

Result<int> turned_by_place(const OnnxNode& node, const std::string& name, int in,
                            const Rotary& rotary) {
  GraphBuilder& b = node.builder();
  const Shape shape = b.shape_of(in);
  if (shape.rank != 4 || shape[0] != 1) {
    return unsupported(shape.to_string() + " is not one sequence of heads, which is supported");
  }
  DVNN_TRY(node.importer().check_numbers(2 * static_cast<uint64_t>(shape[2]) * shape.extent(3)));
  DVNN_ASSIGN(Turn turn, turn_of(rotary, shape[2], shape[3]));
  const std::vector<int64_t> dims = {shape[2], shape[3]};
  DVNN_ASSIGN(const int own, b.constant(name + "_cosines", dims, std::move(turn.own)));
  DVNN_ASSIGN(const int partner, b.constant(name + "_sines", dims, std::move(turn.partner)));
  DVNN_ASSIGN(const int from, b.constant(name + "_partners", {shape[3]}, std::move(turn.from)));
  DVNN_ASSIGN(const int swapped, b.cpu(name + "_swapped", layers::GatherAttributes{3}, {in, from}));
  DVNN_ASSIGN(const int first, b.binary(name + "_along", Operation::kMul, in, own));
  DVNN_ASSIGN(const int second, b.binary(name + "_across", Operation::kMul, swapped, partner));
  return b.binary(name + "_turned", Operation::kAdd, first, second);
}

// RotaryEmbedding of ONNX, and of ONNX Runtime, whose inputs have another order.
Status import_onnx_rotary(const OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const bool official = is_official(node.proto().domain());
  Rotary rotary;
  rotary.interleaved = node.integer("interleaved", 0) != 0;
  DVNN_ASSIGN(rotary.cosines, node.constant(official ? 1 : 2));
  DVNN_ASSIGN(rotary.sines, node.constant(official ? 2 : 3));
  if (node.has(official ? 3 : 1)) {
    DVNN_ASSIGN(rotary.places, node.constant(official ? 3 : 1));
  }
  DVNN_ASSIGN(int in, node.value(0));
  const Shape shape = b.shape_of(in);
  const std::string& name = node.name();
  const bool flat = shape.rank == 3;
  if (flat) {
    // If the number of heads is not given, all numbers of a head are rotated.
    int64_t heads = node.integer("num_heads", 0);
    const int64_t turned = rotary.cosines->dims.empty() ? 0 : 2 * rotary.cosines->dims.back();
    if (heads == 0 && turned > 0) heads = shape[2] / turned;
    if (heads < 1 || shape[2] % heads != 0) {
      return malformed(format("%d numbers of a token are not %lld heads", shape[2],
                              static_cast<long long>(heads)));
    }
    DVNN_ASSIGN(in, b.reshape(name + "_heads", in, {shape[0], shape[1], heads, shape[2] / heads}));
    DVNN_ASSIGN(in, b.permute(name + "_by_head", in, {0, 2, 1, 3}));
  }
  DVNN_ASSIGN(int made, turned_by_place(node, name, in, rotary));
  if (!flat) return node.done(made);
  DVNN_ASSIGN(made, b.permute(name + "_by_token", made, {0, 2, 1, 3}));
  return node.done(b.reshape(name + "_joined", made, dims_of(shape)));
}

}  // namespace dvnn::import
