// SPDX-License-Identifier: Apache-2.0
// Chooses what dvoverlay draws on a frame: its objects, other elements' regions of interest and
// analytics metas, the areas and lines of dvzones, and where tracks have been. On frames that were
// passed without inference it draws the objects of the last frame that was inferred.
#pragma once

#include <gst/video/video.h>

#include <map>
#include <string>
#include <vector>

#include "draw/figure.h"
#include "draw/item.h"
#include "elements/dvoverlay/trails.h"
#include "elements/labellist.h"
#include "gst/dvnn/gstdvobjectsmeta.h"

namespace dvnn::gst {

enum class ColorBy { kClass, kTrack };

struct SceneSettings {
  draw::CaptionSettings caption;
  GstClockTime hold = 0;
  ColorBy color_by = ColorBy::kClass;
  LabelList show, hide;  // an empty `show` is all labels
  LabelList blur, pixelate;
  bool zones = true, counts = true;
  GstClockTime trails = 0;  // how much of the past is drawn

  bool is_shown(const std::string& label) const {
    return (show.empty() || show.has(label)) && !hide.has(label);
  }
  draw::Obscure obscure_of(const std::string& label) const {
    if (pixelate.has(label)) return draw::Obscure::kPixelate;
    return blur.has(label) ? draw::Obscure::kBlur : draw::Obscure::kNo;
  }
};

/// Items within limits. Of what is beyond these, places that are to be obscured are kept as one.
class ItemList {
 public:
  bool full() const;
  void add(draw::Item item);
  /// Adds all that another list has.
  void add(const ItemList& list);
  bool empty() const { return items_.empty() && !any_joined_; }
  /// The items; the list is empty then.
  std::vector<draw::Item> take();

 private:
  std::vector<draw::Item> items_;
  draw::Item joined_;  // if there is any
  bool any_joined_ = false;
  size_t points_ = 0;  // of all items
};

struct Scene {
  std::vector<draw::Item> items;
  std::vector<draw::Figure> figures;
  bool empty() const { return items.empty() && figures.empty(); }
  /// Moves everything to where it is on a field, of which each row stands for that many lines.
  void flatten(int lines_per_row);
};

/// Streaming thread only.
class OverlayScene {
 public:
  /// Reads what to draw on `frame` at the running time `time`; without a time, nothing is held, and
  /// there are no trails.
  Scene read(GstBuffer* frame, GstClockTime time, const SceneSettings& settings);
  /// Forgets held objects and trails, because the stream jumps or its frames change.
  void reset() {
    held_.clear();
    trails_.reset();
  }

 private:
  struct Held {
    GstClockTime time = GST_CLOCK_TIME_NONE;
    ItemList items;
  };

  void read_objects(const GstDvObjectsMeta* meta, GstClockTime time, const SceneSettings& settings,
                    ItemList* scene);
  void read_trails(const GstDvObjectsMeta* meta, GstClockTime time, const SceneSettings& settings,
                   std::vector<draw::Figure>* figures);
  void hold_or_recall(const GstDvPass& pass, ItemList items, GstClockTime time, GstClockTime hold,
                      ItemList* scene);

  std::map<std::string, Held> held_;  // by the name of the network
  Trails trails_;
};

}  // namespace dvnn::gst
