// SPDX-License-Identifier: Apache-2.0
// Pictures for documents, as pixels that another thread encodes as JPEG.
#pragma once

#include <gst/video/video.h>

#include <map>
#include <optional>

#include "elements/dvpublish/publishsettings.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "image/view.h"
#include "publish/document.h"

namespace dvnn::gst {

/// Copies the part of the frame that an object covers, or the whole frame without an object,
/// scaled down so that no side is longer than `size` pixels. `info`: the frame's caps.
Result<publish::Picture> picture_of_frame(GstBuffer* frame, const GstVideoInfo& info,
                                          const GstDvObject* object, guint size);

/// Returns how well a frame of this size shows an object: it is sure, large, and not cut.
double view_score(const GstDvObject& object, const image::Size& frame);

/// Keeps the best view of each track so far, scaled down, until the track ends or others need the
/// room. For the streaming thread alone.
class Snapshots {
 public:
  void set_format(const GstCaps* caps);
  /// Looks for better views of the tracks in this frame.
  void see(GstBuffer* frame, const PublishSettings& settings);
  /// Returns the best view of a track, or nothing if there is none.
  std::optional<publish::Picture> of_track(guint64 track, const PublishSettings& settings);
  /// Returns it with no file.
  std::optional<publish::Picture> view_of(guint64 track, const PublishSettings& settings) const;
  void forget_track(guint64 track) { views_.erase(track); }
  void forget_all() { views_.clear(); }
  /// Returns the frame, or the part of it that an object covers.
  std::optional<publish::Picture> of_frame(GstBuffer* frame, const PublishSettings& settings);
  std::optional<publish::Picture> of_object(GstBuffer* frame, const GstDvObject& object,
                                            const PublishSettings& settings);
  /// Returns the last problem with pictures, once.
  std::optional<Error> take_problem() { return std::exchange(problem_, std::nullopt); }
  /// Sets the first part of files' names.
  void set_name(const std::string& name) { name_ = name; }

 private:
  struct View {
    publish::Picture picture;
    double score = 0;
    guint64 seen = 0;
  };
  std::optional<publish::Picture> take(GstBuffer* frame, const GstDvObject* object, guint size);
  publish::Picture addressed(publish::Picture picture, const PublishSettings& settings);
  void make_room();

  GstVideoInfo info_{};
  bool known_ = false;
  std::map<guint64, View> views_;
  guint64 frames_ = 0, files_ = 0;
  std::string name_;
  std::optional<Error> problem_;
};

}  // namespace dvnn::gst
