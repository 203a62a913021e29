// SPDX-License-Identifier: Apache-2.0
// What ThreadSanitizer must know of GLib's and GStreamer's threads.
//
// GLib is not built with the sanitizer, and its mutexes and conditions are futexes of its own, so
// the sanitizer does not see who waits for whom and takes every frame for a race. This library is
// loaded before GLib: its mutexes and conditions are pthreads', which the sanitizer knows, and
// references that are let go order what was done before behind them, as their counters do.
//
// Calls within GLib itself go to GLib's own functions. That is no harm: no mutex is locked from
// both sides but in g_cond_wait(), which nobody calls within GLib with a mutex of ours.
#include <dlfcn.h>
#include <glib-object.h>
#include <pthread.h>
#include <sanitizer/tsan_interface.h>
#include <time.h>

#include <atomic>
#include <cerrno>

namespace {

// The pthread object behind a GLib one, which is all zeros at first.
template <typename T>
T* behind(gpointer* place, int (*init)(T*)) {
  auto* slot = reinterpret_cast<std::atomic<T*>*>(place);
  T* object = slot->load(std::memory_order_acquire);
  if (object) return object;
  T* fresh = new T;
  init(fresh);
  if (slot->compare_exchange_strong(object, fresh, std::memory_order_acq_rel)) return fresh;
  delete fresh;
  return object;
}

pthread_mutex_t* mutex_of(GMutex* mutex) {
  return behind<pthread_mutex_t>(&mutex->p,
                                 [](pthread_mutex_t* m) { return pthread_mutex_init(m, nullptr); });
}

// Deadlines are of the monotonic clock, as GLib's.
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

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// What any holder did comes before what the last one frees.
void ordered(gpointer object) {
  __tsan_acquire(object);
  __tsan_release(object);
}

}  // namespace

extern "C" {

void g_mutex_init(GMutex* mutex) {
  mutex->p = nullptr;
  mutex_of(mutex);
}

void g_mutex_clear(GMutex* mutex) {
  auto* m = static_cast<pthread_mutex_t*>(mutex->p);
  if (!m) return;
  pthread_mutex_destroy(m);
  delete m;
  mutex->p = nullptr;
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

void g_cond_init(GCond* cond) {
  cond->p = nullptr;
  cond_of(cond);
}

void g_cond_clear(GCond* cond) {
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

void gst_mini_object_unref(gpointer object) {
  static auto* const unref = real<void(gpointer)>("gst_mini_object_unref");
  if (object) ordered(object);
  unref(object);
}

}  // extern "C"
