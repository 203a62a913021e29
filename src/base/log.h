// SPDX-License-Identifier: Apache-2.0
// A log of what happens inside, for somebody who looks for a cause. The libraries write it; what
// uses them says where it goes: the plugins to GStreamer's debug log, `dvnet -v` to stderr. Without
// a sink a line costs the comparison of a pointer.
#pragma once

namespace dvnn::log {

/// One idea each; GStreamer's categories are called so.
enum class Topic { kDevice, kNetwork, kPublisher, kSpool };
inline constexpr Topic kTopics[] = {Topic::kDevice, Topic::kNetwork, Topic::kPublisher,
                                    Topic::kSpool};

/// How often such a line comes: of what may be wrong, of what happens rarely, of each change of
/// state, of each message or run.
enum class Level { kWarning, kInfo, kDebug, kEach };

/// The topic's name, as a category of GStreamer's has it: "dvdevice".
const char* name_of(Topic topic);
/// What the topic's lines are about, in a few words.
const char* subject_of(Topic topic);

/// Where lines go. Both functions are called from any thread.
struct Sink {
  bool (*wants)(Topic topic, Level level);
  void (*write)(Topic topic, Level level, const char* file, int line, const char* text);
};

/// Connects the sink, which must last as long as the process; null: nobody reads the log.
void connect(const Sink* sink);

/// Whether a line would be read; else it is not worth making.
bool is_wanted(Topic topic, Level level);

/// Writes a line. DVNN_LOG asks first whether somebody reads it.
void write(Topic topic, Level level, const char* file, int line, const char* text, ...)
    __attribute__((format(printf, 5, 6)));

}  // namespace dvnn::log

#define DVNN_LOG(topic, level, ...)                                                                \
  do {                                                                                             \
    if (::dvnn::log::is_wanted(::dvnn::log::Topic::topic, ::dvnn::log::Level::level)) {            \
      ::dvnn::log::write(::dvnn::log::Topic::topic, ::dvnn::log::Level::level, __FILE__, __LINE__, \
                         __VA_ARGS__);                                                             \
    }                                                                                              \
  } while (false)
