// SPDX-License-Identifier: Apache-2.0
// Sends a network's outputs as a stream of tensors: what downstream takes of the types and
// spellings that are possible. Elements lie as NNStreamer's: C:W:H:N, whatever the device's layout.
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
  /// Memory of output i, which lies in the slot's memory like `from`; kNoMemory.
  Result<MemoryPtr> write(size_t i, const ConstTensorView& from) const;
  /// Returns whether output i leaves with the same bytes that it has in the slot.
  bool is_as_it_is(size_t i, const TensorDesc& own) const;
};

/// Caps of streams of a network's outputs, at any frame rate: their own types, all float32, all
/// float16; flexible. (transfer full)
GstCaps* tensor_output_caps(const network::Model& model, const GstCaps* filter);

/// A form and its fixed caps, with the frame rate of `rate` (0/1 if it has none; any, if null).
struct ChosenOutput {
  std::shared_ptr<const TensorOutput> form;
  CapsPtr caps;
};
/// The first form that `downstream` takes, in its spelling; nothing if it takes none.
std::optional<ChosenOutput> choose_output(const network::Model& model, const GstCaps* downstream,
                                          const GstStructure* rate);

}  // namespace dvnn::gst
