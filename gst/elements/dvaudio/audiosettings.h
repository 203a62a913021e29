// SPDX-License-Identifier: Apache-2.0
// dvaudio's properties.
#pragma once

#include "properties.h"

namespace dvnn::gst {

struct AudioSettings {
  guint rate = 16000;  // of samples in a second; 0: any
  // Of windows, in samples.
  guint window = 0;  // 0: as many as the network takes
  guint hop = 0;     // 0: as long as the window
  guint lead = 0;
  gdouble scale = 1;
  bool pad_end = true;
};

Properties<AudioSettings> audio_properties();

}  // namespace dvnn::gst
