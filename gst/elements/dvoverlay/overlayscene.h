// SPDX-License-Identifier: Apache-2.0
// Collects what dvoverlay draws on a frame: its objects, other elements' regions of interest and
// analytics metas, the areas, lines, pairs and heat of dvzones, the trails of tracks, and an
// application's shapes. On frames that were passed without inference it draws the objects of the
// last inferred frame.
#pragma once

#include <gst/video/video.h>

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "draw/canvas.h"
#include "draw/item.h"
#include "draw/shape.h"
#include "draw/tint.h"
#include "elements/labellist.h"
#include "gst/dvnn/gstdvobjectsmeta.h"

namespace dvnn::gst {

/// Trails of tracks: the path of the middle of each box's lower edge, at which dvzones counts.
/// Memory is bounded, whatever the number of tracks and the length of trails. Streaming thread
/// only. Throws std::bad_alloc.
class Trails {
 public:
  /// Begins a frame at time `now`; trails keep the last `length`. If the time goes back, all trails
  /// end.
  void begin(GstClockTime now, GstClockTime length);
  /// Adds the place of a track of network `network` in that frame.
  void add(gint network, guint64 track, const objects::Point& foot, int color);
  /// Appends the trails, which get thinner towards their oldest points.
  void draw(std::vector<draw::Figure>* figures) const;
  void reset() { trails_.clear(); }

 private:
  struct Step {
    GstClockTime time;
    objects::Point foot;
  };
  struct Trail {
    std::deque<Step> steps;
    int color = 0;
  };

  GstClockTime now_ = 0, length_ = 0;
  std::map<std::pair<gint, guint64>, Trail> trails_;
};

enum class ColorBy { kClass, kTrack };

struct SceneSettings {
  draw::CaptionSettings caption;
  GstClockTime hold = 0;
  ColorBy color_by = ColorBy::kClass;
  LabelList show, hide;  // an empty `show`: all labels
  LabelList blur, pixelate;
  bool only_agreed = false;
  bool zones = true, counts = true, heat = false;
  bool shapes = true;       // of applications
  GstClockTime trails = 0;  // length of trails, 0: none

  bool is_shown(const std::string& label) const {
    return (show.empty() || show.has(label)) && !hide.has(label);
  }
  draw::Obscure obscure_of(const std::string& label) const {
    if (pixelate.has(label)) return draw::Obscure::kPixelate;
    return blur.has(label) ? draw::Obscure::kBlur : draw::Obscure::kNo;
  }
};

/// Items up to a limit. Places to obscure beyond it are joined into one.
class ItemList {
 public:
  bool full() const;
  void add(draw::Item item);
  /// Adds all items of another list.
  void add(const ItemList& list);
  bool empty() const { return items_.empty() && !any_joined_; }
  /// Returns the items and empties the list.
  std::vector<draw::Item> take();

 private:
  std::vector<draw::Item> items_;
  draw::Item joined_;  // valid if any_joined_
  bool any_joined_ = false;
  size_t points_ = 0;  // total of all items
};

struct Scene {
  std::vector<draw::Item> items;
  std::vector<draw::Figure> figures;
  std::vector<draw::Shape> shapes;
  draw::HeatMap heat;
  bool empty() const {
    return items.empty() && figures.empty() && shapes.empty() && heat.values.empty();
  }
  /// Moves everything to its place on a field, each of whose rows is `lines_per_row` lines of the
  /// frame.
  void flatten(int lines_per_row);
};

/// Keeps held objects and trails. Streaming thread only.
class OverlayScene {
 public:
  /// Reads what to draw on `frame` at running time `time`. Without a time, nothing is held and
  /// there are no trails.
  Scene read(GstBuffer* frame, GstClockTime time, const SceneSettings& settings);
  /// Forgets held objects and trails, because the stream jumps or its format changes.
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

  std::map<std::string, Held> held_;  // by network name
  Trails trails_;
};

}  // namespace dvnn::gst
