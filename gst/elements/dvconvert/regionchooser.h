// SPDX-License-Identifier: Apache-2.0
// Decides which regions of a frame are looked at.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "elements/dvconvert/regionsettings.h"
#include "elements/labellist.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "meta/viewmeta.h"
#include "regions/budget.h"

namespace dvnn::gst {

/// For one thread at a time.
class RegionChooser {
 public:
  using List = std::shared_ptr<const RegionViews>;

  /// Cheap where nothing has changed.
  void configure(const RegionSettings& settings);
  /// Tracked objects of the next frames are looked at in turn, this many of a frame at most, and
  /// those without a track not beside them; 0: all are, as the settings say.
  void set_room(size_t objects) { room_ = objects; }
  /// The frame's regions, seen as `how` says but for its region; null where the frame is looked at
  /// as `how` says, or if nobody knows (is_unknown()). `size` is what the caps say, `time` when the
  /// frame is, if it is known.
  List choose(GstBuffer* frame, GstClockTime time, const image::Size& size, const image::View& how);
  /// The last frame is not looked at after all.
  void withdraw() { budget_.withdraw(); }
  /// Returns whether the network whose objects are to be looked at has not seen the last frame.
  bool is_unknown() const { return unknown_; }
  /// Begins anew.
  void reset() {
    turn_ = 0;
    budget_.reset();
  }

 private:
  List choose_list(GstBuffer* frame, const image::Corners& visible, const image::View& how);
  List choose_tiles(const image::View& how);
  void find_objects(GstBuffer* frame, const image::Size& size);
  List choose_objects(const image::Corners& visible, const image::View& how) const;
  std::optional<image::RelativeRect> share_of(const GstDvObject& object,
                                              const image::Corners& visible) const;
  std::optional<image::Slant> slant_of(const GstDvObject& object) const;
  void spend_budget(GstClockTime time);
  bool is_wanted(const GstDvObject& object, const GstDvObjectsMeta& meta,
                 const image::Size& size) const;
  void add_metas(GstBuffer* frame, const image::Corners& visible, const image::View& how,
                 RegionViews* views) const;
  List take_turn(const List& all);

  RegionSettings settings_;
  LabelList types_, classes_;
  // The list that follows from the settings, the frame's visible part and the view.
  List kept_;
  image::Corners kept_visible_;
  image::View kept_how_;
  size_t room_ = 0;       // see set_room()
  bool in_turn_ = false;  // whether that counts for this frame
  size_t turn_ = 0;       // the next tile
  bool unknown_ = false;  // see is_unknown()
  // Objects.
  regions::Budget budget_;
  std::vector<const GstDvObject*> wanted_;  // of this frame
  std::vector<regions::Candidate> candidates_;
};

}  // namespace dvnn::gst
