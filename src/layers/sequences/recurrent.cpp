// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/names.h"
#include "base/nth.h"
#include "base/share.h"
#include "kernels/product.h"
#include "kernels/transpose.h"
#include "layers/factories.h"
#include "layers/float_layer.h"

namespace dvnn::layers {
namespace {

using Kind = RecurrentAttributes::Kind;
using CellFunction = RecurrentAttributes::Function;
constexpr const char* kKinds[] = {"rnn", "gru", "lstm"};  // in the enums' orders
constexpr const char* kCellFunctions[] = {"sigmoid", "tanh", "relu", "hardsigmoid", "identity"};
constexpr size_t kInputs = 7;

float apply(CellFunction function, float x) {
  switch (function) {
    case CellFunction::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case CellFunction::kTanh:
      return std::tanh(x);
    case CellFunction::kRelu:
      return std::max(x, 0.0f);
    case CellFunction::kHardSigmoid:
      return std::clamp(0.2f * x + 0.5f, 0.0f, 1.0f);  // ONNX' defaults
    case CellFunction::kIdentity:
      break;
  }
  return x;
}

struct Sizes {
  size_t steps, batch, inputs, hidden, gates;
};

// The layer's inputs after the sequence.
struct Operands {
  const float *weights, *state_weights, *bias, *state, *cell, *peepholes;
};

// One row of the batch: the state goes in and the next one comes out.
class Cell {
 public:
  Cell(const RecurrentAttributes& layer, const Sizes& sizes)
      : layer_(layer),
        sizes_(sizes),
        weights_(sizes.gates * sizes.hidden * sizes.inputs),
        state_weights_(sizes.gates * sizes.hidden * sizes.hidden),
        candidate_weights_(needs_candidate() ? sizes.hidden * sizes.hidden : 0),
        from_inputs_(kBlock * sizes.gates * sizes.hidden),
        from_input_(sizes.gates * sizes.hidden),
        from_state_(sizes.gates * sizes.hidden),
        next_(sizes.hidden) {}

  // Turns the matrices, so that vectors hold neighbouring rows of the result.
  void begin(const Operands& with, const float* inputs) {
    const size_t hidden = sizes_.hidden, rows = sizes_.gates * hidden;
    kernels::transpose(with.weights, weights_.data(), rows, sizes_.inputs);
    kernels::transpose(with.state_weights, state_weights_.data(), rows, hidden);
    if (needs_candidate()) {
      kernels::transpose(with.state_weights + 2 * hidden * hidden, candidate_weights_.data(),
                         hidden, hidden);
    }
    inputs_ = inputs;
    block_ = SIZE_MAX;
  }

  // `at` is the number of the step's row among the inputs.
  void step(const Operands& with, size_t at, float* state, float* cell) {
    const size_t hidden = sizes_.hidden, rows = sizes_.gates * hidden;
    if (at / kBlock != block_) make_block(at / kBlock);
    const float* const own = &from_inputs_[at % kBlock * rows];
    kernels::multiply(state, state_weights_.data(), from_state_.data(), 1, hidden, rows);
    for (size_t r = 0; r < rows; ++r) {
      from_input_[r] = own[r] + with.bias[r];
      from_state_[r] += with.bias[rows + r];
    }
    switch (layer_.kind) {
      case Kind::kRnn:
        for (size_t h = 0; h < hidden; ++h) state[h] = activated(0, gate(0, h));
        break;
      case Kind::kGru:
        gru(with, state);
        break;
      case Kind::kLstm:
        lstm(with, state, cell);
        break;
    }
  }

 private:
  // What the inputs of a block of steps give.
  void make_block(size_t block) {
    constexpr size_t kTaskRows = 8;
    const size_t rows = sizes_.gates * sizes_.hidden, begin = block * kBlock;
    const size_t count = std::min(kBlock, sizes_.steps * sizes_.batch - begin);
    share(static_cast<int>((count + kTaskRows - 1) / kTaskRows), [&](int i) {
      const size_t first = static_cast<size_t>(i) * kTaskRows;
      kernels::multiply(inputs_ + (begin + first) * sizes_.inputs, weights_.data(),
                        &from_inputs_[first * rows], std::min(kTaskRows, count - first),
                        sizes_.inputs, rows);
    });
    block_ = block;
  }

  float clipped(float x) const {
    return layer_.clip > 0 ? std::clamp(x, -layer_.clip, layer_.clip) : x;
  }
  float activated(size_t which, float x) const {
    return apply(layer_.activations[which], clipped(x));
  }
  float gate(size_t g, size_t h) const {
    const size_t row = g * sizes_.hidden + h;
    return from_input_[row] + from_state_[row];
  }

  // Gates: update, reset, candidate.
  void gru(const Operands& with, float* state) {
    const size_t hidden = sizes_.hidden, candidate = 2 * hidden;
    std::vector<float>& reset = next_;
    for (size_t h = 0; h < hidden; ++h) reset[h] = activated(0, gate(1, h));
    for (size_t h = 0; h < hidden; ++h) {
      if (layer_.reset_after) from_state_[candidate + h] *= reset[h];
    }
    if (!layer_.reset_after) {
      for (size_t h = 0; h < hidden; ++h) reset[h] *= state[h];
      float* const made = &from_state_[candidate];
      kernels::multiply(reset.data(), candidate_weights_.data(), made, 1, hidden, hidden);
      const float* const bias = with.bias + sizes_.gates * hidden + candidate;
      for (size_t h = 0; h < hidden; ++h) made[h] += bias[h];
    }
    for (size_t h = 0; h < hidden; ++h) {
      const float update = activated(0, gate(0, h));
      state[h] = (1 - update) * activated(1, gate(2, h)) + update * state[h];
    }
  }

  // Gates: input, output, forget, cell.
  void lstm(const Operands& with, float* state, float* cell) {
    const size_t hidden = sizes_.hidden;
    const float *in = with.peepholes, *out = in + hidden, *forgotten = out + hidden;
    for (size_t h = 0; h < hidden; ++h) {
      const float take = activated(0, gate(0, h) + in[h] * cell[h]);
      const float keep =
          layer_.coupled ? 1 - take : activated(0, gate(2, h) + forgotten[h] * cell[h]);
      cell[h] = keep * cell[h] + take * activated(1, gate(3, h));
      state[h] =
          activated(0, gate(1, h) + out[h] * cell[h]) * apply(layer_.activations[2], cell[h]);
    }
  }

  bool needs_candidate() const { return layer_.kind == Kind::kGru && !layer_.reset_after; }

  static constexpr size_t kBlock = 32;  // steps whose inputs are multiplied together

  const RecurrentAttributes layer_;
  const Sizes sizes_;
  const float* inputs_ = nullptr;
  size_t block_ = 0;
  std::vector<float> weights_, state_weights_, candidate_weights_;  // turned
  std::vector<float> from_inputs_, from_input_, from_state_, next_;
};

bool fits(const RecurrentAttributes& layer, Span<const Shape> in, Sizes* sizes) {
  for (size_t i = 0; i < 3; ++i) {
    if (in[i].rank != (i == 0 ? 3 : 2)) return false;
  }
  *sizes = {static_cast<size_t>(in[0][0]), static_cast<size_t>(in[0][1]),
            static_cast<size_t>(in[0][2]), static_cast<size_t>(in[2][1]),
            static_cast<size_t>(layer.gates())};
  const int64_t rows = int64_t{layer.gates()} * in[2][1], state = int64_t{in[0][1]} * in[2][1];
  return in[1][0] == rows && in[2][0] == rows && in[1][1] == in[0][2] &&
         in[3].elements() == 2 * rows && in[4].elements() == state && in[5].elements() == state &&
         in[6].elements() == int64_t{3} * in[2][1];
}

}  // namespace

Result<RecurrentAttributes> RecurrentAttributes::parse(const Json& params) {
  JsonReader in(params, kName);
  RecurrentAttributes a;
  const auto kind = parse_name<Kind>(in.text("kind", kKinds[2]), kKinds, "kind");
  if (!kind.ok()) in.fail("kind", kind.error().message);
  const Json* functions = in.member("activations");
  if (functions && functions->is_array() && functions->size() == a.activations.size()) {
    for (size_t i = 0; i < a.activations.size(); ++i) {
      const Json& name = (*functions)[i];
      const auto function = parse_name<CellFunction>(
          name.is_string() ? name.get<std::string>() : "", kCellFunctions, "activations");
      if (!function.ok()) in.fail("activations", function.error().message);
      if (function.ok()) a.activations[i] = function.value();
    }
  } else if (functions) {
    in.fail("activations", "are not three names");
  }
  a.clip = static_cast<float>(in.number("clip", 0));
  a.reverse = in.boolean("reverse", false);
  a.reset_after = in.boolean("reset_after", false);
  a.coupled = in.boolean("coupled", false);
  a.cell = in.boolean("cell", false);
  DVNN_TRY(in.status());
  a.kind = kind.value();
  return a;
}

Json RecurrentAttributes::to_json() const {
  Json names = Json::array();
  for (const CellFunction function : activations) {
    names.push_back(nth(kCellFunctions, function));
  }
  return {{"kind", nth(kKinds, kind)},
          {"activations", std::move(names)},
          {"clip", clip},
          {"reverse", reverse},
          {"reset_after", reset_after},
          {"coupled", coupled},
          {"cell", cell}};
}

DimsResult RecurrentAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, kInputs));
  Sizes sizes = {};
  if (fits(*this, inputs, &sizes)) {
    return std::vector<int64_t>{inputs[0][0], inputs[0][1], inputs[2][1]};
  }
  return Error{ErrorCode::kUnsupported, "weights " + inputs[1].to_string() + " and " +
                                            inputs[2].to_string() + " do not fit a sequence of " +
                                            inputs[0].to_string()};
}

LayerResult RecurrentAttributes::create(Span<const TensorDesc> inputs,
                                        Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, kInputs, kInputs, outputs));
  const std::vector<Shape> shapes = shapes_of(inputs);
  DVNN_TRY(expect_dims(dims_after(shapes), outputs[0]));
  Sizes sizes = {};
  fits(*this, shapes, &sizes);
  return make_float_layer(
      inputs, outputs,
      [sizes, cell = Cell(*this, sizes), reverse = reverse, wants_cell = this->cell,
       state = std::vector<float>(sizes.batch * sizes.hidden),
       memory = std::vector<float>(sizes.batch * sizes.hidden)](const float* const* in,
                                                                float* result) mutable {
        const Operands with = {in[1], in[2], in[3], in[4], in[5], in[6]};
        const size_t hidden = sizes.hidden;
        cell.begin(with, in[0]);
        std::copy_n(with.state, state.size(), state.begin());
        std::copy_n(with.cell, memory.size(), memory.begin());
        for (size_t s = 0; s < sizes.steps; ++s) {
          for (size_t b = 0; b < sizes.batch; ++b) {
            const size_t at = (reverse ? sizes.steps - 1 - s : s) * sizes.batch + b;
            cell.step(with, at, &state[b * hidden], &memory[b * hidden]);
            const std::vector<float>& made = wants_cell ? memory : state;
            std::copy_n(&made[b * hidden], hidden, result + at * hidden);
          }
        }
      });
}

}  // namespace dvnn::layers
