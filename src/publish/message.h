// SPDX-License-Identifier: Apache-2.0
// A document on its way.
#pragma once

#include <functional>
#include <string>

namespace dvnn::publish {

struct Message {
  std::string topic;
  std::string key;   // messages with the same key stay in order; the stream's name
  std::string body;  // one line, without its end

  size_t bytes() const { return topic.size() + key.size() + body.size() + sizeof(Message); }
};

/// A message that the publisher's thread writes, so that the thread that has it delivered does not
/// wait for that.
struct Draft {
  std::function<Message()> write;
  size_t bytes = 0;  // of memory until then, about
};

}  // namespace dvnn::publish
