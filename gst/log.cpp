// SPDX-License-Identifier: Apache-2.0
#include "log.h"

#include "base/log.h"

namespace dvnn::gst {
namespace {

constexpr size_t kTopics = sizeof log::kTopics / sizeof *log::kTopics;
GstDebugCategory* categories[kTopics];

GstDebugCategory* category_of(log::Topic topic) {
  return categories[static_cast<size_t>(topic)];
}

GstDebugLevel level_of(log::Level level) {
  constexpr GstDebugLevel kLevels[] = {GST_LEVEL_WARNING, GST_LEVEL_INFO, GST_LEVEL_DEBUG,
                                       GST_LEVEL_LOG};
  return kLevels[static_cast<size_t>(level)];
}

bool wants(log::Topic topic, log::Level level) {
  return level_of(level) <= gst_debug_category_get_threshold(category_of(topic));
}

void write(log::Topic topic, log::Level level, const char* file, int line, const char* text) {
  gst_debug_log(category_of(topic), level_of(level), file, "", line, nullptr, "%s", text);
}

constexpr log::Sink kSink = {wants, write};

}  // namespace

void connect_log() {
  for (const log::Topic topic : log::kTopics) {
    GST_DEBUG_CATEGORY_INIT(categories[static_cast<size_t>(topic)], log::name_of(topic), 0,
                            log::subject_of(topic));
  }
  log::connect(&kSink);
}

}  // namespace dvnn::gst
