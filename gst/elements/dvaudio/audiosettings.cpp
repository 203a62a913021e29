// SPDX-License-Identifier: Apache-2.0
#include "elements/dvaudio/audiosettings.h"

namespace dvnn::gst {

Properties<AudioSettings> audio_properties() {
  using S = AudioSettings;
  constexpr guint kMostSamples = 1 << 24, kMostRate = 768000;
  constexpr gdouble kMostScale = 1e6;
  Properties<S> rows;
  rows.number(&S::rate, When::kReady, 0, kMostRate,
              {"rate", "Rate", "Samples in a second that the network was trained with; 0 for any"});
  rows.number(&S::window, When::kReady, 0, kMostSamples,
              {"window", "Window", "Samples of a window; 0 for as many as the network takes"});
  rows.number(&S::hop, When::kReady, 0, kMostSamples,
              {"hop", "Hop",
               "Samples from the beginning of a window to that of the next; 0 for a window's"});
  rows.number(&S::lead, When::kReady, 0, kMostSamples,
              {"lead", "Lead",
               "Samples of silence before the stream's first one, which the first window begins "
               "with"});
  rows.number(&S::scale, When::kReady, -kMostScale, kMostScale,
              {"scale", "Scale",
               "Factor of samples from -1 to 1: 32768 for a network that takes 16-bit numbers"});
  rows.boolean(
      &S::pad_end, When::kReady,
      {"pad-end", "Pad end",
       "Complete the stream's last window by silence, instead of leaving its samples out"});
  rows.see_every_frame();
  return rows;
}

}  // namespace dvnn::gst
