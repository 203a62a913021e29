// SPDX-License-Identifier: Apache-2.0
// Caps of windows of sound: each buffer holds the samples that a network takes at once, as 32-bit
// floats. Windows may overlap, so a feature in the caps keeps them from elements that would take
// them for the sound itself.
#pragma once

#include <gst/audio/audio.h>
#include <gst/gst.h>

#include "base/result.h"
#include "tensor/tensor.h"

namespace dvnn::gst {

#define DVNN_WINDOWS_FEATURE "meta:GstDvWindow"
#define DVNN_WINDOWS_CAPS                                                \
  "audio/x-raw(" DVNN_WINDOWS_FEATURE "), format=(string)" GST_AUDIO_NE( \
      F32) ", layout=(string)interleaved, channels=(int)1, rate=(int)[ 1, 2147483647 ]"

/// Whether caps describe windows of sound.
bool is_windows_caps(const GstCaps* caps);

/// Returns the number of samples that a network takes as its input. kMalformed if its input is no
/// line of numbers.
Result<size_t> samples_of_input(const TensorDesc& input);

}  // namespace dvnn::gst
