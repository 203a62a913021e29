// SPDX-License-Identifier: Apache-2.0
// Ends exceptions within the plugin. GStreamer and GLib are C, so the functions that they call
// (those of a class or a pad, tasks, threads, callbacks) do their work within guard(), unless they
// call nothing that could throw.
//
// There are two exceptions. Functions that create an object or a class have no way to fail: the
// process ends there, as it does when GLib has no memory for a small block. Large blocks are never
// requested from GLib in a way that ends the process: see allocate_memory() in refs.h.
#pragma once

#include "base/result.h"
#include "errors.h"

namespace dvnn::gst {

/// Returns what `work` returns. An exception is posted as an error of `element` that begins with
/// `what`, the activity that failed ("the frame cannot be drawn"), and `otherwise` is returned. The
/// object lock must not be held.
template <typename T, typename Work>
T guard(gpointer element, const char* what, T otherwise, Work&& work,
        const CodePlace& place = CodePlace::here()) noexcept {
  try {
    return work();
  } catch (...) {
    post_error(GST_ELEMENT_CAST(element), Topic::kData, error_of_exception(what), {}, place);
    return otherwise;
  }
}

/// The same for work that returns nothing.
template <typename Work>
void guard(gpointer element, const char* what, Work&& work,
           const CodePlace& place = CodePlace::here()) noexcept {
  guard(
      element, what, 0,
      [&] {
        work();
        return 0;
      },
      place);
}

}  // namespace dvnn::gst
