// SPDX-License-Identifier: Apache-2.0
// Our errors as GStreamer messages.
#pragma once

#include <gst/gst.h>

#include "base/result.h"

namespace dvnn::gst {

/// The topic of an error decides its domain: files RESOURCE, settings LIBRARY or RESOURCE with
/// SETTINGS, data STREAM.
enum class Topic { kFile, kSettings, kData };

/// Posts `error` as an element error; `debug` holds details that a user need not read.
void post_error(GstElement* element, Topic topic, const Error& error,
                const std::string& debug = {});
/// The same as a warning, where the element goes on.
void post_warning(GstElement* element, Topic topic, const Error& error,
                  const std::string& debug = {});

}  // namespace dvnn::gst
