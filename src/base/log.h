// SPDX-License-Identifier: Apache-2.0
// A log of internal events for diagnosis. Libraries write it; programs decide where it goes: the
// plugins to GStreamer's debug log, `dvnet -v` to stderr. Without a sink, a line costs one
// comparison of a pointer.
#pragma once

namespace dvnn::log {

/// Subjects of lines, with the names of GStreamer's categories.
enum class Topic { kDevice, kNetwork, kPublisher, kSpool };
inline constexpr Topic kTopics[] = {Topic::kDevice, Topic::kNetwork, Topic::kPublisher,
                                    Topic::kSpool};

/// How serious or frequent a line is: something may be wrong, a rare event, each change of state,
/// each message or run.
enum class Level { kWarning, kInfo, kDebug, kEach };

/// Returns a topic's name, which is that of the GStreamer category: "dvdevice".
const char* name_of(Topic topic);
/// Returns a short description of a topic.
const char* subject_of(Topic topic);

/// Receiver of lines. Its functions are called from any thread.
struct Sink {
  bool (*wants)(Topic topic, Level level);
  void (*write)(Topic topic, Level level, const char* file, int line, const char* text);
};

/// Sets the sink, which must exist until the process ends. Null: no log.
void connect(const Sink* sink);

/// Whether a sink wants such lines. If not, they need not be formatted.
bool is_wanted(Topic topic, Level level);

/// Writes a line. DVNN_LOG calls this only if is_wanted().
void write(Topic topic, Level level, const char* file, int line, const char* text, ...)
    __attribute__((format(printf, 5, 6)));

}  // namespace dvnn::log

#define DVNN_LOG(topic, level, ...)                                                           \
  do {                                                                                        \
    if (::dvnn::log::is_wanted(::dvnn::log::Topic::topic, ::dvnn::log::Level::level)) {       \
      ::dvnn::log::write(::dvnn::log::Topic::topic, ::dvnn::log::Level::level, __FILE_NAME__, \
                         __LINE__, __VA_ARGS__);                                              \
    }                                                                                         \
  } while (false)
