// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/json.h"
#include "base/names.h"
#include "base/nth.h"
#include "base/numbers.h"
#include "base/share.h"
#include "kernels/arithmetic/elementwise.h"
#include "kernels/arithmetic/reductions.h"
#include "kernels/movement/movement.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {
namespace {

using Kind = RecurrentAttributes::Kind;
using CellFunction = RecurrentAttributes::Function;
constexpr const char* kKinds[] = {"rnn", "gru", "lstm"};  // in the enums' orders
constexpr const char* kCellFunctions[] = {"sigmoid", "tanh", "relu", "hardsigmoid", "identity"};
constexpr size_t kInputs = 7;
constexpr size_t kStepBlock = 32;  // steps whose inputs are multiplied at once

// The curve that computes each function, in the enum's order; the identity has none.
struct CellCurve {
  kernels::Curve curve;
  float a, b;
};
constexpr CellCurve kCellCurves[] = {{kernels::Curve::kSigmoid, 0, 0},
                                     {kernels::Curve::kTanh, 0, 0},
                                     {kernels::Curve::kRelu, 0, 0},
                                     {kernels::Curve::kHardSigmoid, 0.2f, 0.5f}};  // ONNX' defaults

// Applies the function to `count` floats in place.
void apply(CellFunction function, float* x, size_t count) {
  if (function == CellFunction::kIdentity) return;
  const CellCurve& by = nth(kCellCurves, function);
  kernels::apply(by.curve, by.a, by.b, x, x, count);
}

struct Sizes {
  size_t steps, batch, inputs, hidden, gates;
};

// The layer's inputs after the sequence.
struct Operands {
  const float *weights, *state_weights, *bias, *state, *cell, *peepholes;
};

// A transposed matrix, in panels of kPanel columns each, which are read one after the other.
class Turned {
 public:
  Turned(size_t rows, size_t columns) : rows_(rows), columns_(columns), turned_(rows * columns) {}

  // `stays`: the matrix is the same at each call.
  void turn(const float* matrix, bool stays) {
    if (stays && is_turned_) return;
    for (size_t first = 0; first < rows_; first += kPanel) {
      kernels::transpose(matrix + first * columns_, &turned_[first * columns_],
                         std::min(kPanel, rows_ - first), columns_);
    }
    is_turned_ = true;
  }

  // Writes the products of `count` rows of `a` with all rows of the original matrix.
  void multiply(const float* a, size_t count, float* to) const {
    for (size_t first = 0; first < rows_; first += kPanel) {
      kernels::multiply_panel(a, &turned_[first * columns_], to + first, count, columns_,
                              std::min(kPanel, rows_ - first), rows_);
    }
  }

 private:
  static constexpr size_t kPanel = 128;

  size_t rows_, columns_;  // of the original matrix
  std::vector<float> turned_;
  bool is_turned_ = false;
};

// One row of the batch: computes the next state from the state.
class Cell {
 public:
  Cell(const RecurrentAttributes& layer, const Sizes& sizes)
      : layer_(layer),
        sizes_(sizes),
        weights_(sizes.gates * sizes.hidden, sizes.inputs),
        state_weights_(sizes.gates * sizes.hidden, sizes.hidden),
        candidate_weights_(needs_candidate() ? sizes.hidden : 0, sizes.hidden),
        from_inputs_(kStepBlock * sizes.gates * sizes.hidden),
        from_input_(sizes.gates * sizes.hidden),
        from_state_(sizes.gates * sizes.hidden) {}

  // Transposes the matrices, so that vectors hold adjacent rows of the result. `stay`: they are the
  // same at each call, because they are constants.
  void begin(const Operands& with, const float* inputs, bool stay) {
    const size_t hidden = sizes_.hidden;
    weights_.turn(with.weights, stay);
    state_weights_.turn(with.state_weights, stay);
    if (needs_candidate()) {
      candidate_weights_.turn(with.state_weights + 2 * hidden * hidden, stay);
    }
    inputs_ = inputs;
    block_ = SIZE_MAX;
  }

  // `at` is the index of the step's row among the inputs.
  void step(const Operands& with, size_t at, float* state, float* cell) {
    const size_t hidden = sizes_.hidden, rows = sizes_.gates * hidden;
    if (at / kStepBlock != block_) make_block(at / kStepBlock);
    const float* const own = &from_inputs_[at % kStepBlock * rows];
    state_weights_.multiply(state, 1, from_state_.data());
    for (size_t r = 0; r < rows; ++r) {
      from_input_[r] = own[r] + with.bias[r];
      from_state_[r] += with.bias[rows + r];
    }
    switch (layer_.kind) {
      case Kind::kRnn:
        for (size_t h = 0; h < hidden; ++h) state[h] = from_input_[h] + from_state_[h];
        activate(0, state, 1);
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
  // Multiplies the inputs of a block of steps.
  void make_block(size_t block) {
    constexpr size_t kTaskRows = 8;
    const size_t rows = sizes_.gates * sizes_.hidden, begin = block * kStepBlock;
    const size_t count = std::min(kStepBlock, sizes_.steps * sizes_.batch - begin);
    share(static_cast<int>((count + kTaskRows - 1) / kTaskRows), [&](int i) {
      const size_t first = static_cast<size_t>(i) * kTaskRows;
      weights_.multiply(inputs_ + (begin + first) * sizes_.inputs,
                        std::min(kTaskRows, count - first), &from_inputs_[first * rows]);
    });
    block_ = block;
  }

  // Clips the sums of `gates` gates and applies their function.
  void activate(size_t which, float* sums, size_t gates) const {
    const size_t count = gates * sizes_.hidden;
    const float clip = layer_.clip;
    if (clip > 0) {
      for (size_t i = 0; i < count; ++i) sums[i] = std::clamp(sums[i], -clip, clip);
    }
    apply(layer_.activations[which], sums, count);
  }

  // Gates: update, reset, candidate.
  void gru(const Operands& with, float* state) {
    const size_t hidden = sizes_.hidden;
    float *const update = from_input_.data(), *const reset = update + hidden;
    float *const candidate = reset + hidden, *const made = &from_state_[2 * hidden];
    for (size_t i = 0; i < 2 * hidden; ++i) update[i] += from_state_[i];
    activate(0, update, 2);
    if (layer_.reset_after) {
      for (size_t h = 0; h < hidden; ++h) made[h] *= reset[h];
    } else {
      for (size_t h = 0; h < hidden; ++h) reset[h] *= state[h];
      candidate_weights_.multiply(reset, 1, made);
      const float* const bias = with.bias + (sizes_.gates + 2) * hidden;
      for (size_t h = 0; h < hidden; ++h) made[h] += bias[h];
    }
    for (size_t h = 0; h < hidden; ++h) candidate[h] += made[h];
    activate(1, candidate, 1);
    for (size_t h = 0; h < hidden; ++h) {
      state[h] = (1 - update[h]) * candidate[h] + update[h] * state[h];
    }
  }

  // Gates: input, output, forget, cell.
  void lstm(const Operands& with, float* state, float* cell) {
    const size_t hidden = sizes_.hidden;
    const float *for_take = with.peepholes, *for_give = for_take + hidden;
    const float* const for_keep = for_give + hidden;
    float *const take = from_input_.data(), *const give = take + hidden;
    float *const keep = give + hidden, *const made = keep + hidden;
    for (size_t i = 0; i < 4 * hidden; ++i) take[i] += from_state_[i];
    for (size_t h = 0; h < hidden; ++h) {
      take[h] += for_take[h] * cell[h];
      keep[h] += for_keep[h] * cell[h];
    }
    activate(0, take, 1);
    if (layer_.coupled) {
      for (size_t h = 0; h < hidden; ++h) keep[h] = 1 - take[h];
    } else {
      activate(0, keep, 1);
    }
    activate(1, made, 1);
    for (size_t h = 0; h < hidden; ++h) {
      cell[h] = keep[h] * cell[h] + take[h] * made[h];
      give[h] += for_give[h] * cell[h];
      state[h] = cell[h];
    }
    activate(0, give, 1);
    apply(layer_.activations[2], state, hidden);
    for (size_t h = 0; h < hidden; ++h) state[h] *= give[h];
  }

  bool needs_candidate() const { return layer_.kind == Kind::kGru && !layer_.reset_after; }

  const RecurrentAttributes layer_;
  const Sizes sizes_;
  const float* inputs_ = nullptr;
  size_t block_ = 0;
  Turned weights_, state_weights_, candidate_weights_;
  std::vector<float> from_inputs_, from_input_, from_state_;
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

class Recurrent final : public FloatTensors {
 public:
  Recurrent(const RecurrentAttributes& layer, const Sizes& sizes, Span<const TensorDesc> inputs,
            const TensorDesc& output)
      : FloatTensors(inputs, output),
        sizes_(sizes),
        is_reverse_(layer.reverse),
        wants_cell_(layer.cell),
        cell_(layer, sizes),
        state_(sizes.batch * sizes.hidden),
        memory_(sizes.batch * sizes.hidden) {}

 private:
  void compute(const float* const* in, float* result) override {
    const Operands with = {in[1], in[2], in[3], in[4], in[5], in[6]};
    const size_t hidden = sizes_.hidden;
    cell_.begin(with, in[0], input_stays(1) && input_stays(2));
    std::copy_n(with.state, state_.size(), state_.begin());
    std::copy_n(with.cell, memory_.size(), memory_.begin());
    for (size_t s = 0; s < sizes_.steps; ++s) {
      for (size_t b = 0; b < sizes_.batch; ++b) {
        const size_t at = (is_reverse_ ? sizes_.steps - 1 - s : s) * sizes_.batch + b;
        cell_.step(with, at, &state_[b * hidden], &memory_[b * hidden]);
        const std::vector<float>& made = wants_cell_ ? memory_ : state_;
        std::copy_n(&made[b * hidden], hidden, result + at * hidden);
      }
    }
  }

  const Sizes sizes_;
  const bool is_reverse_, wants_cell_;
  Cell cell_;
  std::vector<float> state_, memory_;
};

}  // namespace

Result<RecurrentAttributes> RecurrentAttributes::parse(const Json& params) {
  JsonReader in(params, kName);
  RecurrentAttributes a;
  const auto kind = parse_name<Kind>(in.text("kind", kKinds[2]), kKinds, "kind");
  if (!kind.ok()) in.fail("kind", kind.error().message);
  const Json* functions = in.member("activations");
  if (functions && functions->is_array() && functions->size() == a.activations.size()) {
    for (size_t i = 0; i < a.activations.size(); ++i) {
      const Json& name = functions->at(i);
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
  return unsupported("weights " + inputs[1].to_string() + " and " + inputs[2].to_string() +
                     " do not fit a sequence of " + inputs[0].to_string());
}

Cost RecurrentAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  if (in.size() < 3) return one_look(in, out);
  const uint64_t hidden = last_extent(in[2].shape);
  const uint64_t rows = saturating_product(static_cast<uint64_t>(gates()), hidden);
  const uint64_t columns = saturating_sum(last_extent(in[1].shape), hidden);
  const uint64_t products = saturating_product(static_cast<uint64_t>(gates()), columns);
  return float_layer_cost(in, out, 0)
      .keep_floats(saturating_product(2, elements_of(in)))  // transposed matrices, and the state
      .keep_floats(saturating_product(kStepBlock + 2, rows))
      .add_macs(saturating_product(elements_of(out), products));
}

LayerResult RecurrentAttributes::create(Span<const TensorDesc> inputs,
                                        Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, kInputs, kInputs, outputs));
  const std::vector<Shape> shapes = shapes_of(inputs);
  DVNN_TRY(expect_dims(dims_after(shapes), outputs[0]));
  Sizes sizes = {};
  fits(*this, shapes, &sizes);
  return std::unique_ptr<CpuLayer>(new Recurrent(*this, sizes, inputs, outputs[0]));
}

}  // namespace dvnn::layers
