// SPDX-License-Identifier: Apache-2.0
// dvmatch's settings.
#pragma once

#include <string>

#include "match/keeper.h"
#include "match/namer.h"
#include "properties.h"

namespace dvnn::gst {

struct MatchSettings {
  std::string gallery_file, strangers_location, labels;
  gdouble threshold = -1, margin = -1;
  guint agree = 3;
  guint max_strangers = 1000;
  gdouble keep_days = 30;
  std::string share_url, share_topic = "dvnn/gallery", share_options_file;
  bool post_messages = true;

  match::NamerRules rules() const { return {threshold, margin, agree}; }
  match::KeeperSettings keeper() const;
  /// Returns whether files and topic are the same, of those that may change in READY only.
  bool has_place_of(const MatchSettings& other) const;
};

/// Returns the rows of all properties.
Properties<MatchSettings> match_properties();

}  // namespace dvnn::gst
