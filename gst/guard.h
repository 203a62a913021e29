// SPDX-License-Identifier: Apache-2.0
// Where exceptions end in the plugin. GStreamer and GLib are C: what they call (functions of a
// class or a pad, tasks, threads, callbacks) does its work within guard(), unless it calls nothing
// that could throw.
//
// Two things stay outside. What makes an object or a class has no way to fail: there the process
// ends, as it does where GLib has no memory for a small thing. And large things are never asked of
// GLib in a way that ends the process: see allocate_memory() in refs.h.
#pragma once

#include "base/guard.h"
#include "errors.h"

namespace dvnn::gst {

/// Returns what `work` returns. An exception is posted as an error of `element` that begins with
/// `what`, the doing that failed ("the frame cannot be drawn"), and `otherwise` is returned. The
/// object lock must not be held.
template <typename T, typename Work>
T guard(gpointer element, const char* what, T otherwise, Work&& work) noexcept {
  try {
    return work();
  } catch (...) {
    post_error(GST_ELEMENT_CAST(element), Topic::kData, error_of_exception(what));
    return otherwise;
  }
}

/// The same for work that returns nothing.
template <typename Work>
void guard(gpointer element, const char* what, Work&& work) noexcept {
  guard(element, what, 0, [&] {
    work();
    return 0;
  });
}

}  // namespace dvnn::gst
