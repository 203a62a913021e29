// SPDX-License-Identifier: Apache-2.0
// Convolution commands in the driver's form.
#pragma once

#include "device/command.h"
#include "dmp_dv_cmdraw_v0.h"

namespace dvnn::device {

/// Translates everything but the buffers, which stay null.
dmp_dv_cmdraw_conv_v0 to_raw(const ConvCommand& command);

}  // namespace dvnn::device
