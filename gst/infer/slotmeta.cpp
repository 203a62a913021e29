// SPDX-License-Identifier: Apache-2.0
#include "infer/slotmeta.h"

#include <atomic>
#include <memory>
#include <new>
#include <utility>

#include "meta/metas.h"
#include "meta/metatransform.h"

namespace dvnn::gst {

// --- on frames ---------------------------------------------------------------------------------

namespace {

// The slot, shared by all copies of a frame.
struct Ticket {
  std::mutex mutex;
  FilledSlot filled;
};

struct SlotMeta {
  GstMeta meta;
  std::shared_ptr<Ticket> ticket;  // in place: making and copying it cannot fail
};

GType slot_meta_api() {
  static const GType type = gst_meta_api_type_register("GstDvSlotMetaAPI", pixel_meta_tags());
  return type;
}

gboolean slot_meta_init(GstMeta* meta, gpointer, GstBuffer*) {
  new (&reinterpret_cast<SlotMeta*>(meta)->ticket) std::shared_ptr<Ticket>();
  return TRUE;
}

void slot_meta_free(GstMeta* meta, GstBuffer*) {
  std::destroy_at(&reinterpret_cast<SlotMeta*>(meta)->ticket);
}

const GstMetaInfo* slot_meta_info();

// The tensor shows the pixels as they were: only whole copies keep it.
gboolean slot_meta_transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data) {
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
  auto* copy = reinterpret_cast<SlotMeta*>(gst_buffer_add_meta(to, slot_meta_info(), nullptr));
  copy->ticket = reinterpret_cast<SlotMeta*>(meta)->ticket;
  return TRUE;
}

const GstMetaInfo* slot_meta_info() {
  static const GstMetaInfo* const info =
      gst_meta_register(slot_meta_api(), "GstDvSlotMeta", sizeof(SlotMeta), slot_meta_init,
                        slot_meta_free, slot_meta_transform);
  return info;
}

}  // namespace

void attach_slot(GstBuffer* frame, FilledSlot filled) {
  auto ticket = std::make_shared<Ticket>();
  ticket->filled = std::move(filled);
  auto* meta = reinterpret_cast<SlotMeta*>(gst_buffer_add_meta(frame, slot_meta_info(), nullptr));
  meta->ticket = std::move(ticket);
}

std::optional<FilledSlot> take_slot(GstBuffer* frame, const network::Network* network) {
  for (SlotMeta* meta : Metas<SlotMeta>(frame, slot_meta_api())) {
    Ticket* ticket = meta->ticket.get();
    if (!ticket) continue;
    const std::lock_guard<std::mutex> lock(ticket->mutex);
    const SlotPtr& slot = ticket->filled.slot;
    if (slot && (*slot)->network().get() == network) return std::exchange(ticket->filled, {});
  }
  return std::nullopt;
}

void strip_slots(GstBuffer* frame) {
  gst_buffer_foreach_meta(
      frame,
      [](GstBuffer*, GstMeta** meta, gpointer) -> gboolean {
        if ((*meta)->info == slot_meta_info()) *meta = nullptr;
        return TRUE;
      },
      nullptr);
}

// --- in streams of tensors ---------------------------------------------------------------------

namespace {

constexpr const char* kMemoryType = "DvSlotMemory";

struct SlotMemory {
  GstMemory memory;
  SlotPtr slot;
  std::atomic<bool> written{false};
};

struct SlotAllocator {
  GstAllocator parent;
};
struct SlotAllocatorClass {
  GstAllocatorClass parent_class;
};

gpointer slot_memory_map(GstMemory* memory, gsize, GstMapFlags) {
  return (*reinterpret_cast<SlotMemory*>(memory)->slot)->input().data();
}

void slot_memory_unmap(GstMemory*) {}

}  // namespace

using GstDvSlotAllocator = SlotAllocator;
using GstDvSlotAllocatorClass = SlotAllocatorClass;
G_DEFINE_TYPE(GstDvSlotAllocator, gst_dv_slot_allocator, GST_TYPE_ALLOCATOR)

static void gst_dv_slot_allocator_free(GstAllocator*, GstMemory* memory) {
  delete reinterpret_cast<SlotMemory*>(memory);
}

static void gst_dv_slot_allocator_init(GstDvSlotAllocator* self) {
  GstAllocator* allocator = GST_ALLOCATOR(self);
  allocator->mem_type = kMemoryType;
  allocator->mem_map = slot_memory_map;
  allocator->mem_unmap = slot_memory_unmap;
  // Only slots make such memories.
  GST_OBJECT_FLAG_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

static void gst_dv_slot_allocator_class_init(GstDvSlotAllocatorClass* klass) {
  GST_ALLOCATOR_CLASS(klass)->alloc = nullptr;
  GST_ALLOCATOR_CLASS(klass)->free = gst_dv_slot_allocator_free;
}

static SlotMemory* slot_memory(GstBuffer* buffer) {
  GstMemory* memory =
      gst_buffer_n_memory(buffer) == 1 ? gst_buffer_peek_memory(buffer, 0) : nullptr;
  return memory && gst_memory_is_type(memory, kMemoryType) ? reinterpret_cast<SlotMemory*>(memory)
                                                           : nullptr;
}

BufferPtr slot_buffer(SlotPtr slot) {
  // The process has one, because memories may outlive every pipeline.
  static GstAllocator* const allocator = [] {
    auto* made =
        GST_ALLOCATOR(g_object_ref_sink(g_object_new(gst_dv_slot_allocator_get_type(), nullptr)));
    GST_OBJECT_FLAG_SET(made, GST_OBJECT_FLAG_MAY_BE_LEAKED);
    return made;
  }();
  const gsize size = (*slot)->input().size();
  auto* memory = new SlotMemory();
  memory->slot = std::move(slot);
  gst_memory_init(GST_MEMORY_CAST(memory), GST_MEMORY_FLAG_NO_SHARE, allocator, nullptr, size, 0, 0,
                  size);
  BufferPtr buffer(gst_buffer_new());
  gst_buffer_append_memory(buffer.get(), GST_MEMORY_CAST(memory));
  return buffer;
}

void mark_slot_written(GstBuffer* tensor) {
  SlotMemory* memory = slot_memory(tensor);
  if (!memory) return;
  (*memory->slot)->expect_tensor();
  memory->written = true;
}

std::optional<SlotPtr> take_slot_memory(GstBuffer* tensor, const network::Network* network) {
  SlotMemory* memory = slot_memory(tensor);
  // Other readers of the buffer must not see what the run leaves in it.
  if (!memory || !gst_buffer_is_writable(tensor) ||
      !gst_mini_object_is_writable(GST_MINI_OBJECT_CAST(memory))) {
    return std::nullopt;
  }
  if ((*memory->slot)->network().get() != network) return std::nullopt;
  if (!memory->written.exchange(false)) return std::nullopt;
  return memory->slot;
}

}  // namespace dvnn::gst
