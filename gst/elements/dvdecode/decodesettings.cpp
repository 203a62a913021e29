// SPDX-License-Identifier: Apache-2.0
#include "elements/dvdecode/decodesettings.h"

#include <memory>
#include <utility>
#include <vector>

#include "agree/votes.h"
#include "objects/label_file.h"

namespace dvnn::gst {
namespace {

constexpr guint kMostLooks = agree::kMostLooks;

Status check_thresholds(const std::string& text, DecodeSettings*) {
  auto parsed = parse_thresholds(text);
  return parsed.ok() ? Status() : parsed.error();
}

Status take_labels(const std::string& path, DecodeSettings* settings) {
  if (path.empty()) {
    settings->file_labels.reset();
    return {};
  }
  DVNN_ASSIGN(auto labels, objects::read_labels(path));
  settings->file_labels = std::make_shared<const std::vector<std::string>>(std::move(labels));
  return {};
}

Status take_pattern(const std::string& text, DecodeSettings* settings) {
  DVNN_ASSIGN(auto patterns, agree::Patterns::parse(text));
  settings->patterns = std::make_shared<const agree::Patterns>(std::move(patterns));
  return {};
}

void add_agreement_properties(Properties<DecodeSettings>* table) {
  table->number(&DecodeSettings::agree, When::kPlaying, 0, kMostLooks,
                {"agree", "Agree",
                 "Least looks at a tracked object that make an agreed class, text, number or "
                 "embedding; 0: the last one counts"});
  table->text(&DecodeSettings::pattern, When::kPlaying,
              {"pattern", "Pattern",
               "With agree, a regular expression for whole texts, or a JSON object of expressions "
               "by the object's label"},
              take_pattern);
}

void add_filter_properties(Properties<DecodeSettings>* table) {
  table->text(
      &DecodeSettings::thresholds, When::kPlaying,
      {"thresholds", "Thresholds",
       "Least confidences of single classes, by label: person:0.4,car:0.6; empty: with threshold "
       "0.5, the network's own"},
      check_thresholds);
  add_label_list(&DecodeSettings::labels, "labels", "labels-array", "Labels",
                 "Labels of the objects to attach, between commas; empty for all", table);
  add_label_list(&DecodeSettings::exclude, "exclude", "exclude-array", "Exclude",
                 "Labels of objects to leave out, between commas", table);
  table->text(&DecodeSettings::labels_file, When::kPlaying,
              {"labels-file", "Labels file",
               "Text file with a label per line, class 0 first, instead of the network's labels"},
              take_labels);
  table->number(
      &DecodeSettings::nms_threshold, When::kPlaying, -1.0f, 1.0f,
      {"nms-threshold", "Suppression threshold",
       "Overlap (IoU) of two boxes above which the less confident one is dropped; below 0 "
       "for the network's own"});
  table->number(&DecodeSettings::merge_threshold, When::kPlaying, 0.0, 1.0,
                {"merge-threshold", "Merge threshold",
                 "Share of the smaller box above which one of two boxes of a class from different "
                 "tiles is dropped"});
  table->boolean(
      &DecodeSettings::refine, When::kPlaying,
      {"refine", "Refine",
       "Boxes that are found in objects (dvconvert's regions=objects) replace these objects"});
  table->number(&DecodeSettings::min_size, When::kControllable, 0, kMostBoxSize,
                {"min-size", "Minimum size",
                 "Least length of a box's longer side, as a fraction of the frame's height"});
  table->number(&DecodeSettings::max_size, When::kControllable, 0, kMostBoxSize,
                {"max-size", "Maximum size",
                 "Greatest length of a box's longer side, as a fraction of the frame's height; 0 "
                 "for any"});
}

}  // namespace

Properties<DecodeSettings> decode_properties() {
  Properties<DecodeSettings> table;
  table.number(&DecodeSettings::threshold, When::kControllable, 0.0f, 1.0f,
               {"threshold", "Threshold", "Least confidence of objects that are attached"});
  add_filter_properties(&table);
  table.number(&DecodeSettings::max_detections, When::kPlaying, 1, kMostCount,
               {"max-detections", "Maximum detections",
                "Largest number of objects that are attached to a frame, best first"});
  add_agreement_properties(&table);
  table.boolean(&DecodeSettings::post_messages, When::kPlaying,
                {"post-messages", "Post messages",
                 "Post an element message 'dvnn-objects' for each frame with objects"});
  table.boolean(&DecodeSettings::post_empty, When::kPlaying,
                {"post-empty", "Post empty messages",
                 "With post-messages, also post a message for frames without objects"});
  table.flags_of(&DecodeSettings::exports, When::kPlaying, exports_type(),
                 {"exports", "Exports",
                  "GStreamer's own metas that are written beside GstDvObjectsMeta, for "
                  "other elements"});
  table.text(&DecodeSettings::decoder_library, When::kReady,
             {"decoder-library", "Decoder library",
              "A library that has the network's decoder (see dvnn_decoder.h); empty for the "
              "library that the network names"});
#ifdef DVNN_HAVE_TENSORS
  table.text(&DecodeSettings::tensor_network, When::kReady,
             {"tensor-network", "Network of tensors",
              "The .dvn file of the network whose outputs another element attaches as "
              "GstTensorMeta; dvinfer's outputs need none"});
#endif
  table.see_every_frame();
  return table;
}

}  // namespace dvnn::gst
