// SPDX-License-Identifier: Apache-2.0
// Owners of GStreamer's handles; a handle is released when its owner goes out of scope. A result
// that a function returns as (transfer full) goes into an owner at once; one that is (transfer
// none) does not. So no code releases a local value by hand; the test `references` finds code that
// does.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace dvnn::gst {

struct Unref {
  void operator()(GstBuffer* p) const { gst_buffer_unref(p); }
  void operator()(GstCaps* p) const { gst_caps_unref(p); }
  void operator()(GstEvent* p) const { gst_event_unref(p); }
  void operator()(GstMemory* p) const { gst_memory_unref(p); }
  void operator()(GstMessage* p) const { gst_message_unref(p); }
  void operator()(GstMiniObject* p) const { gst_mini_object_unref(p); }
  void operator()(GstQuery* p) const { gst_query_unref(p); }
  void operator()(GstStructure* p) const { gst_structure_free(p); }
  void operator()(GstVideoOverlayComposition* p) const { gst_video_overlay_composition_unref(p); }
  void operator()(GstVideoOverlayRectangle* p) const { gst_video_overlay_rectangle_unref(p); }
  void operator()(GstBufferPool* p) const { gst_object_unref(p); }
  void operator()(GstElement* p) const { gst_object_unref(p); }
  void operator()(GstTask* p) const { gst_object_unref(p); }
  void operator()(GstPad* p) const { gst_object_unref(p); }
  void operator()(GstPadTemplate* p) const { gst_object_unref(p); }
  void operator()(GstElementFactory* p) const { gst_object_unref(p); }
  void operator()(GstIterator* p) const { gst_iterator_free(p); }
  void operator()(GDateTime* p) const { g_date_time_unref(p); }
  void operator()(GError* p) const { g_error_free(p); }
  void operator()(GBytes* p) const { g_bytes_unref(p); }
  void operator()(gchar* p) const { g_free(p); }
};

using BufferPtr = std::unique_ptr<GstBuffer, Unref>;
using BytesPtr = std::unique_ptr<GBytes, Unref>;
using BufferPoolPtr = std::unique_ptr<GstBufferPool, Unref>;
using CapsPtr = std::unique_ptr<GstCaps, Unref>;
using ElementPtr = std::unique_ptr<GstElement, Unref>;
using DateTimePtr = std::unique_ptr<GDateTime, Unref>;
using ErrorPtr = std::unique_ptr<GError, Unref>;
using EventPtr = std::unique_ptr<GstEvent, Unref>;
using FactoryPtr = std::unique_ptr<GstElementFactory, Unref>;
using MemoryPtr = std::unique_ptr<GstMemory, Unref>;
using MessagePtr = std::unique_ptr<GstMessage, Unref>;
using MiniObjectPtr = std::unique_ptr<GstMiniObject, Unref>;
using PadPtr = std::unique_ptr<GstPad, Unref>;
using PadTemplatePtr = std::unique_ptr<GstPadTemplate, Unref>;
using QueryPtr = std::unique_ptr<GstQuery, Unref>;
using StructurePtr = std::unique_ptr<GstStructure, Unref>;
using TaskPtr = std::unique_ptr<GstTask, Unref>;
using RectanglePtr = std::unique_ptr<GstVideoOverlayRectangle, Unref>;
using CompositionPtr = std::unique_ptr<GstVideoOverlayComposition, Unref>;
using CharsPtr = std::unique_ptr<gchar, Unref>;

/// Adds a reference to `object`.
inline BufferPtr ref(GstBuffer* object) {
  return BufferPtr(gst_buffer_ref(object));
}
inline CapsPtr ref(GstCaps* object) {
  return CapsPtr(gst_caps_ref(object));
}

/// Allocates `size` bytes; null if there is no room, where GStreamer's own allocator ends the
/// process. For memory that may be large.
inline MemoryPtr allocate_memory(gsize size) {
  gpointer data = g_try_malloc(std::max<gsize>(size, 1));
  if (!data) return nullptr;
  return MemoryPtr(
      gst_memory_new_wrapped(static_cast<GstMemoryFlags>(0), data, size, 0, size, data, g_free));
}

/// Allocates a buffer with one memory of `size` bytes; null if there is no room.
inline BufferPtr allocate_buffer(gsize size) {
  MemoryPtr memory = allocate_memory(size);
  if (!memory) return nullptr;
  BufferPtr buffer(gst_buffer_new());
  gst_buffer_append_memory(buffer.get(), memory.release());
  return buffer;
}

/// A value that is unset with its owner. A function that takes a value's contents leaves it zeroed
/// or copied, either of which is fine here.
class Value {
 public:
  explicit Value(GType type) { g_value_init(&value_, type); }
  ~Value() {
    if (G_IS_VALUE(&value_)) g_value_unset(&value_);
  }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  GValue* get() { return &value_; }

 private:
  GValue value_ = G_VALUE_INIT;
};

/// Holds an object's lock.
class ObjectLock {
 public:
  explicit ObjectLock(gpointer object) : object_(GST_OBJECT_CAST(object)) {
    GST_OBJECT_LOCK(object_);
  }
  ~ObjectLock() { GST_OBJECT_UNLOCK(object_); }
  ObjectLock(const ObjectLock&) = delete;
  ObjectLock& operator=(const ObjectLock&) = delete;

 private:
  GstObject* object_;
};

/// Maps a buffer's memory for its own lifetime.
class BufferMap {
 public:
  BufferMap() = default;
  BufferMap(GstBuffer* buffer, GstMapFlags flags)
      : buffer_(gst_buffer_map(buffer, &map_, flags) ? buffer : nullptr) {}
  ~BufferMap() {
    if (buffer_) gst_buffer_unmap(buffer_, &map_);
  }
  BufferMap(BufferMap&& other) noexcept
      : map_(other.map_), buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferMap(const BufferMap&) = delete;
  BufferMap& operator=(const BufferMap&) = delete;

  bool ok() const { return buffer_ != nullptr; }
  guint8* data() const { return map_.data; }
  gsize size() const { return map_.size; }

 private:
  GstMapInfo map_{};
  GstBuffer* buffer_ = nullptr;
};

}  // namespace dvnn::gst
