// SPDX-License-Identifier: Apache-2.0
// Outputs of a network that an element finds on frames instead of objects, because a dvdecode is
// missing. dvdecode itself takes the outputs off.
#pragma once

#include <gst/gst.h>

#include <string>

namespace dvnn::gst {

/// Says so once, after a second's frames or at the end of the stream. Streaming thread only.
class UndecodedOutputs {
 public:
  void start() { *this = {}; }
  /// A frame has come. A single object on any frame shows that there is a dvdecode.
  void look_at(GstElement* element, GstBuffer* frame);
  void end(GstElement* element);

 private:
  guint frames_ = 0;      // with outputs
  bool is_over_ = false;  // there was an object, or it was said
  std::string network_;
};

}  // namespace dvnn::gst
