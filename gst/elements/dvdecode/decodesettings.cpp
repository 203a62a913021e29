// SPDX-License-Identifier: Apache-2.0
#include "elements/dvdecode/decodesettings.h"

#include <memory>
#include <utility>
#include <vector>

#include "objects/label_file.h"

namespace dvnn::gst {
namespace {

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

void add_filter_properties(Properties<DecodeSettings>* table) {
  table->text(
      &DecodeSettings::thresholds, When::kPlaying,
      {"thresholds", "Thresholds",
       "Least confidences of classes that have one of their own, by label: person:0.4,car:0.6"},
      check_thresholds);
  table->text(
      &DecodeSettings::labels, When::kPlaying,
      {"labels", "Labels", "Labels of the objects to attach, between commas (empty = all)"});
  table->text(&DecodeSettings::exclude, When::kPlaying,
              {"exclude", "Exclude", "Labels of objects to leave out, between commas"});
  table->text(
      &DecodeSettings::labels_file, When::kPlaying,
      {"labels-file", "Labels file",
       "Text file with a label per line, class 0 first, instead of the network's labels; read when "
       "it is set"},
      take_labels);
  table->number(&DecodeSettings::nms_threshold, When::kPlaying, -1.0f, 1.0f,
                {"nms-threshold", "Suppression threshold",
                 "Of two boxes that share more than this part of their union, the one of less "
                 "confidence is left out (below 0 = as the network says)"});
  table->number(&DecodeSettings::merge_threshold, When::kPlaying, 0.0, 1.0,
                {"merge-threshold", "Merge threshold",
                 "Of two boxes of a class that different tiles of a frame show (dvconvert's "
                 "regions=tiles) and that share more than this part of the smaller one, one is "
                 "left out: the one that a tile's edge cuts, or else the one of less confidence. "
                 "With refine the same of what regions of objects show, by confidence alone"});
  table->boolean(
      &DecodeSettings::refine, When::kPlaying,
      {"refine", "Refine",
       "Boxes that are found in the regions of objects (dvconvert's regions=objects) take these "
       "objects' places: the objects leave the frame, boxes may reach beyond the regions, and "
       "overlapping ones are merged"});
  constexpr double kLargest = 65536;
  table->number(
      &DecodeSettings::min_size, When::kControllable, 0, kLargest,
      {"min-size", "Minimum size",
       "Least length of a box's longer side: up to 1 as a fraction of the frame's height, "
       "above that in pixels"});
  table->number(&DecodeSettings::max_size, When::kControllable, 0, kLargest,
                {"max-size", "Maximum size",
                 "Greatest length of a box's longer side, measured as min-size is (0 = any)"});
}

}  // namespace

Properties<DecodeSettings> decode_properties() {
  Properties<DecodeSettings> table;
  table.number(&DecodeSettings::threshold, When::kControllable, 0.0f, 1.0f,
               {"threshold", "Threshold", "Least confidence of objects that are attached"});
  add_filter_properties(&table);
  table.number(&DecodeSettings::max_detections, When::kPlaying, 1, G_MAXUINT,
               {"max-detections", "Maximum detections",
                "Largest number of objects that are attached to a frame, best first"});
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
  table.text(&DecodeSettings::library, When::kReady,
             {"library", "Decoder library",
              "A library with the decoder that the network names, where it is none of ours (see "
              "dvnn_decoder.h; default: the one that the network names)"});
#ifdef DVNN_HAVE_TENSORS
  table.text(&DecodeSettings::network, When::kReady,
             {"network", "Network file",
              "The .dvn file of a network that another element runs, if objects are to be "
              "decoded from its outputs (GstTensorMeta); dvinfer's outputs need none"});
#endif
  return table;
}

}  // namespace dvnn::gst
