// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace dvnn::log {
namespace {

struct Name {
  const char *name, *subject;
};
// In the order of Topic.
constexpr Name kNames[] = {
    {"dvdevice", "Opening of devices"},
    {"dvnetwork", "Loading of networks and their slots"},
    {"dvpublisher", "Delivery of messages"},
    {"dvspool", "Messages on disk"},
};
static_assert(sizeof kNames / sizeof *kNames == sizeof kTopics / sizeof *kTopics);

std::atomic<const Sink*> sink{nullptr};

const Name& name_at(Topic topic) {
  return kNames[static_cast<int>(topic)];
}

}  // namespace

const char* name_of(Topic topic) {
  return name_at(topic).name;
}

const char* subject_of(Topic topic) {
  return name_at(topic).subject;
}

void connect(const Sink* to) {
  sink.store(to, std::memory_order_release);
}

bool is_wanted(Topic topic, Level level) {
  const Sink* const to = sink.load(std::memory_order_acquire);
  return to && to->wants(topic, level);
}

void write(Topic topic, Level level, const char* file, int line, const char* text, ...) {
  const Sink* const to = sink.load(std::memory_order_acquire);
  if (!to) return;
  constexpr int kMostBytes = 1000;
  char made[kMostBytes];
  va_list arguments;
  va_start(arguments, text);
  std::vsnprintf(made, sizeof made, text, arguments);
  va_end(arguments);
  to->write(topic, level, file, line, made);
}

}  // namespace dvnn::log
