// SPDX-License-Identifier: Apache-2.0
// Our errors as GStreamer messages.
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

}  // namespace dvnn::gst
