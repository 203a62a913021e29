// SPDX-License-Identifier: Apache-2.0
// Chooses the regions of a frame that the network is shown.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "elements/dvconvert/regionsettings.h"
#include "elements/labellist.h"
#include "elements/neighbours.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "meta/viewmeta.h"
#include "regions/budget.h"

namespace dvnn::gst {

/// For one thread at a time.
class RegionChooser {
 public:
  using List = std::shared_ptr<const RegionViews>;

  /// Takes over the settings; cheap if none has changed.
  void configure(const RegionSettings& settings);
  /// Sets how many tracked objects of a frame may be chosen; the others have their turn with the
  /// next frames, and objects without a track are left out beside them. 0: the settings alone
  /// decide.
  void set_room(size_t objects) { room_ = objects; }
  /// Returns the regions to infer, each with `how`'s settings. Null: infer the frame as `how` says,
  /// or the objects are unknown (is_unknown()). `size`: the caps' size. `time`: running time, if
  /// known.
  List choose(GstBuffer* frame, GstClockTime time, const image::Size& size, const image::View& how);
  /// Takes back the choice for the last frame, because it is not inferred after all.
  void withdraw() { budget_.withdraw(); }
  /// Takes over which tracked objects need no more looks, and which need some again.
  void settle(const std::vector<SettledTrack>& tracks) {
    for (const SettledTrack& of : tracks) budget_.settle(of.track, of.settled);
  }
  /// Returns whether the network that finds the objects has not seen the last frame.
  bool is_unknown() const { return unknown_; }
  /// Forgets the turn of tiles and of objects.
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
  // The list for these settings, this visible part and this view, while they stay the same.
  List kept_;
  image::Corners kept_visible_;
  image::View kept_how_;
  size_t room_ = 0;       // most tracked objects of a frame, 0: no limit
  bool in_turn_ = false;  // whether room_ applies to this frame
  size_t turn_ = 0;       // index of the next tile
  bool unknown_ = false;  // whether no list could be chosen for the last frame
  // Objects.
  regions::Budget budget_;
  std::vector<const GstDvObject*> wanted_;  // objects of this frame
  std::vector<regions::Candidate> candidates_;
};

}  // namespace dvnn::gst
