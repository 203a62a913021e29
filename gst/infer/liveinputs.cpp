// SPDX-License-Identifier: Apache-2.0
#include "infer/liveinputs.h"

#include <cmath>
#include <sstream>
#include <vector>

#include "base/format.h"
#include "meta/metas.h"
#include "meta/tensordesc.h"

namespace dvnn::gst {
namespace {

bool is_live_input(const network::Model& model, const std::string& name) {
  for (const network::ExtraInput& input : model.extra_inputs) {
    if (!input.is_state() && input.name == name) return true;
  }
  return false;
}

// Returns the newest tensor of that name that the frame carries, or null.
const GstDvTensor* find_tensor(GstBuffer* frame, const std::string& name) {
  const GstDvTensor* found = nullptr;
  for (const GstDvTensorMeta* tensors : tensor_metas(frame)) {
    if (GstDvTensor* tensor = gst_dv_tensor_meta_find_tensor(tensors, name.c_str())) found = tensor;
  }
  return found;
}

Status set_from(const GstDvTensor& tensor, size_t i, const Shape& shape,
                network::LiveInputs* inputs) {
  DVNN_ASSIGN(const TensorDesc desc, tensor_desc(tensor));
  if (desc.shape.elements() != shape.elements()) {
    return invalid_argument("the frame's tensor is " + desc.shape.to_string() + ", the input " +
                            shape.to_string());
  }
  DVNN_ASSIGN(const std::vector<uint8_t> bytes, read_bytes(tensor, desc));
  inputs->set(i, ConstTensorView{desc, bytes.data()});
  return {};
}

}  // namespace

Result<LiveNumbers> parse_live_numbers(const std::string& text) {
  LiveNumbers numbers;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.rfind('=');
    const std::string number = equals == std::string::npos ? "" : part.substr(equals + 1);
    gchar* end = nullptr;
    const double value = g_ascii_strtod(number.c_str(), &end);
    const bool good = !number.empty() && *end == '\0' && equals > 0 &&
                      std::isfinite(static_cast<float>(value)) &&
                      numbers.emplace(part.substr(0, equals), static_cast<float>(value)).second;
    if (good) continue;
    return invalid_argument(
        format("'%s' is not NAME=NUMBER,NAME=NUMBER: '%s'", text.c_str(), part.c_str()));
  }
  return numbers;
}

Status check_live_numbers(const LiveNumbers& numbers, const network::Model& model) {
  for (const auto& number : numbers) {
    if (is_live_input(model, number.first)) continue;
    const std::string known = network::live_inputs_text(model);
    return invalid_argument("network '" + model.name + "' has no live input '" + number.first +
                            "'" + (known.empty() ? "" : ": it has " + known));
  }
  return {};
}

Status read_live_inputs(GstBuffer* frame, const LiveNumbers& numbers, const network::Model& model,
                        network::LiveInputs* inputs) {
  for (size_t i = 0; i < model.extra_inputs.size(); ++i) {
    const network::ExtraInput& input = model.extra_inputs[i];
    if (input.is_state() || inputs->has(i)) continue;
    const Shape& shape = model.tensor(input.tensor).desc.shape;
    const auto number = numbers.find(input.name);
    if (const GstDvTensor* tensor = find_tensor(frame, input.name)) {
      const Status set = set_from(*tensor, i, shape, inputs);
      if (!set.ok()) return set.error().within("live input '" + input.name + "'");
    } else if (number != numbers.end()) {
      inputs->set(i, std::vector<float>(shape.count(), number->second).data());
    } else {
      return invalid_argument("live input '" + input.name + "' has no value: " +
                              "property live-inputs gives it one number, or a GstDvTensorMeta of "
                              "the frame a tensor of its name");
    }
  }
  return {};
}

}  // namespace dvnn::gst
