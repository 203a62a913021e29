// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.h"

namespace dvnn::device {

/// Measures the result of Device::pixel_table_order().
PixelTableOrder probe_pixel_table(Device* device);

}  // namespace dvnn::device
