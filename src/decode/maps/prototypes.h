// SPDX-License-Identifier: Apache-2.0
// Masks of instances as sums of prototypes, which the network computes once per picture. Source:
// Bolya et al., "YOLACT" (2019); exported YOLOv5 and YOLOv8 use them, too.
#pragma once

#include <memory>
#include <string>

#include "decode/parts/detector.h"

namespace dvnn::decode {

/// Creates masks from the output `name`, 1xCOUNTxHxW; if the name is empty, from the first output
/// of that shape.
Result<std::unique_ptr<MaskMaker>> make_prototype_masks(Span<const NamedOutput> outputs,
                                                        const std::string& name, int count);

}  // namespace dvnn::decode
