// SPDX-License-Identifier: Apache-2.0
// Sends a network's outputs as a stream of tensors, in a type and spelling that downstream takes.
// Elements lie in NNStreamer's order, C:W:H:N, whatever the device's layout.
#pragma once

#include <memory>
#include <optional>

#include "frames/tensorcaps.h"
#include "network/model.h"

namespace dvnn::gst {

/// One form of a network's outputs.
struct TensorOutput {
  std::vector<TensorDesc> tensors;
  bool flexible = false;  // a header precedes each tensor

  std::vector<StreamTensor> stream() const;
  /// Returns memory with output i, converted from `from`, its tensor in the slot; or kNoMemory.
  Result<MemoryPtr> write(size_t i, const ConstTensorView& from) const;
  /// Returns whether output i leaves with the same bytes as in the slot.
  bool is_as_it_is(size_t i, const TensorDesc& own) const;
};

/// Returns caps of streams of a network's outputs at any frame rate: of their own types, all
/// float32, all float16, or flexible. (transfer full)
GstCaps* tensor_output_caps(const network::Model& model, const GstCaps* filter);

/// A form and its fixed caps. They have the frame rate of `rate`: 0/1 if it has none, any if `rate`
/// is null.
struct ChosenOutput {
  std::shared_ptr<const TensorOutput> form;
  CapsPtr caps;
};
/// Returns the first form that `downstream` takes, in downstream's spelling; nothing if it takes
/// none.
std::optional<ChosenOutput> choose_output(const network::Model& model, const GstCaps* downstream,
                                          const GstStructure* rate);

}  // namespace dvnn::gst
