// SPDX-License-Identifier: Apache-2.0
// A converted model: what a .dvn file holds (dvn_file.h reads and writes it).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/nth.h"
#include "device/command.h"
#include "layers/cpu_layer.h"
#include "tensor/input_spec.h"
#include "tensor/tensor.h"

namespace dvnn::network {

// Limits of a network file beside those of the device (device/limits.h): they keep a hostile file
// from taking the machine's memory.
constexpr int64_t kMaxBufferBytes = int64_t{1} << 40;  // what offsets may be; see base/budget.h
constexpr size_t kMaxNameBytes = 1024;                 // of layers, tensors and outputs
constexpr size_t kMaxExtraInputs = 256;                // each is checked against each other
constexpr size_t kMaxLabelBytes = 1024;
constexpr uint64_t kMaxJsonBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxWeightBytes = uint64_t{1} << 30;
constexpr size_t kMaxListEntries = 65536;  // tensors, steps, labels

/// The memory that a tensor lives in.
enum class Storage : uint8_t {
  kIo,        // in each slot's I/O buffer, at `offset`
  kConstant,  // in host memory that all slots share, at `offset`; made once when the model is
              // loaded
};

struct TensorInfo {
  std::string name;
  TensorDesc desc;
  Storage storage = Storage::kIo;
  uint64_t offset = 0;  // bytes, a multiple of 2 for float16 and 4 for float32
};

enum class StepKind : uint8_t { kDevice, kCpu };

/// One step; steps run in the order of the model's list. Tensors are indices into Model::tensors.
struct Step {
  StepKind kind = StepKind::kCpu;
  std::string name;                 // the last source layer in it
  std::vector<std::string> layers;  // every source layer in it
  std::vector<int> inputs;          // device: {input} or {input, eltwise operand}
  std::vector<int> outputs;         // device: exactly one
  // kDevice. With several external runs the output is their concatenation.
  device::ConvCommand command;
  // kCpu
  layers::LayerPtr layer;
};

/// The input tensor, and how a picture is converted to it.
struct InputInfo {
  int tensor = 0;
  InputSpec picture;
  // Scale and bias of the picture that the model itself applies: tensor value = the model's input
  // value * scale + bias, per channel. Empty: the tensor is the model's input.
  std::vector<float> folded_scale, folded_bias;
};

/// An input beside the first. A live one is written by the caller before each run. A state holds
/// what the tensor `next` held after the run before, and zeros in the first run (stream_memory.h).
struct ExtraInput {
  std::string name;
  int tensor = 0;
  int next = -1;  // -1: a live input
  bool is_state() const { return next >= 0; }
};

struct OutputInfo {
  std::string name;
  int tensor = 0;
};

struct DecoderInfo {
  std::string name;  // empty: none
  Json params = Json::object();
};

constexpr size_t kMostWeightParts = 63;

/// The place of a node's weights in the packed streams, and the form that the packer gave them.
struct WeightPlace {
  uint64_t offset = 0;  // bytes
  bool quantised = false;
  bool prelu = false;  // the stream has slopes
  bool dilated = false;
  bool fixed = false;  // reordered for one size of input
  // Of a convolution that is a sum over parts of its channels: the places of the other parts, at
  // most kMostWeightParts.
  std::vector<WeightPlace> rest;
};

/// The graph from which a network can be planned again.
struct SavedGraph {
  Json graph;                          // src/plan/saved_graph.h; null: there is none
  std::map<int, WeightPlace> weights;  // by the index of the graph's node
  std::optional<bool> quantised;       // if --quantise was not what the steps look like
};

struct Model {
  Model() = default;
  Model(const Model&) = default;
  Model(Model&&) = default;
  Model& operator=(const Model&) = default;
  Model& operator=(Model&&) = default;
  /// Frees the JSON without allocating memory.
  ~Model();

  std::string name;
  std::string producer;  // "dvnet 0.1.0"
  std::string source;    // "caffe: deploy.prototxt, weights.caffemodel"
  InputInfo input;
  std::vector<TensorInfo> tensors;
  std::vector<Step> steps;
  std::vector<ExtraInput> extra_inputs;
  std::vector<OutputInfo> outputs;
  DecoderInfo decoder;
  std::vector<std::string> labels;  // by class id; may be empty
  SavedGraph saved;
  uint64_t io_bytes = 0;  // size of a slot's I/O buffer
  uint64_t constant_bytes = 0;
  std::vector<uint8_t> weights;  // packed streams, each at a multiple of 16

  /// Returns the tensor with the index that a step, an input or an output holds.
  const TensorInfo& tensor(int index) const { return nth(tensors, index); }
  TensorInfo& tensor(int index) { return nth(tensors, index); }
};

/// Checks a network from any source (a file, planning for another size, generated sources, memory):
/// names, every index, offset, size, dimension and step, and the total cost against the budgets
/// (base/budget.h). The executor trusts a model that has passed.
Status validate(const Model& model);

/// Returns whether the network keeps states from one run to the next.
bool has_states(const Model& model);

/// Returns the names of the extra inputs that the caller has to write, as "'a', 'b'".
std::string live_inputs_text(const Model& model);

/// Returns the multiply-adds of a step's convolutions and products: dense formula, padding counted.
/// 0 for a CPU step with a constant result, because it runs once.
int64_t step_macs(const Model& model, const Step& step);

/// Returns the work of a step for each frame. Of a device step: multiply-adds, taps of pooling
/// windows and eight operations for each element of the result; of a CPU step: elements read and
/// written, window taps and products.
uint64_t step_work(const Model& model, const Step& step);

/// Checks names from a file: printable, and not longer than kMaxNameBytes.
Status check_name(const std::string& name);

}  // namespace dvnn::network
