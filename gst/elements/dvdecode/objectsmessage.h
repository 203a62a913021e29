// SPDX-License-Identifier: Apache-2.0
// The element message "dvnn-objects": what was found in a frame, for applications that read the
// bus. docs/metadata.md lists its fields.
#pragma once

#include <gst/gst.h>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "objects/object.h"
#include "refs.h"

namespace dvnn::gst {

/// Collects a frame's objects and posts them.
class ObjectsMessage {
 public:
  /// Adds an object of `meta`. Throws std::bad_alloc.
  void append(const GstDvObject& object, const GstDvObjectsMeta* meta);
  bool empty() { return gst_value_list_get_size(objects_.get()) == 0; }
  /// Posts the message for `frame`, from `element`, and empties the list.
  void post(GstElement* element, const GstSegment& segment, GstBuffer* frame, const gchar* network,
            bool inferred);

 private:
  Value objects_{GST_TYPE_LIST};
  objects::Object value_;  // reused for each object
};

}  // namespace dvnn::gst
