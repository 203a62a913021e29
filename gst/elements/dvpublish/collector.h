// SPDX-License-Identifier: Apache-2.0
// Collects frames of which the network is unsure, with what it believes to see, as a folder for
// annotation tools. In each interval it keeps the frame with most to learn from: the sum, over
// objects whose confidence is between two bounds, of how near it is to the middle between them
// (uncertainty sampling; the sum over a picture's objects is the choice of Brust, Käding and
// Denzler, "Active Learning for Deep Object Detection", 2019). An object that is tracked counts
// once: not after it was on a picture.
//
// For the streaming thread alone. The picture is copied there; the publisher's thread writes it.
#pragma once

#include <gst/video/video.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elements/dvpublish/publishsettings.h"
#include "publish/label_folder.h"

namespace dvnn::gst {

class Collector {
 public:
  using Job = std::function<void()>;
  using CallSoon = std::function<void(Job)>;
  using TellProblem = std::function<void(const Error&)>;

  /// Opens the folder, if the settings name one. `name` begins the names of files. `call_soon`
  /// calls jobs one after the other on another thread; all have to be done before the collector is
  /// destroyed. `tell` is called at most once, on either thread: nothing is collected after a
  /// problem.
  Status begin(const CollectSettings& settings, const std::string& name, CallSoon call_soon,
               TellProblem tell);
  void set_format(const GstCaps* caps);
  /// Looks at a frame of this running time.
  void see(GstBuffer* frame, GstClockTime time);
  /// Begins another stream: writes the picture that is kept.
  void begin_anew();
  void end();
  /// Returns the number of pictures since begin(). Any thread.
  guint64 collected() const { return collected_; }

 private:
  // What the job that writes a picture shares with the streaming thread.
  struct Shelf {
    publish::LabelFolder folder;  // the job's alone
    TellProblem tell;
    std::atomic<size_t> waiting{0};  // bytes of pixels that are not written yet
    std::atomic<bool> closed{false};
  };
  struct Candidate {
    double score = 0;
    publish::LabelledPicture picture;
    std::vector<guint64> tracks;
  };

  void consider(GstBuffer* frame);
  void hand_over();

  CollectSettings settings_;
  std::string name_;
  CallSoon call_soon_;
  std::shared_ptr<Shelf> shelf_;
  std::atomic<guint64> collected_{0};
  GstVideoInfo info_{};
  bool known_ = false;
  std::optional<Candidate> kept_;
  GstClockTime begun_ = GST_CLOCK_TIME_NONE;  // of the interval
  std::set<guint64> shown_;                   // tracks that were on a picture
  guint64 files_ = 0;
};

}  // namespace dvnn::gst
