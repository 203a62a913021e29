// SPDX-License-Identifier: Apache-2.0
#include "elements/dvmatch/matchsettings.h"

#include <tuple>

#include "elements/labellist.h"

namespace dvnn::gst {

match::KeeperSettings MatchSettings::keeper() const {
  constexpr double kDay = 24.0 * 3600 * 1000;
  match::KeeperSettings settings;
  settings.gallery_file = gallery_file;
  settings.strangers_location = strangers_location;
  settings.shared = !share_url.empty();
  settings.strangers = {max_strangers, static_cast<int64_t>(keep_days * kDay), settings.shared};
  return settings;
}

bool MatchSettings::has_place_of(const MatchSettings& other) const {
  const auto place = [](const MatchSettings& of) {
    return std::tie(of.strangers_location, of.share_url, of.share_topic, of.share_options_file);
  };
  return place(*this) == place(other);
}

static void add_files(Properties<MatchSettings>* table) {
  table->text(&MatchSettings::gallery_file, When::kPlaying,
              {"gallery-file", "Gallery file",
               "File with names and their vectors, read again when it is replaced, and written by "
               "enrol and forget"});
  table->text(&MatchSettings::strangers_location, When::kReady,
              {"strangers-location", "Strangers location",
               "File in which strangers and their numbers outlast the process; empty: none"});
  constexpr guint kMostStrangers = 10000;
  constexpr double kMostDays = 36500;
  table->number(&MatchSettings::max_strangers, When::kPlaying, 1, kMostStrangers,
                {"max-strangers", "Most strangers",
                 "Strangers that are kept; those that were not seen for longest go first"});
  table->number(&MatchSettings::keep_days, When::kPlaying, 0, kMostDays,
                {"keep-days", "Keep",
                 "Days without being seen after which a stranger is forgotten; 0: never"});
}

static void add_sharing(Properties<MatchSettings>* table) {
  const guint url = table->text(
      &MatchSettings::share_url, When::kReady,
      {"share-url", "Share URL",
       "MQTT broker by which galleries share names, vectors and strangers; empty: none"});
  table->hide_values(url);
  table->text(&MatchSettings::share_topic, When::kReady,
              {"share-topic", "Share topic", "Topic below which each person has a retained one"});
  table->text(&MatchSettings::share_options_file, When::kReady,
              {"share-options-file", "Share options file",
               "File with options of the connection, such as dvpublish's user and password"});
}

Properties<MatchSettings> match_properties() {
  Properties<MatchSettings> table;
  add_files(&table);
  table.number(&MatchSettings::threshold, When::kPlaying, -1, 1,
               {"threshold", "Threshold",
                "Least cosine to a name, and to a stranger; below 0: the gallery's own, else 0.5"});
  table.number(&MatchSettings::margin, When::kPlaying, -1, 1,
               {"margin", "Margin",
                "How much less the cosine to any other is; below 0: the gallery's own, else 0.05"});
  constexpr guint kMostLooks = 16;
  table.number(&MatchSettings::agree, When::kPlaying, 1, kMostLooks,
               {"agree", "Agree", "Least looks at a track that make an agreed name"});
  add_label_list(&MatchSettings::labels, "labels", "labels-array", "Labels",
                 "Labels of objects that are named, with commas; empty: all with an embedding",
                 &table);
  add_sharing(&table);
  table.boolean(&MatchSettings::post_messages, When::kPlaying,
                {"post-messages", "Post messages",
                 "Post element messages 'dvnn-identity' and 'dvnn-gallery'"});
  table.see_every_frame();
  return table;
}

}  // namespace dvnn::gst
