// SPDX-License-Identifier: Apache-2.0
#include "elements/dvzones/zonesettings.h"

namespace dvnn::gst {

Properties<ZoneSettings> zone_properties() {
  Properties<ZoneSettings> table;
  add_zone_source("Areas and lines as JSON (docs/zones.md), instead of those of zones-file",
                  "File with areas and lines as JSON", &table);
  constexpr guint kLongest = 3600 * 1000;
  table.number(&ZoneSettings::leave_after_ms, When::kPlaying, 0, kLongest,
               {"leave-after-ms", "Leave after",
                "Milliseconds after which a track that is not seen has left; at least "
                "dvtrack's max-lost-ms"});
  table.boolean(&ZoneSettings::count_predicted, When::kPlaying,
                {"count-predicted", "Count predicted",
                 "Predicted objects count too, at once, although they may turn out to be wrong"});
  table.boolean(&ZoneSettings::post_messages, When::kPlaying,
                {"post-messages", "Post messages",
                 "Post an element message 'dvnn-zone-event' for each event"});
  table.see_every_frame();
  return table;
}

}  // namespace dvnn::gst
