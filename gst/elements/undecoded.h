// SPDX-License-Identifier: Apache-2.0
// Detects that frames carry a network's outputs but no objects, because a dvdecode is missing.
// dvdecode itself removes the outputs.
#pragma once

#include <gst/gst.h>

#include <string>

namespace dvnn::gst {

/// Posts that warning once, after 30 such frames or at the end. Streaming thread only.
class UndecodedOutputs {
 public:
  void start() { *this = {}; }
  /// Looks at a frame. A single object on any frame shows that there is a dvdecode.
  void look_at(GstElement* element, GstBuffer* frame);
  void end(GstElement* element);

 private:
  guint frames_ = 0;      // number of frames with outputs
  bool is_over_ = false;  // a frame had an object, or the warning was posted
  std::string network_;
};

}  // namespace dvnn::gst
