// SPDX-License-Identifier: Apache-2.0
// ONNX models, as dvnet convert takes them. The first byte chooses options, the file follows.
#include "convert/convert.h"
#include "converter_options.h"
#include "import/onnx/import.h"
#include "onnx.pb.h"
#include "proto_mutator.h"
#include "target.h"

namespace dvnn::fuzz::onnx_target {

namespace {

// Names of operators, of their attributes, and of what those may say.
std::vector<std::string> words() {
  std::vector<std::string> list = import::onnx_operators();
  list.insert(list.end(), {"alpha",
                           "allowzero",
                           "auto_pad",
                           "axes",
                           "axis",
                           "beta",
                           "broadcast",
                           "ceil_mode",
                           "coordinate_transformation_mode",
                           "count_include_pad",
                           "cubic_coeff_a",
                           "dilations",
                           "ends",
                           "epsilon",
                           "gamma",
                           "group",
                           "keepdims",
                           "kernel_shape",
                           "max",
                           "min",
                           "mode",
                           "nearest_mode",
                           "num_outputs",
                           "output_padding",
                           "output_shape",
                           "pads",
                           "perm",
                           "scales",
                           "sizes",
                           "split",
                           "starts",
                           "steps",
                           "storage_order",
                           "strides",
                           "to",
                           "transA",
                           "transB",
                           "value",
                           "value_float",
                           "value_floats",
                           "value_int",
                           "value_ints",
                           "SAME_UPPER",
                           "SAME_LOWER",
                           "VALID",
                           "NOTSET",
                           "nearest",
                           "linear",
                           "cubic",
                           "asymmetric",
                           "half_pixel",
                           "align_corners",
                           "pytorch_half_pixel",
                           "constant",
                           "reflect",
                           "edge",
                           "floor",
                           "ceil",
                           "round_prefer_floor",
                           "",
                           "x",
                           "y",
                           "If",
                           "then_branch",
                           "else_branch",
                           "approximate",
                           "tanh",
                           "blocksize",
                           "CRD",
                           "DCR",
                           "num_groups",
                           "stash_type",
                           "largest",
                           "sorted",
                           "select_last_index",
                           "padding_mode",
                           "bilinear",
                           "antialias",
                           "wrap",
                           "exclusive",
                           "reverse",
                           "fmod",
                           "p",
                           "bias",
                           "size",
                           "lambd",
                           "saturate",
                           "output_dtype",
                           "location",
                           "offset",
                           "length"});
  return list;
}

fuzz::ProtoMutator& mutator() {
  static auto* const mutator = new fuzz::ProtoMutator(words());
  return *mutator;
}

}  // namespace

static size_t mutate(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  onnx::ModelProto model;
  if (size < 2 || seed % 32 == 0 ||
      !model.ParsePartialFromArray(data + 1, static_cast<int>(size - 1))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  if (seed % 16 == 1) data[0] = static_cast<uint8_t>(seed >> 8);
  mutator().mutate(&model, seed);
  if (model.ByteSizeLong() + 1 > max_size) return LLVMFuzzerMutate(data, size, max_size);
  model.SerializePartialToArray(data + 1, static_cast<int>(max_size - 1));
  return model.ByteSizeLong() + 1;
}

static void prepare() {
  fuzz::set_small_budgets();
  google::protobuf::SetLogHandler(nullptr);
}

static void try_input(const uint8_t* data, size_t size) {
  fuzz::convert_file(data, size, convert::convert_onnx);
}

DVNN_FUZZ_MUTATED_TARGET(onnx)

}  // namespace dvnn::fuzz::onnx_target
