// SPDX-License-Identifier: Apache-2.0
// Chooses which objects of a frame are read, and keeps what was read by track. Streaming thread
// only.
#pragma once

#include <gst/video/video.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agree/track_reading.h"
#include "base/result.h"
#ifdef DVNN_HAVE_MARKERS
#include "codes/markers.h"
#endif
#include "codes/reader.h"
#include "elements/labellist.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "regions/budget.h"

namespace dvnn::gst {

struct ReadSettings {
  std::string object_class = "QR code,barcode";
  std::string marker_class = "marker", marker_families;
  gdouble margin = 0.15;
  guint max_per_frame = 0, refresh_ms = 0;
  gdouble max_rate = 0;
  guint agree = 0;  // looks; 0: they are not compared
  std::string pattern;
  std::shared_ptr<const agree::Patterns> patterns;  // read from `pattern`; null: none
  bool post_messages = false;
};

class ObjectReader {
 public:
  /// Takes over the settings; cheap if none has changed.
  void configure(const ReadSettings& settings);
  /// Reads the codes on the objects of a writable frame, and adds the texts to the objects.
  /// kMalformed if the frame's memory does not match the caps, `info`.
  Status read(const GstVideoInfo& info, GstClockTime time, GstBuffer* frame);
  /// Forgets everything, because another stream begins.
  void reset();

 private:
  struct Known {
    codes::Reading reading;  // an empty text: none yet
    agree::TrackReading looks{agree::TextVotes::By::kText};
    objects::Agreement agreement;
    GstClockTime seen = 0;
  };

  void find(GstDvObjectsMeta* meta);
  bool is_marker(const GstDvObject& object) const { return marker_classes_.has(object.label); }
  void spend_budget(GstClockTime time);
  void forget_old(GstClockTime time);
  Status read_chosen(const GstVideoInfo& info, GstBuffer* frame);
  void read_object(const GstVideoFrame& frame, const codes::Planes& planes, GstDvObject* object);
  std::optional<codes::Reading> read_code() { return reader_.read(luma_, core()); }
  std::optional<codes::Reading> read_marker(const codes::PixelRect& part, GstDvObject* object);
  double core() const { return 1 / (1 + 2 * settings_.margin); }
  void compare(const std::optional<codes::Reading>& reading, const GstDvObject& object);
  void attach(GstClockTime time, GstBuffer* frame);

  ReadSettings settings_;
  LabelList classes_, marker_classes_;
  codes::Reader reader_;
#ifdef DVNN_HAVE_MARKERS
  codes::MarkerReader markers_;
#endif
  codes::Luma luma_;
  regions::Budget budget_;
  std::unordered_map<guint64, Known> known_;  // by track
  GstClockTime last_ = 0;
  std::vector<GstDvObject*> objects_;  // candidates of this frame
  std::vector<size_t> chosen_;         // indices into objects_
};

}  // namespace dvnn::gst
