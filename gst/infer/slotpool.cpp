// SPDX-License-Identifier: Apache-2.0
#include "infer/slotpool.h"

#include <atomic>
#include <new>

#include "errors.h"
#include "meta/tensordesc.h"

using dvnn::network::Network;
using dvnn::network::Slot;

// --- memory and allocator ----------------------------------------------------------------------

namespace {

constexpr const char* kMemoryType = "DvSlotMemory";

struct SlotMemory {
  GstMemory memory;
  std::unique_ptr<Slot>* slot;
  std::atomic<bool>* written;
};

}  // namespace

struct GstDvSlotAllocator {
  GstAllocator parent;
};
struct GstDvSlotAllocatorClass {
  GstAllocatorClass parent_class;
};

G_DEFINE_TYPE(GstDvSlotAllocator, gst_dv_slot_allocator, GST_TYPE_ALLOCATOR)

static gpointer gst_dv_slot_memory_map(GstMemory* memory, gsize, GstMapFlags) {
  return (*reinterpret_cast<SlotMemory*>(memory)->slot)->input().data();
}

static void gst_dv_slot_memory_unmap(GstMemory*) {}

static void gst_dv_slot_allocator_free(GstAllocator*, GstMemory* memory) {
  auto* self = reinterpret_cast<SlotMemory*>(memory);
  delete self->slot;
  delete self->written;
  g_free(self);
}

static void gst_dv_slot_allocator_init(GstDvSlotAllocator* self) {
  GstAllocator* allocator = GST_ALLOCATOR(self);
  allocator->mem_type = kMemoryType;
  allocator->mem_map = gst_dv_slot_memory_map;
  allocator->mem_unmap = gst_dv_slot_memory_unmap;
  // Memories come from the pool alone, which makes the slots.
  GST_OBJECT_FLAG_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

static void gst_dv_slot_allocator_class_init(GstDvSlotAllocatorClass* klass) {
  GST_ALLOCATOR_CLASS(klass)->alloc = nullptr;
  GST_ALLOCATOR_CLASS(klass)->free = gst_dv_slot_allocator_free;
}

// --- pool --------------------------------------------------------------------------------------

struct GstDvSlotPool {
  GstBufferPool parent;
  std::shared_ptr<Network>* network;
  GstAllocator* allocator;
};
struct GstDvSlotPoolClass {
  GstBufferPoolClass parent_class;
};

G_DEFINE_TYPE(GstDvSlotPool, gst_dv_slot_pool, GST_TYPE_BUFFER_POOL)

static GstFlowReturn gst_dv_slot_pool_alloc_buffer(GstBufferPool* pool, GstBuffer** buffer,
                                                   GstBufferPoolAcquireParams*) {
  auto* self = reinterpret_cast<GstDvSlotPool*>(pool);
  auto slot = (*self->network)->create_slot();
  if (!slot.ok()) {
    GST_ERROR_OBJECT(pool, "%s", slot.error().message.c_str());
    return GST_FLOW_ERROR;
  }
  const gsize size = slot.value()->input().size();
  auto* memory = g_new0(SlotMemory, 1);
  memory->slot = new std::unique_ptr<Slot>(std::move(slot.value()));
  memory->written = new std::atomic<bool>(false);
  gst_memory_init(GST_MEMORY_CAST(memory), GST_MEMORY_FLAG_NO_SHARE, self->allocator, nullptr, size,
                  0, 0, size);
  *buffer = gst_buffer_new();
  gst_buffer_append_memory(*buffer, GST_MEMORY_CAST(memory));
  return GST_FLOW_OK;
}

static void gst_dv_slot_pool_finalize(GObject* object) {
  auto* self = reinterpret_cast<GstDvSlotPool*>(object);
  // Buffers go first, in the parent's finalize: they hold the network by themselves.
  G_OBJECT_CLASS(gst_dv_slot_pool_parent_class)->finalize(object);
  delete self->network;
  gst_object_unref(self->allocator);
}

static void gst_dv_slot_pool_init(GstDvSlotPool* self) {
  self->network = new std::shared_ptr<Network>();
  self->allocator =
      GST_ALLOCATOR(g_object_ref_sink(g_object_new(gst_dv_slot_allocator_get_type(), nullptr)));
}

static void gst_dv_slot_pool_class_init(GstDvSlotPoolClass* klass) {
  G_OBJECT_CLASS(klass)->finalize = gst_dv_slot_pool_finalize;
  GST_BUFFER_POOL_CLASS(klass)->alloc_buffer = gst_dv_slot_pool_alloc_buffer;
}

namespace dvnn::gst {

GstBufferPool* slot_pool_new(const std::shared_ptr<network::Network>& network, guint slots) {
  auto* self = reinterpret_cast<GstDvSlotPool*>(g_object_new(gst_dv_slot_pool_get_type(), nullptr));
  gst_object_ref_sink(self);
  *self->network = network;
  GstBufferPool* pool = GST_BUFFER_POOL(self);
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(
      config, nullptr, static_cast<guint>(network->input_desc().bytes()), slots, slots);
  gst_buffer_pool_set_config(pool, config);
  return pool;
}

static SlotMemory* slot_memory(GstBuffer* buffer) {
  GstMemory* memory =
      gst_buffer_n_memory(buffer) == 1 ? gst_buffer_peek_memory(buffer, 0) : nullptr;
  return memory && gst_memory_is_type(memory, kMemoryType) ? reinterpret_cast<SlotMemory*>(memory)
                                                           : nullptr;
}

network::Slot* slot_of(GstBuffer* buffer) {
  SlotMemory* memory = slot_memory(buffer);
  return memory ? memory->slot->get() : nullptr;
}

void slot_mark_written(GstBuffer* buffer, InputKind kind) {
  slot_of(buffer)->set_input_kind(kind);
  *slot_memory(buffer)->written = true;
}

bool slot_take_input(GstBuffer* buffer) {
  return slot_memory(buffer)->written->exchange(false);
}

}  // namespace dvnn::gst
