// SPDX-License-Identifier: Apache-2.0
// What a model loses on its way to the device, over a folder of pictures.
#pragma once

#include <string>

#include "convert/convert.h"

namespace dvnn::tools {

/// Runs `model` on the software device and `graph`, the model as it was imported, in FP32, on every
/// picture in `folder`, and prints per output the largest error, the cosine and, as the decoder has
/// it, how often the top class or the boxes agree. `picture` is how pictures become the graph's
/// input.
Status print_accuracy(const network::Model& model, const convert::Graph& graph,
                      const PictureSpec& picture, const std::string& folder);

}  // namespace dvnn::tools
