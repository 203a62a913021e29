// SPDX-License-Identifier: Apache-2.0
// Layers over sequences.
#pragma once

#include <vector>

#include "layers/attributes/layer_type.h"

namespace dvnn::layers {

/// Attention: softmax(scale q k' + bias) v of each head. The inputs are pictures of one row, (1,
/// channels, 1, tokens), of queries, keys and values, which may be the same picture, and an
/// optional bias, (sequences, heads, queries, keys), whose dimensions of 1 repeat. Attributes:
/// {sequences: number of equal parts of the tokens, each a sequence of its own, heads, size:
/// channels of a head's queries and keys, value_size: of its values, scale, first: [3] and step:
/// [3]: the first channel of queries, keys and values, and channels from one head to the next,
/// places: [...] (none: in order): the pixel of each token, in the inputs and in the result, as of
/// windows, whose tokens are not adjacent}. The result is (1, heads * value_size, 1, queries).
/// Source: Vaswani et al. (2017).
struct AttentionAttributes {
  DVNN_LAYER_TYPE("Attention");
  int sequences = 1, heads = 1, size = 1, value_size = 1;
  float scale = 1;
  std::vector<int> first = {0, 0, 0}, step = {0, 0, 0};
  std::vector<int> places;
};

/// A recurrent layer in one direction over (steps, batch, inputs): {kind: lstm|gru|rnn,
/// activations: [...] (of gates, of the candidate, of an LSTM's cell), clip (0: none), reverse,
/// reset_after (GRU: after its product), coupled (LSTM: forgets what it does not take), cell: the
/// result is an LSTM's cell}. The result is (steps, batch, hidden). The other inputs are the
/// weights (gates * hidden, inputs), those of the state (gates * hidden, hidden), both biases one
/// after the other, the first state and cell (batch, hidden), and peepholes (3 * hidden). Source:
/// ONNX LSTM, GRU and RNN, which define the order of gates.
struct RecurrentAttributes {
  DVNN_LAYER_TYPE_IN_JSON(RecurrentAttributes, "Recurrent");
  enum class Kind : uint8_t { kRnn, kGru, kLstm } kind = Kind::kLstm;
  enum class Function : uint8_t { kSigmoid, kTanh, kRelu, kHardSigmoid, kIdentity };
  std::vector<Function> activations = {Function::kSigmoid, Function::kTanh, Function::kTanh};
  float clip = 0;
  bool reverse = false, reset_after = false, coupled = false, cell = false;
  int gates() const { return kind == Kind::kLstm ? 4 : kind == Kind::kGru ? 3 : 1; }
};

}  // namespace dvnn::layers
