// SPDX-License-Identifier: Apache-2.0
// A filled slot on its way from dvconvert to dvinfer: as a meta on a frame, or as the memory of a
// buffer of a stream of tensors.
//
// A slot is good for one run, as a run may use the input's memory for something else. However many
// copies of a frame or buffer there are, the first dvinfer of the slot's network takes the slot
// out, and the others find nothing; what still holds a copy then holds no slot.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "image/view.h"
#include "infer/slotpool.h"
#include "refs.h"

namespace dvnn::gst {

/// A slot with an input tensor in it, and the part of the frame that the tensor shows.
struct FilledSlot {
  SlotPtr slot;
  image::Shown shown;
  size_t region = 0;  // index among the frame's regions
};

/// Attaches a filled slot to a writable frame, beside those of its other regions. Copies of the
/// whole frame share it; a frame whose pixels were changed loses it.
void attach_slot(GstBuffer* frame, FilledSlot filled);
/// Takes the next slot of `network` that is attached to the frame, or nothing if none is left.
std::optional<FilledSlot> take_slot(GstBuffer* frame, const network::Network* network);
/// Removes all attached slots from a writable frame.
void strip_slots(GstBuffer* frame);

/// Creates a buffer whose memory is the slot's input.
BufferPtr slot_buffer(SlotPtr slot);
/// Marks the tensor in such a buffer as complete.
void mark_slot_written(GstBuffer* tensor);
/// Takes the slot out of a buffer of a stream of tensors, if the buffer has a written slot of
/// `network` and is its only owner.
std::optional<SlotPtr> take_slot_memory(GstBuffer* tensor, const network::Network* network);

}  // namespace dvnn::gst
