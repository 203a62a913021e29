// SPDX-License-Identifier: Apache-2.0
// Makes documents of a stream: of its frames, and of what dvtrack and dvzones have found with them.
// Used by the streaming thread alone, but for add_clip(); what is left to do for a document, its
// pictures and its line, is left to the thread that writes the drafts.
#pragma once

#include <gst/gst.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "elements/dvpublish/publishsettings.h"
#include "elements/dvpublish/snapshots.h"
#include "image/view.h"
#include "publish/document.h"
#include "refs.h"

namespace dvnn::gst {

/// Decides whether a frame gets a document: its turn has come, and it tells something new.
class Changes {
 public:
  /// Returns whether a frame at this running time is due; called before its facts are collected.
  bool is_due(GstClockTime time, const PublishSettings& settings) const;
  /// Returns whether the frame's objects are new enough, after is_due(). If so the frame is
  /// published, and later frames are compared with it.
  bool is_new(GstClockTime time, const std::vector<publish::FrameObject>& objects, double height,
              const PublishSettings& settings);
  void reset() { *this = {}; }

 private:
  GstClockTime last_ = GST_CLOCK_TIME_NONE, due_ = 0;
  std::vector<objects::Object> told_;  // where changes have to be large enough
};

class StreamDocuments {
 public:
  using Send = std::function<void(publish::Draft)>;
  /// Reports a problem with pictures; called from any thread.
  using TellProblem = std::function<void(const Error&)>;
  /// Is handed the best view of a track that has ended.
  using Show = std::function<void(publish::Picture)>;

  /// Writes a document as a line: publish::to_line(), or to_onvif().
  using Write = std::string (*)(const publish::Document&, const publish::Identity&, uint64_t seq,
                                const std::string& fields);
  /// Begins a new session.
  void begin(const publish::Identity& identity, Write write, Send send, TellProblem tell);
  /// Sets the frames' size from the caps. Returns false if they have none.
  bool set_format(const GstCaps* caps);
  void add_frame(GstBuffer* frame, const GstSegment& segment, const PublishSettings& settings);
  /// Sets who gets best views, or nobody.
  void show_views(Show show) { show_ = std::move(show); }
  /// Adds a finding of dvtrack or dvzones. It is published with the next frame, or at the stream's
  /// end.
  void add_found(const GstStructure* fields, const PublishSettings& settings);
  /// Publishes the findings that no frame follows any more, with the last frame's time.
  void add_rest(const PublishSettings& settings);
  /// Publishes what dvrecord tells of a clip. Any thread.
  void add_clip(const GstStructure* fields, const PublishSettings& settings);
  /// Begins another stream, or the same one after a seek.
  void begin_anew();
  void end();

 private:
  void send(publish::Document document, const PublishSettings& settings);
  publish::Document document_at(const publish::Times& times) const;
  void publish_found(GstBuffer* frame, const publish::Times& times,
                     const PublishSettings& settings);
  void publish_frame(GstBuffer* frame, GstClockTime time, const publish::Times& times,
                     const PublishSettings& settings);
  std::optional<publish::Picture> picture_of(guint64 track, GstBuffer* frame,
                                             const PublishSettings& settings);
  void add_pictures(GstBuffer* frame, const PublishSettings& settings, publish::Document* document);

  std::mutex mutex_;  // of the following
  std::shared_ptr<const publish::Identity> identity_;
  Write write_ = nullptr;
  Send send_;
  TellProblem tell_;
  guint64 seq_ = 0;
  image::Size caps_size_, size_;  // of the caps, of the last frame
  Changes changes_;
  Snapshots snapshots_;
  Show show_;
  std::vector<StructurePtr> found_;
  publish::Times last_times_;
};

}  // namespace dvnn::gst
