// SPDX-License-Identifier: Apache-2.0
#include "elements/dvpublish/publishsettings.h"

#include <tuple>

#include "base/file.h"
#include "base/format.h"
#include "publish/document.h"

namespace dvnn::gst {
namespace {

constexpr size_t kMostOptionBytes = 1 << 20;

GType mode_type() {
  static const GFlagsValue values[] = {
      {kFrames, "A document for each frame", "frames"},
      {kEvents, "A document for each event of dvzones", "events"},
      {kTracks, "Documents when a track starts and when it ends", "tracks"},
      {kClips, "Documents when a clip of dvrecord begins and when it ends", "clips"},
      {kHeat, "A document for each period of dvzones' heat", "heat"},
      {0, nullptr, nullptr}};
  return register_flags("GstDvPublishMode", values);
}

GType snapshot_type() {
  static const GEnumValue values[] = {
      {static_cast<gint>(Snapshot::kNone), "No pictures", "none"},
      {static_cast<gint>(Snapshot::kObject), "The object that a document is about", "object"},
      {static_cast<gint>(Snapshot::kFrame), "The frame that a document is about", "frame"},
      {0, nullptr, nullptr}};
  return register_enum("GstDvPublishSnapshot", values);
}

GType format_type() {
  static const GEnumValue values[] = {
      {static_cast<gint>(Format::kJson), "JSON, docs/schema/document-1.json", "json"},
      {static_cast<gint>(Format::kOnvif), "ONVIF's metadata stream, as XML", "onvif"},
      {0, nullptr, nullptr}};
  return register_enum("GstDvPublishFormat", values);
}

GType discovery_type() {
  static const GEnumValue values[] = {
      {static_cast<gint>(Discovery::kNone), "Tells nothing, and leaves what was told", "none"},
      {static_cast<gint>(Discovery::kHomeAssistant), "Shows the stream in Home Assistant",
       "home-assistant"},
      {static_cast<gint>(Discovery::kRemove), "Removes it there", "remove"},
      {0, nullptr, nullptr}};
  return register_enum("GstDvPublishDiscovery", values);
}

Status check_prefix(const std::string& text, PublishSettings*) {
  const bool good = !text.empty() && text.find_first_of("+#") == std::string::npos &&
                    text.front() != '/' && text.back() != '/';
  if (good) return {};
  return invalid_argument(
      "discovery-prefix must be a part of an MQTT topic, as homeassistant is: neither empty nor "
      "with + or #, nor a / at an end");
}

Status take_fields(const std::string& text, PublishSettings* settings) {
  DVNN_ASSIGN(settings->fields_text, publish::parse_fields(text));
  return {};
}

Status check_url(const std::string& text, PublishSettings*) {
  if (!text.empty()) DVNN_TRY(publish::parse_address(text));
  return {};
}

Status check_writable_folder(const std::string& path, PublishSettings*) {
  if (!path.empty()) DVNN_TRY(check_folder(path));
  return {};
}

Status check_options(const std::string& text, PublishSettings*) {
  DVNN_TRY(publish::parse_options(text));
  return {};
}

void add_target(Properties<PublishSettings>* table) {
  table->text(&PublishSettings::url, When::kReady,
              {"url", "URL",
               "Where to publish: file:PATH, mqtt(s)://HOST, kafka://HOST:PORT,HOST:PORT or "
               "http(s)://HOST/PATH"},
              check_url);
  table->text(&PublishSettings::location, When::kReady,
              {"location", "Location",
               "File or pipe that gets a line for each document, where there is no url"});
  table->text(&PublishSettings::topic, When::kReady,
              {"topic", "Topic", "Topic of MQTT and Kafka; empty for dvnn/STREAM, for Kafka dvnn"});
  table->text(&PublishSettings::stream, When::kReady,
              {"stream", "Stream",
               "The stream's name in documents, and Kafka's key; empty for the element's name"});
  table->hide_values(
      table->text(&PublishSettings::options, When::kReady,
                  {"options", "Options",
                   "Settings of the transport, name=value,name=value (docs/publishing.md)"},
                  check_options));
  table->text(&PublishSettings::options_file, When::kReady,
              {"options-file", "Options file",
               "File with settings of the transport, a line for each: for passwords"});
}

void add_documents(Properties<PublishSettings>* table) {
  constexpr guint kLongest = 24 * 3600 * 1000;
  table->flags_of(&PublishSettings::mode, When::kPlaying, mode_type(),
                  {"mode", "Mode", "Topics of documents: any of frames, events, tracks and clips"});
  table->choice(&PublishSettings::format, When::kReady, format_type(),
                {"format", "Format", "What documents are written as"});
  table->flags_of(
      &PublishSettings::details, When::kPlaying, detail_type(),
      {"details", "Details", "Details that objects tell beside label, confidence and box"});
  table->boolean(&PublishSettings::only_agreed, When::kPlaying,
                 {"only-agreed", "Only agreed",
                  "Leave out classes, texts, numbers and embeddings on which looks do not agree "
                  "yet (agree of dvdecode and dvread)"});
  table->number(
      &PublishSettings::interval_ms, When::kPlaying, 0, kLongest,
      {"interval-ms", "Interval", "Milliseconds from one frame's document to the next, at least"});
  table->number(&PublishSettings::min_change, When::kPlaying, 0, 1,
                {"min-change", "Least change",
                 "Least move of a box's edge, as a fraction of the frame's height, for which a "
                 "frame gets a document"});
  table->number(&PublishSettings::heartbeat_ms, When::kPlaying, 0, kLongest,
                {"heartbeat-ms", "Heartbeat",
                 "Milliseconds after which a frame gets a document although min-change is not "
                 "reached"});
  table->text(&PublishSettings::extra_fields, When::kPlaying,
              {"extra-fields", "Extra fields", "Fields of your own, as JSON: {\"site\":\"Kyoto\"}"},
              take_fields);
  table->choice(&PublishSettings::snapshot, When::kPlaying, snapshot_type(),
                {"snapshot", "Snapshot", "Pictures in documents"});
  table->text(
      &PublishSettings::snapshot_folder, When::kPlaying,
      {"snapshot-folder", "Snapshot folder",
       "Folder for pictures, which documents then name; empty to have them in the documents"},
      check_writable_folder);
  table->number(&PublishSettings::snapshot_size, When::kPlaying, 16, 2048,
                {"snapshot-size", "Snapshot size", "Longest side of pictures, in pixels"});
  table->number(&PublishSettings::snapshot_quality, When::kPlaying, 1, 100,
                {"snapshot-quality", "Snapshot quality", "Quality of the JPEGs"});
}

void add_collecting(Properties<PublishSettings>* table) {
  constexpr guint kMostAnHour = 3600, kMostPictures = 1000000, kMostMiB = 1 << 20;
  table->text(&PublishSettings::collect_folder, When::kReady,
              {"collect-folder", "Collect folder",
               "Folder for frames of which the network is unsure, with what it has found, for "
               "annotation; empty: none"},
              check_writable_folder);
  table->number(&PublishSettings::collect_from, When::kReady, 0, 1,
                {"collect-from", "Collect from",
                 "Confidence above which an object is unsure; less sure ones are left out"});
  table->number(&PublishSettings::collect_to, When::kReady, 0, 1,
                {"collect-to", "Collect to", "Confidence below which an object is unsure"});
  table->number(&PublishSettings::collect_per_hour, When::kReady, 1, kMostAnHour,
                {"collect-per-hour", "Collected an hour",
                 "Frames to collect in an hour, at most: the least sure one of each part of it"});
  table->number(&PublishSettings::collect_pictures, When::kReady, 1, kMostPictures,
                {"collect-pictures", "Collected pictures",
                 "Pictures in the folder, beyond which no frames are collected"});
  table->number(&PublishSettings::collect_size_mib, When::kReady, 1, kMostMiB,
                {"collect-size-mib", "Collected size",
                 "MiB in the folder, beyond which no frames are collected"});
}

void add_discovery(Properties<PublishSettings>* table) {
  table->choice(
      &PublishSettings::discovery, When::kPlaying, discovery_type(),
      {"discovery", "Discovery",
       "Whether Home Assistant finds the counts of dvzones and the best views as a device "
       "(MQTT only)"});
  table->text(
      &PublishSettings::discovery_prefix, When::kReady,
      {"discovery-prefix", "Discovery prefix", "Home Assistant's prefix of discovery topics"},
      check_prefix);
}

}  // namespace

GType detail_type() {
  static const GFlagsValue values[] = {{objects::kPoints, "Key points", "points"},
                                       {objects::kOutlines, "Outlines", "outlines"},
                                       {objects::kMasks, "Masks, as base64", "masks"},
                                       {objects::kTexts, "What was read", "texts"},
                                       {objects::kEmbeddings, "Embeddings", "embeddings"},
                                       {objects::kNumbers, "What was estimated", "numbers"},
                                       {0, nullptr, nullptr}};
  return register_flags("GstDvDetails", values);
}

Properties<PublishSettings> publish_properties() {
  Properties<PublishSettings> table;
  add_target(&table);
  add_documents(&table);
  add_collecting(&table);
  add_discovery(&table);
  constexpr guint kMostMiB = 1 << 20, kMostMessages = 1000000, kLongestFlush = 600000;
  table.text(&PublishSettings::spool_folder, When::kReady,
             {"spool-folder", "Spool folder",
              "Folder in which documents wait while nobody takes them; empty to have them wait in "
              "memory only"});
  table.number(&PublishSettings::spool_size_mib, When::kReady, 1, kMostMiB,
               {"spool-size-mib", "Spool size",
                "MiB on disk, beyond which the oldest documents are dropped"});
  table.number(
      &PublishSettings::max_queued, When::kReady, 1, kMostMessages,
      {"max-queued", "Most queued",
       "Documents in memory, of 64 MiB at most, beyond which the oldest go to the spool or are "
       "dropped"});
  table.number(&PublishSettings::flush_timeout_ms, When::kReady, 0, kLongestFlush,
               {"flush-timeout-ms", "Flush timeout",
                "Milliseconds for which the end of the stream waits for what is not delivered"});
  table.boolean(
      &PublishSettings::post_messages, When::kPlaying,
      {"post-messages", "Post messages",
       "Post an element message 'dvnn-publish' when a connection is made or lost, documents are "
       "dropped, and the stream ends"});
  table.see_every_frame();
  return table;
}

bool PublishSettings::has_place_of(const PublishSettings& other) const {
  const auto place = [](const PublishSettings& s) {
    return std::tie(s.url, s.location, s.topic, s.stream, s.options, s.options_file, s.spool_folder,
                    s.spool_size_mib, s.max_queued, s.format, s.discovery_prefix, s.collect_folder,
                    s.collect_from, s.collect_to, s.collect_per_hour, s.collect_pictures,
                    s.collect_size_mib);
  };
  return place(*this) == place(other);
}

Result<publish::Address> chosen_address(const PublishSettings& settings) {
  if (!settings.url.empty()) return publish::parse_address(settings.url);
  if (!settings.location.empty()) return publish::parse_address("file:" + settings.location);
  return invalid_argument(
      "neither url nor location says where to publish: url=mqtt://HOST, for example");
}

Result<publish::Options> chosen_options(const PublishSettings& settings) {
  publish::Options all;
  if (!settings.options_file.empty()) {
    const std::string& path = settings.options_file;
    DVNN_ASSIGN(const std::string text, read_file(path, kMostOptionBytes));
    const auto options = publish::parse_options(text + "\n");
    if (!options.ok()) return options.error().within("'" + path + "'");
    all = options.value();
  }
  DVNN_ASSIGN(publish::Options options, publish::parse_options(settings.options));
  for (auto& [name, value] : options) all[name] = value;
  return all;
}

std::string path_name(const std::string& stream) {
  std::string name;
  for (const char c : stream) {
    const bool plain = g_ascii_isalnum(c) || c == '-' || c == '_';
    name += plain ? std::string(1, c)
                  : format("%%%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string spool_path(const PublishSettings& settings, const std::string& stream) {
  if (settings.spool_folder.empty()) return {};
  return settings.spool_folder + "/" + path_name(stream);
}

}  // namespace dvnn::gst
