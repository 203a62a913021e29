// SPDX-License-Identifier: Apache-2.0
#include "objects/object.h"

namespace dvnn::objects {

std::string label_of(Span<const std::string> labels, int class_id) {
  if (class_id >= 0 && static_cast<size_t>(class_id) < labels.size()) {
    return labels[static_cast<size_t>(class_id)];
  }
  return "class " + std::to_string(class_id);
}

void set_labels(Span<const std::string> labels, Objects* objects) {
  for (Object& object : *objects) object.label = label_of(labels, object.class_id);
}

}  // namespace dvnn::objects
