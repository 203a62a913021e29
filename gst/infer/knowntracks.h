// SPDX-License-Identifier: Apache-2.0
// Bounds what elements remember of tracks between the frames that show them.
#pragma once

#include <gst/gst.h>

#include <cstddef>

namespace dvnn::gst {

/// A track that has not been seen for this long is forgotten.
constexpr GstClockTime kForgotten = 10 * GST_SECOND;
/// With more tracks than this, all are forgotten: track ids come from any element, so their number
/// is not bounded.
constexpr size_t kMostTracks = 4096;

}  // namespace dvnn::gst
