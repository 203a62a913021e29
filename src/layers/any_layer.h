// SPDX-License-Identifier: Apache-2.0
// Any type of CPU layer with its attributes, by name alone: attributes.h defines it.
#pragma once

#include <memory>

namespace dvnn::layers {

class LayerAttributes;

/// Immutable, as networks that are planned of one another share it.
using LayerPtr = std::shared_ptr<const LayerAttributes>;

}  // namespace dvnn::layers
