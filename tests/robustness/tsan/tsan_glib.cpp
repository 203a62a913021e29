// SPDX-License-Identifier: Apache-2.0
// Tells ThreadSanitizer how GLib and GStreamer synchronise threads.
//
// GLib is not built with the sanitizer, and its mutexes and conditions are futexes of its own, so
// the sanitizer does not see which thread waits for which and takes every frame for a race. This
// library is loaded before GLib: its mutexes and conditions are pthreads', which the sanitizer
// knows, and releasing a reference orders all earlier accesses before later ones, as its counter
// does.
//
// Calls within GLib go to GLib's own functions. That does no harm: no mutex is locked by both
// implementations but in g_cond_wait(), which GLib never calls itself with a mutex of ours.
#include <dlfcn.h>
#include <gst/gst.h>
#include <pthread.h>
#include <sanitizer/tsan_interface.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

namespace {

// The sanitizer does not see GLib's own memory go from thread to thread, so functions that access
// it are not instrumented.
#define DVNN_UNSEEN __attribute__((no_sanitize("thread")))

// The pthread object behind a GLib one, which is all zeros at first.
template <typename T>
DVNN_UNSEEN T* behind(gpointer* place, int (*init)(T*)) {
  auto** slot = reinterpret_cast<T**>(place);
  T* object = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  if (object) {
    __tsan_acquire(object);
    return object;
  }
  T* fresh = new T;
  init(fresh);
  __tsan_release(fresh);
  constexpr bool kStrong = false;
  if (__atomic_compare_exchange_n(slot, &object, fresh, kStrong, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    return fresh;
  }
  delete fresh;
  return object;
}

pthread_mutex_t* mutex_of(GRecMutex* mutex) {
  return behind<pthread_mutex_t>(&mutex->p, [](pthread_mutex_t* m) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    const int status = pthread_mutex_init(m, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return status;
  });
}

pthread_mutex_t* mutex_of(GMutex* mutex) {
  return behind<pthread_mutex_t>(&mutex->p,
                                 [](pthread_mutex_t* m) { return pthread_mutex_init(m, nullptr); });
}

// Deadlines use the monotonic clock, as GLib's do.
pthread_cond_t* cond_of(GCond* cond) {
  return behind<pthread_cond_t>(&cond->p, [](pthread_cond_t* c) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    const int status = pthread_cond_init(c, &attributes);
    pthread_condattr_destroy(&attributes);
    return status;
  });
}

// A thread destroys a mutex only after all others have released it.
DVNN_UNSEEN void clear(gpointer* place) {
  auto* mutex = static_cast<pthread_mutex_t*>(*place);
  if (!mutex) return;
  __tsan_acquire(mutex);
  pthread_mutex_destroy(mutex);
  delete mutex;
  *place = nullptr;
}

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Represents GLib's queues of work for thread pools.
char pool_queue;

struct AsyncCall {
  GstElementCallAsyncFunc work;
  gpointer data;
  GDestroyNotify destroy;
};

void call(GstElement* element, gpointer async) {
  __tsan_acquire(&pool_queue);
  const auto* self = static_cast<AsyncCall*>(async);
  self->work(element, self->data);
}

void end_call(gpointer async) {
  auto* self = static_cast<AsyncCall*>(async);
  if (self->destroy) self->destroy(self->data);
  delete self;
}

// Orders what any holder did before what the last holder does when it frees the object.
void ordered(gpointer object) {
  __tsan_acquire(object);
  __tsan_release(object);
}

// Returns the object that is released together with this one inside GStreamer: the pool's buffer
// that this one is a copy of, or the buffer of a sample, as in sinks' last sample.
GstBuffer* carried(GstMiniObject* object) {
  if (GST_MINI_OBJECT_TYPE(object) == GST_TYPE_SAMPLE) {
    return gst_sample_get_buffer(GST_SAMPLE(object));
  }
  if (GST_MINI_OBJECT_TYPE(object) != GST_TYPE_BUFFER) return nullptr;
  const GstParentBufferMeta* parent = gst_buffer_get_parent_buffer_meta(GST_BUFFER(object));
  return parent ? parent->buffer : nullptr;
}

// Returns whether this was not the last reference. It is then released, and earlier accesses are
// ordered before those of the last holder.
DVNN_UNSEEN bool let_go_beside_others(GstMiniObject* object) {
  __tsan_release(object);
  gint count = __atomic_load_n(&object->refcount, __ATOMIC_ACQUIRE);
  constexpr bool kStrong = false;
  while (count > 1) {
    if (__atomic_compare_exchange_n(&object->refcount, &count, count - 1, kStrong, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      return true;
    }
  }
  __tsan_acquire(object);
  return false;
}

// Mapping shared memory for writing copies it and releases it inside GStreamer: earlier reads are
// ordered before writes by its pool's next holder.
template <typename Map>
gboolean map_and_order(GstBuffer* buffer, Map map) {
  constexpr guint kMost = 16;  // memories of a buffer, by GStreamer's own limit
  GstMemory* memories[kMost];
  const guint count = std::min(gst_buffer_n_memory(buffer), kMost);
  for (guint i = 0; i < count; ++i) memories[i] = gst_buffer_peek_memory(buffer, i);
  const gboolean mapped = map();
  for (guint i = 0; i < count; ++i) __tsan_release(memories[i]);
  return mapped;
}

}  // namespace

extern "C" {

DVNN_UNSEEN void g_mutex_init(GMutex* mutex) {
  mutex->p = nullptr;
  mutex_of(mutex);
}

void g_mutex_clear(GMutex* mutex) {
  clear(&mutex->p);
}

void g_mutex_lock(GMutex* mutex) {
  pthread_mutex_lock(mutex_of(mutex));
}

void g_mutex_unlock(GMutex* mutex) {
  pthread_mutex_unlock(mutex_of(mutex));
}

gboolean g_mutex_trylock(GMutex* mutex) {
  return pthread_mutex_trylock(mutex_of(mutex)) == 0;
}

DVNN_UNSEEN void g_rec_mutex_init(GRecMutex* mutex) {
  mutex->p = nullptr;
  mutex_of(mutex);
}

void g_rec_mutex_clear(GRecMutex* mutex) {
  clear(&mutex->p);
}

void g_rec_mutex_lock(GRecMutex* mutex) {
  pthread_mutex_lock(mutex_of(mutex));
}

void g_rec_mutex_unlock(GRecMutex* mutex) {
  pthread_mutex_unlock(mutex_of(mutex));
}

gboolean g_rec_mutex_trylock(GRecMutex* mutex) {
  return pthread_mutex_trylock(mutex_of(mutex)) == 0;
}

DVNN_UNSEEN void g_cond_init(GCond* cond) {
  cond->p = nullptr;
  cond_of(cond);
}

DVNN_UNSEEN void g_cond_clear(GCond* cond) {
  auto* c = static_cast<pthread_cond_t*>(cond->p);
  if (!c) return;
  pthread_cond_destroy(c);
  delete c;
  cond->p = nullptr;
}

void g_cond_wait(GCond* cond, GMutex* mutex) {
  pthread_cond_wait(cond_of(cond), mutex_of(mutex));
}

gboolean g_cond_wait_until(GCond* cond, GMutex* mutex, gint64 end_time) {
  timespec until;
  until.tv_sec = static_cast<time_t>(end_time / G_USEC_PER_SEC);
  until.tv_nsec = static_cast<long>(end_time % G_USEC_PER_SEC) * 1000;
  return pthread_cond_timedwait(cond_of(cond), mutex_of(mutex), &until) != ETIMEDOUT;
}

void g_cond_signal(GCond* cond) {
  pthread_cond_signal(cond_of(cond));
}

void g_cond_broadcast(GCond* cond) {
  pthread_cond_broadcast(cond_of(cond));
}

// Harnesses hand frames over through such a queue.
void g_async_queue_push(GAsyncQueue* queue, gpointer data) {
  static auto* const push = real<void(GAsyncQueue*, gpointer)>("g_async_queue_push");
  __tsan_release(queue);
  push(queue, data);
}

gpointer g_async_queue_try_pop(GAsyncQueue* queue) {
  static auto* const pop = real<gpointer(GAsyncQueue*)>("g_async_queue_try_pop");
  gpointer data = pop(queue);
  __tsan_acquire(queue);
  return data;
}

gpointer g_async_queue_timeout_pop(GAsyncQueue* queue, guint64 timeout) {
  static auto* const pop = real<gpointer(GAsyncQueue*, guint64)>("g_async_queue_timeout_pop");
  gpointer data = pop(queue, timeout);
  __tsan_acquire(queue);
  return data;
}

gboolean g_thread_pool_push(GThreadPool* pool, gpointer data, GError** error) {
  static auto* const push = real<gboolean(GThreadPool*, gpointer, GError**)>("g_thread_pool_push");
  __tsan_release(&pool_queue);
  return push(pool, data, error);
}

void gst_element_call_async(GstElement* element, GstElementCallAsyncFunc work, gpointer data,
                            GDestroyNotify destroy) {
  static auto* const real_call =
      real<void(GstElement*, GstElementCallAsyncFunc, gpointer, GDestroyNotify)>(
          "gst_element_call_async");
  real_call(element, call, new AsyncCall{work, data, destroy}, end_call);
}

void g_object_unref(gpointer object) {
  static auto* const unref = real<void(gpointer)>("g_object_unref");
  if (object) ordered(object);
  unref(object);
}

void gst_object_unref(gpointer object) {
  static auto* const unref = real<void(gpointer)>("gst_object_unref");
  if (object) ordered(object);
  unref(object);
}

void gst_mini_object_unref(GstMiniObject* object) {
  static auto* const unref = real<void(GstMiniObject*)>("gst_mini_object_unref");
  if (!object || let_go_beside_others(object)) return;
  GstBuffer* with = carried(object);
  if (with) gst_buffer_ref(with);
  unref(object);
  if (with) gst_mini_object_unref(GST_MINI_OBJECT_CAST(with));
}

// Copy of GStreamer's function, whose release of the old object is a call inside GStreamer.
gboolean gst_mini_object_replace(GstMiniObject** place, GstMiniObject* object) {
  if (object) gst_mini_object_ref(object);
  GstMiniObject* old = __atomic_exchange_n(place, object, __ATOMIC_ACQ_REL);
  if (old) gst_mini_object_unref(old);
  return old != object;
}

void gst_sample_set_buffer(GstSample* sample, GstBuffer* buffer) {
  static auto* const set = real<void(GstSample*, GstBuffer*)>("gst_sample_set_buffer");
  GstBuffer* old = gst_sample_get_buffer(sample);
  if (old) gst_buffer_ref(old);
  set(sample, buffer);
  if (old) gst_mini_object_unref(GST_MINI_OBJECT_CAST(old));
}

// Orders the accesses of a pooled buffer's earlier holders before those of its next one.
GstFlowReturn gst_buffer_pool_acquire_buffer(GstBufferPool* pool, GstBuffer** buffer,
                                             GstBufferPoolAcquireParams* params) {
  static auto* const acquire =
      real<GstFlowReturn(GstBufferPool*, GstBuffer**, GstBufferPoolAcquireParams*)>(
          "gst_buffer_pool_acquire_buffer");
  const GstFlowReturn flow = acquire(pool, buffer, params);
  if (flow != GST_FLOW_OK) return flow;
  ordered(*buffer);
  for (guint i = 0; i < gst_buffer_n_memory(*buffer); ++i) {
    __tsan_acquire(gst_buffer_peek_memory(*buffer, i));
  }
  return flow;
}

gboolean gst_buffer_map(GstBuffer* buffer, GstMapInfo* info, GstMapFlags flags) {
  static auto* const map = real<gboolean(GstBuffer*, GstMapInfo*, GstMapFlags)>("gst_buffer_map");
  return map_and_order(buffer, [=] { return map(buffer, info, flags); });
}

gboolean gst_buffer_map_range(GstBuffer* buffer, guint first, gint length, GstMapInfo* info,
                              GstMapFlags flags) {
  static auto* const map =
      real<gboolean(GstBuffer*, guint, gint, GstMapInfo*, GstMapFlags)>("gst_buffer_map_range");
  return map_and_order(buffer, [=] { return map(buffer, first, length, info, flags); });
}

// Copy of GStreamer's function, whose release of the original is a call inside GStreamer.
GstMiniObject* gst_mini_object_make_writable(GstMiniObject* object) {
  if (gst_mini_object_is_writable(object)) {
    ordered(object);
    return object;
  }
  GstMiniObject* copy = gst_mini_object_copy(object);
  gst_mini_object_unref(object);
  return copy;
}

}  // extern "C"
