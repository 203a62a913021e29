// SPDX-License-Identifier: Apache-2.0
// The detection branch of dvrecord: frames with objects, and what dvtrack, dvzones and dvmotion
// tell of them. It finds the events that begin clips, writes documents, and chooses a clip's
// picture. For the streaming thread of its pad.
#pragma once

#include <gst/video/video.h>

#include <memory>
#include <string>
#include <vector>

#include "elements/dvpublish/publishsettings.h"
#include "elements/dvpublish/streamdocuments.h"
#include "elements/dvrecord/packet.h"
#include "elements/dvrecord/recordsettings.h"
#include "record/recorder.h"

namespace dvnn::gst {

class Detections {
 public:
  /// Begins a session. `track`: the recorder's track of documents; `format`: its caps.
  void begin(std::shared_ptr<record::Recorder> recorder, size_t track, SharedCaps format,
             const std::string& stream, bool documents);
  void configure(const RecordSettings& settings);
  bool set_format(const GstCaps* caps);
  /// Takes a structure that came as an event.
  void told(const GstStructure* fields);
  void frame(GstBuffer* frame, const GstSegment& segment);
  /// No frame comes until then.
  void gap(GstClockTime running_time);
  /// The stream jumps.
  void begin_anew();
  void end();

 private:
  void watch_objects(GstBuffer* frame, GstClockTime time, std::vector<record::Event>* events);
  record::Unit document_unit(GstBuffer* frame, GstClockTime time);
  void offer_picture(GstBuffer* frame, bool event);

  std::shared_ptr<record::Recorder> recorder_;
  size_t track_ = 0;
  SharedCaps format_;
  bool documents_ = false, moving_ = false;
  Triggers triggers_;
  guint picture_size_ = 0;
  GstClockTime presence_ = 0;  // after which an object is told of again
  GstClockTime object_at_ = GST_CLOCK_TIME_NONE, last_ = GST_CLOCK_TIME_NONE;
  GstVideoInfo info_{};
  bool known_ = false;
  std::vector<record::Event> told_;
  PublishSettings publish_;
  StreamDocuments lines_of_;
  std::string lines_;  // of the current frame
};

}  // namespace dvnn::gst
