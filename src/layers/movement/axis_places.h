// SPDX-License-Identifier: Apache-2.0
// Layers whose elements are the input's at places that each axis has for itself.
#pragma once

#include <vector>

#include "layers/attributes.h"

namespace dvnn::layers {

/// For each index of each axis of the output, the index of the input's axis, or kOutside. Indices
/// that are not outside follow one another.
using AxisPlaces = std::vector<std::vector<int>>;
constexpr int kOutside = -1;

/// The layer that moves them; what is outside along any axis is `value`.
LayerResult make_places_layer(Span<const TensorDesc> inputs, const TensorDesc& output,
                              AxisPlaces places, float value);

}  // namespace dvnn::layers
