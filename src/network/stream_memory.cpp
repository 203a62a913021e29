// SPDX-License-Identifier: Apache-2.0
#include "network/stream_memory.h"

#include <algorithm>

#include "base/log.h"
#include "tensor/tensor.h"

namespace dvnn::network {

StreamMemory::StreamMemory(std::shared_ptr<Network> network) : network_(std::move(network)) {
  for (const ExtraInput& input : model().extra_inputs) {
    values_.emplace_back(input.is_state() ? model().tensor(input.tensor).desc.bytes() : 0);
  }
}

void StreamMemory::clear_states() {
  for (std::vector<uint8_t>& state : values_) std::fill(state.begin(), state.end(), 0);
}

void StreamMemory::begin_anew() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++runs_;
  clear_states();
}

void StreamMemory::copy_to(Slot* slot) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].empty()) continue;
    std::copy(values_[i].begin(), values_[i].end(), slot->extra_input(i).data);
  }
}

void StreamMemory::fill(Slot* slot) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  copy_to(slot);
}

uint64_t StreamMemory::begin_run(Slot* slot) {
  const std::lock_guard<std::mutex> lock(mutex_);
  copy_to(slot);
  return ++runs_;
}

void StreamMemory::end_run(const Slot& slot, uint64_t run) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (run != runs_) return;
  if (!slot.has_finite_states()) {
    DVNN_LOG(kNetwork, kDebug, "network '%s': a state is not finite, all begin anew",
             model().name.c_str());
    return clear_states();
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    const ExtraInput& input = model().extra_inputs[i];
    if (!input.is_state()) continue;
    const ConstTensorView next = slot.next_state(i);
    const TensorDesc& desc = model().tensor(input.tensor).desc;
    if (next.desc == desc) {
      std::copy(next.data, next.data + values_[i].size(), values_[i].begin());
    } else {
      convert_tensor(next, {desc, values_[i].data()}, &scratch_);
    }
  }
}

size_t StreamMemory::state_bytes() const {
  size_t bytes = 0;
  for (const std::vector<uint8_t>& state : values_) bytes += state.size();
  return bytes;
}

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

namespace {

using Axes = std::vector<size_t>;

Axes long_axes(const Shape& shape) {
  Axes axes;
  for (size_t i = 0; i < shape.axes(); ++i) {
    if (shape.dims[i] != 1) axes.push_back(shape.extent(static_cast<int>(i)));
  }
  return axes;
}

size_t product(Axes::const_iterator from, Axes::const_iterator to) {
  size_t all = 1;
  for (; from != to; ++from) all *= *from;
  return all;
}

// Returns whether `result` has the axes of `input`, apart from any length of axis `at`, which it
// may lack if it adds one row.
bool fits(const Axes& input, Axes result, size_t at) {
  const auto place = static_cast<ptrdiff_t>(at);
  if (result.size() + 1 == input.size()) result.insert(result.begin() + place, 1);
  if (result.size() != input.size()) return false;
  result[at] = input[at];
  return result == input;
}

}  // namespace

Result<RowLayout> row_layout(const Shape& input, const Shape& result) {
  if (input.elements() == result.elements()) return RowLayout{1, 1, input.count(), 1};
  const Axes in = long_axes(input), out = long_axes(result);
  for (size_t at = 0; at < in.size(); ++at) {
    if (!fits(in, out, at)) continue;
    const auto place = in.begin() + static_cast<ptrdiff_t>(at);
    RowLayout layout;
    layout.outer = product(in.begin(), place);
    layout.rows = *place;
    layout.inner = product(place + 1, in.end());
    layout.added = out.size() == in.size() ? out[at] : 1;
    return layout;
  }
  return malformed("a result of " + result.to_string() + " is neither the input, " +
                   input.to_string() + ", nor rows of it");
}

RowWindow::RowWindow(const RowLayout& layout) : layout_(layout), input_(layout.input_elements()) {}

void RowWindow::add(const float* result) {
  const size_t whole = layout_.rows * layout_.inner, block = layout_.added * layout_.inner;
  const size_t fresh = std::min(whole, block);
  for (size_t i = 0; i < layout_.outer; ++i) {
    float* to = input_.data() + i * whole;
    std::copy(to + fresh, to + whole, to);
    std::copy(result + (i + 1) * block - fresh, result + (i + 1) * block, to + whole - fresh);
  }
  filled_ = std::min(layout_.rows, filled_ + layout_.added);
}

}  // namespace dvnn::network
