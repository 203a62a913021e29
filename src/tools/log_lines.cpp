// SPDX-License-Identifier: Apache-2.0
#include "tools/log_lines.h"

#include <cstdio>

#include "base/format.h"
#include "base/log.h"

namespace dvnn::tools {

void log_to_stderr() {
  static constexpr log::Sink kSink = {
      [](log::Topic, log::Level) { return true; },
      [](log::Topic topic, log::Level, const char*, int, const char* text) {
        std::fprintf(stderr, "%s: %s\n", log::name_of(topic), printable(text).c_str());
      }};
  log::connect(&kSink);
}

}  // namespace dvnn::tools
