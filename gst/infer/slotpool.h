// SPDX-License-Identifier: Apache-2.0
// A network's slots as a GstBufferPool.
//
// Who owns what: a slot (I/O buffer and command lists) lives in one GstMemory, the memory in one
// GstBuffer, the buffer in the pool. dvconvert acquires the buffer and writes the input tensor into
// its memory; the frame's input meta holds a reference. dvinfer runs the slot; the output metas'
// buffers each hold a reference to the same buffer. When the last of these references goes, the
// buffer, and with it the slot, is back in the pool. The pool has a fixed number of slots: who asks
// for one more waits, which is how a slow network slows its source down.
#pragma once

#include <gst/gst.h>

#include <memory>

#include "network/network.h"

namespace dvnn::gst {

/// A pool of `slots` slots of `network`, configured and inactive. (transfer full)
GstBufferPool* slot_pool_new(const std::shared_ptr<network::Network>& network, guint slots);

/// The slot in `buffer`, or null if the buffer is of another kind.
network::Slot* slot_of(GstBuffer* buffer);

using network::InputKind;

/// Marks the slot's input as freshly written with this, once per frame.
void slot_mark_written(GstBuffer* buffer, InputKind kind);

/// True once after slot_mark_written(): a run may reuse the input's memory, so an input can be used
/// only once, however many copies of its frame there are.
bool slot_take_input(GstBuffer* buffer);

}  // namespace dvnn::gst
