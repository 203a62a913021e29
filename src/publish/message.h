// SPDX-License-Identifier: Apache-2.0
// A document on its way.
#pragma once

#include <string>

namespace dvnn::publish {

struct Message {
  std::string topic;
  std::string key;   // what must stay in order: the stream
  std::string body;  // one line, without its end

  size_t bytes() const { return topic.size() + key.size() + body.size() + sizeof(Message); }
};

}  // namespace dvnn::publish
