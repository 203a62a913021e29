// SPDX-License-Identifier: Apache-2.0
#include "frames/audiocaps.h"

#include <algorithm>

#include "base/format.h"

namespace dvnn::gst {

bool is_windows_caps(const GstCaps* caps) {
  if (!caps || gst_caps_get_size(caps) == 0) return false;
  const GstCapsFeatures* features = gst_caps_get_features(caps, 0);
  return gst_structure_has_name(gst_caps_get_structure(caps, 0), "audio/x-raw") && features &&
         !gst_caps_features_is_any(features) &&
         gst_caps_features_contains(features, DVNN_WINDOWS_FEATURE);
}

Result<size_t> samples_of_input(const TensorDesc& input) {
  const Shape& shape = input.shape;
  int longest = 1;
  for (int i = 0; i < shape.rank; ++i) longest = std::max(longest, shape[i]);
  if (is_float(input.type) && longest == shape.elements()) return static_cast<size_t>(longest);
  return malformed(format("the network's input is %s, and samples of sound are one line of numbers",
                          shape.to_string().c_str()));
}

}  // namespace dvnn::gst
