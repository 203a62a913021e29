// SPDX-License-Identifier: Apache-2.0
#include "network/live_inputs.h"

#include <algorithm>

namespace dvnn::network {

LiveInputs::LiveInputs(const Model& model) : is_set_(model.extra_inputs.size()) {
  for (const ExtraInput& input : model.extra_inputs) {
    descs_.push_back(model.tensor(input.tensor).desc);
    values_.emplace_back(input.is_state() ? 0 : descs_.back().bytes());
  }
}

void LiveInputs::set(size_t i, const float* values) {
  write_nchw(values, {descs_[i], values_[i].data()});
  is_set_[i] = true;
}

void LiveInputs::set(size_t i, const ConstTensorView& tensor) {
  std::vector<float> values(tensor.desc.shape.count());
  read_nchw(tensor, values.data());
  set(i, values.data());
}

void LiveInputs::fill(Slot* slot) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i].empty()) {
      std::copy(values_[i].begin(), values_[i].end(), slot->extra_input(i).data);
    }
  }
}

}  // namespace dvnn::network
