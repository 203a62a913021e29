// SPDX-License-Identifier: Apache-2.0
// Windows over pictures, as TensorFlow Lite describes them. Private to the TFLite front end.
#pragma once

#include "import/tflite/import.h"

namespace dvnn::import {

struct TfliteWindow {
  tfl::Padding padding = tfl::Padding::VALID;
  int64_t stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
};

/// Checks the numbers of a window before they are used: files may hold any.
Status check_window(const TfliteWindow& window);

/// Adds the attributes of an ONNX operator over a picture.
void add_window(const TfliteWindow& window, OnnxAttributes* attributes);
/// Adds those of a convolution with such weights over each of a picture's parts: over the whole
/// picture, it is dilated by the number of parts along each axis.
void add_window_over_parts(const TfliteWindow& window, const TfliteParts& parts,
                           const std::vector<int64_t>& weights, OnnxAttributes* attributes);

/// Reads the first `count` whole numbers of 32 bits of a custom operator's options.
Result<std::vector<int64_t>> custom_numbers(const TfliteNode& node, size_t count);

}  // namespace dvnn::import
