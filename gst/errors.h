// SPDX-License-Identifier: Apache-2.0
// Our errors as GStreamer messages, and the end of exceptions within the plugin. GStreamer and GLib
// are C, so the functions that they call (those of a class or a pad, tasks, threads, callbacks) do
// their work within guard(), unless they call nothing that could throw.
//
// There are two exceptions. Functions that create an object or a class have no way to fail: the
// process ends there, as it does when GLib has no memory for a small block. Large blocks are never
// requested from GLib in a way that ends the process: see allocate_memory() in refs.h.
#pragma once

#include <gst/gst.h>

#include "base/result.h"

namespace dvnn::gst {

/// The topic of an error decides its domain: files RESOURCE, settings LIBRARY or RESOURCE with
/// SETTINGS, data STREAM.
enum class Topic { kFile, kSettings, kData };

/// A place in the source, which GStreamer logs with the message. As a default argument it is the
/// caller's.
struct CodePlace {
  const char* file;
  const char* function;
  int line;

  static constexpr CodePlace here(const char* file = __builtin_FILE(),
                                  const char* function = __builtin_FUNCTION(),
                                  int line = __builtin_LINE()) {
    return {file, function, line};
  }
};

/// Posts `error` as an element error; `debug` holds details that a user need not read. GStreamer
/// adds the place.
void post_error(GstElement* element, Topic topic, const Error& error, const std::string& debug = {},
                const CodePlace& place = CodePlace::here());
/// Posts `error` as a warning; the element goes on.
void post_warning(GstElement* element, Topic topic, const Error& error,
                  const std::string& debug = {}, const CodePlace& place = CodePlace::here());

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
