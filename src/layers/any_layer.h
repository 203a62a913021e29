// SPDX-License-Identifier: Apache-2.0
// The attributes of a CPU layer of any type, declared by name alone: attributes.h defines them.
#pragma once

#include <memory>

namespace dvnn::layers {

class LayerAttributes;

/// Immutable, because networks that are planned from one another share it.
using LayerPtr = std::shared_ptr<const LayerAttributes>;

}  // namespace dvnn::layers
