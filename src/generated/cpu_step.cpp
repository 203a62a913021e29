// SPDX-License-Identifier: Apache-2.0
#include "generated/cpu_step.h"

#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "layers/attributes.h"
#include "tensor/tensor_json.h"

namespace dvnn::generated {

Status CpuStep::read_tensors(const Json* list, std::vector<Tensor>* tensors) {
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  constexpr size_t kMostTensors = 4096;
  if (!list || !list->is_array() || list->size() > kMostTensors) {
    return malformed("the layer's tensors are not listed");
  }
  for (const Json& item : *list) {
    Tensor tensor;
    JsonReader in(item, "a tensor");
    tensor.desc = read_desc(&in);
    tensor.constant = in.text("storage") == "constant";
    tensor.offset = static_cast<size_t>(in.integer("offset", 0, kMostBytes));
    DVNN_TRY(in.status());
    if (tensor.offset % element_size(tensor.desc.type) != 0) {
      return malformed(format("offset %zu is not aligned", tensor.offset));
    }
    tensors->push_back(tensor);
  }
  return {};
}

Result<CpuStep> CpuStep::parse(const std::string& description) {
  DVNN_ASSIGN(auto json, parse_json(description, "the layer's description"));
  CpuStep step;
  JsonReader in(json, "the layer");
  const std::string type = in.text("type");
  DVNN_TRY(in.status());
  DVNN_ASSIGN(step.attributes_, layers::read_layer(type, in.member("params")));
  DVNN_TRY(read_tensors(in.member("inputs"), &step.inputs_));
  DVNN_TRY(read_tensors(in.member("outputs"), &step.outputs_));
  if (step.outputs_.empty()) return malformed("the layer has no output");
  return step;
}

size_t CpuStep::constant_bytes() const {
  size_t bytes = 0;
  for (const auto* list : {&inputs_, &outputs_}) {
    for (const Tensor& t : *list) {
      if (t.constant) bytes = std::max(bytes, t.offset + t.desc.bytes());
    }
  }
  return bytes;
}

Status CpuStep::bind(uint8_t* io, size_t io_bytes, uint8_t* constants) {
  for (const auto* list : {&inputs_, &outputs_}) {
    for (const Tensor& t : *list) {
      const size_t end = t.offset + t.desc.bytes();
      if (!t.constant && end > io_bytes) {
        return malformed(
            format("a tensor ends at byte %zu of an I/O buffer of %zu", end, io_bytes));
      }
    }
  }
  auto data = [&](const Tensor& t) { return (t.constant ? constants : io) + t.offset; };
  for (const Tensor& t : inputs_) layer_.add_input({t.desc, data(t)});
  for (const Tensor& t : outputs_) layer_.add_output({t.desc, data(t)});
  DVNN_TRY(layer_.create(*attributes_));
  attributes_.reset();
  return {};
}

}  // namespace dvnn::generated
