// SPDX-License-Identifier: Apache-2.0
// The tensor that dvconvert makes: one of ours, or a buffer of MathWorks' processor.
#pragma once

#include <optional>

#include "tensor/dlhdl.h"
#include "tensor/tensor.h"

namespace dvnn::gst {

struct TensorTarget {
  TensorDesc desc;  // the layout counts only without `dlhdl`
  std::optional<DlhdlLayout> dlhdl;

  size_t bytes() const {
    if (!dlhdl) return desc.bytes();
    return dlhdl->elements(desc.shape) * element_size(desc.type);
  }
};

}  // namespace dvnn::gst
