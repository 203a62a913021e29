// SPDX-License-Identifier: Apache-2.0
#include "elements/dvrecord/clipwriter.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include "base/format.h"
#include "base/result.h"
#include "elements/dvpublish/publishsettings.h"
#include "elements/dvrecord/clipreport.h"
#include "errors.h"
#include "log.h"
#include "publish/pictures.h"

DVNN_LOG_CATEGORY(clip_category, "dvclips", "Writing of clips")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT clip_category()

namespace dvnn::gst {

using record::Clip;
using record::ClipFile;
using record::Ring;
using record::Step;
using record::Time;
using record::Unit;

namespace {

constexpr std::chrono::milliseconds kLook{200};
constexpr GstClockTime kWaitForDisk = 20 * GST_MSECOND;
// A track that is so far behind the video has nothing to say: the muxer would wait for it.
constexpr Time kMostLag = 2 * record::kSecond;
// After a failure, the next attempt.
constexpr Time kRetry = 10 * record::kSecond;
constexpr guint64 kReserve = 1 << 20;  // bytes that a file grows by between two looks at the quota
constexpr guint64 kOverhead = 16 << 10;  // of the muxer, at the file's end
// A file is at most this part of the quota, so that old ones can go when new ones need the room,
// and what is reserved for it is a small part of that.
constexpr guint64 kFilesInQuota = 16, kReservesInFile = 4;

gint64 now_utc_ns() {
  constexpr gint64 kMicrosecond = 1000;
  return g_get_real_time() * kMicrosecond;
}

guint64 size_of_file(int fd) {
  struct stat facts {};
  return fstat(fd, &facts) == 0 ? static_cast<guint64>(facts.st_size) : 0;
}

}  // namespace

// The thread of one clip.
class ClipThread {
 public:
  ClipThread(std::shared_ptr<ClipWriters> shared, record::ClipPtr clip)
      : shared_(std::move(shared)), clip_(std::move(clip)) {}
  void run();

 private:
  struct FileTrack {
    std::shared_ptr<const void> format;
    TrackKind kind = TrackKind::kVideo;
    int place = -1;  // in the pipeline; -1: it is not in the file
    Time reached = 0;
    bool waited_for = false;
  };
  void write(size_t track, const Unit& unit);
  Status begin_file(const Unit& key);
  void feed(size_t track, const Unit& unit);
  bool keep_quota(guint64 bytes);
  void end_late_tracks(Time now);
  void forget_written();
  void fail(const Error& error);
  void end_file(Time until);
  void add_events(Time until, ClipReport* report);
  void tell_unwritten();
  void write_picture(ClipReport* report);
  ClipReport report_of(const char* state) const;

  const std::shared_ptr<ClipWriters> shared_;
  const record::ClipPtr clip_;
  // Of the current file; there is none without a pipeline.
  ClipFile file_;
  std::unique_ptr<ClipPipeline> pipeline_;
  std::vector<FileTrack> tracks_;
  Time base_ = 0, last_ = 0;  // on the line: the file's zero, and what was written
  Time first_shown_ = 0;
  publish::Times times_;
  GstClockTime running_time_ = GST_CLOCK_TIME_NONE;
  guint64 since_look_ = 0, lost_before_ = 0;
  guint64 pushed_ = 0;  // bytes
  std::deque<std::pair<guint64, Time>>
      in_flight_;        // `pushed_` and the end of frames, not yet written
  guint64 skipped_ = 0;  // frames that are in no file
  std::vector<record::Event> events_;
  size_t files_ = 0;
  Status failed_;        // of the current file
  std::string problem_;  // the last one
  Time retry_at_ = -record::kForever;
};

void ClipThread::run() {
  record::Recorder& recorder = *shared_->recorder_;
  for (bool more = true; more;) {
    Unit unit;
    size_t track = 0;
    switch (recorder.next(clip_.get(), kLook, &track, &unit)) {
      case Step::kUnit:
        write(track, unit);
        break;
      case Step::kCut:
        end_file(unit.time);
        break;
      case Step::kEnd:
        end_file(record::kForever);
        tell_unwritten();
        more = false;
        break;
      case Step::kNothing:
        break;
    }
    if (!pipeline_) continue;
    const Status status = pipeline_->problem(0);
    if (!status.ok()) fail(status.error());
  }
}

void ClipThread::write(size_t track, const Unit& unit) {
  if (!pipeline_) {
    if (track != Ring::kVideo) return;
    const bool begins = unit.key && unit.decode >= retry_at_;
    last_ = unit.time;
    failed_ = {};
    const Status status = begins ? begin_file(unit) : Status();
    if (!status.ok()) fail(status.error());
    if (!pipeline_) {
      ++skipped_;
      return;
    }
  }
  feed(track, unit);
}

// Begins a file with the tracks that the stream has now.
Status ClipThread::begin_file(const Unit& key) {
  const Packet& packet = packet_of(key);
  times_ = packet.times;
  running_time_ = packet.running_time;
  DVNN_ASSIGN(file_, shared_->folder_->create(path_name(shared_->stream_), times_.utc_ns,
                                              file_ending(shared_->container_)));
  tracks_.clear();
  std::vector<ClipPipeline::Track> formats;
  bool has_cues = false;
  const std::vector<TrackFormat> known = shared_->tracks();
  for (size_t i = 0; i < known.size(); ++i) {
    FileTrack track;
    track.reached = key.decode;
    track.format = i == Ring::kVideo ? key.format : known[i].caps;
    track.kind = known[i].kind;
    track.waited_for = known[i].kind == TrackKind::kAudio;
    if (known[i].kind == TrackKind::kText && shared_->container_ == Container::kMp4) {
      has_cues = track.format != nullptr;
    } else if (track.format) {
      track.place = static_cast<int>(formats.size());
      formats.push_back({known[i].kind, caps_of(track.format)});
    }
    tracks_.push_back(std::move(track));
  }
  base_ = std::min(key.time, key.decode);
  first_shown_ = key.time;
  since_look_ = pushed_ = 0;
  in_flight_.clear();
  (void)keep_quota(key.bytes);
  const Status begun = has_cues ? begin_cue_file(*shared_->folder_, &file_) : Status();
  if (!begun.ok()) {
    shared_->folder_->discard(std::exchange(file_, {}));
    return begun;
  }
  auto pipeline = ClipPipeline::start(shared_->container_, file_.file.fd(), formats, times_.utc_ns);
  if (!pipeline.ok()) {
    shared_->folder_->discard(std::exchange(file_, {}));
    return pipeline.take_failure();
  }
  pipeline_ = std::move(pipeline.value());
  GST_DEBUG("clip %" G_GUINT64_FORMAT " begins '%s'", clip_->id,
            shared_->folder_->path_of(file_, true).c_str());
  ClipReport report = report_of("started");
  report.location = shared_->folder_->path_of(file_, true);
  shared_->tell(report);
  return {};
}

// Looks at the quota before the file grows by more than was reserved. Returns false if there is no
// room for more.
bool ClipThread::keep_quota(guint64 bytes) {
  const record::Quota quota = shared_->quota();
  guint64 reserve = kReserve;
  if (quota.bytes > 0) reserve = std::min(reserve, quota.bytes / (kFilesInQuota * kReservesInFile));
  since_look_ += bytes;
  if (since_look_ < reserve && file_.reserved > 0) return true;
  since_look_ = bytes;
  const guint64 size = size_of_file(file_.file.fd());
  if (quota.bytes > 0 && size > quota.bytes / kFilesInQuota) {
    shared_->recorder_->cut_soon(clip_.get());
  }
  // What was handed over and is not in the file yet, and what the muxer adds, count too.
  const guint64 waits = pushed_ - std::min(pushed_, size);
  return shared_->folder_->reserve(&file_, waits + reserve + bytes + kOverhead, quota,
                                   now_utc_ns());
}

// The muxer waits for all tracks, so one that brings nothing ends.
void ClipThread::end_late_tracks(Time now) {
  for (FileTrack& track : tracks_) {
    if (!track.waited_for || track.place < 0 || track.reached > now - kMostLag) continue;
    pipeline_->end_track(static_cast<size_t>(track.place));
    track.place = -1;
  }
}

void ClipThread::feed(size_t track, const Unit& unit) {
  FileTrack& to = tracks_.at(track);
  const bool video = track == Ring::kVideo;
  const bool cue = to.kind == TrackKind::kText && file_.cues && unit.data;
  if ((to.place < 0 && !cue) || (!video && unit.format && unit.format != to.format)) return;
  if (!keep_quota(unit.bytes)) {
    fail(Error{ErrorCode::kLimit,
               format("the quota of '%s' is in use, and no clip is left to remove",
                      shared_->folder_->path_of(file_, true).c_str())});
    return;
  }
  to.reached = unit.decode;
  if (cue) {
    const Status status = append_cue(file_, unit, base_);
    if (!status.ok()) fail(status.error());
    return;
  }
  if (video) {
    end_late_tracks(unit.decode);
    last_ = std::max(last_, unit.time + unit.duration);
  }
  pushed_ += unit.bytes;
  if (video) in_flight_.emplace_back(pushed_, last_);
  forget_written();
  BufferPtr buffer(gst_buffer_copy(packet_of(unit).buffer.get()));
  GST_BUFFER_PTS(buffer.get()) = static_cast<GstClockTime>(std::max<Time>(unit.time - base_, 0));
  GST_BUFFER_DTS(buffer.get()) =
      video ? static_cast<GstClockTime>(std::max<Time>(unit.decode - base_, 0))
            : GST_CLOCK_TIME_NONE;
  if (unit.duration > 0)
    GST_BUFFER_DURATION(buffer.get()) = static_cast<GstClockTime>(unit.duration);
  pipeline_->push(static_cast<size_t>(to.place), std::move(buffer));
  while (pipeline_->is_full()) {
    const Status status = pipeline_->problem(kWaitForDisk);
    if (!status.ok()) {
      fail(status.error());
      return;
    }
  }
}

void ClipThread::forget_written() {
  const guint64 size = size_of_file(file_.file.fd());
  while (!in_flight_.empty() && in_flight_.front().first <= size) in_flight_.pop_front();
}

// Ends a file that cannot be written any further; the next one is tried later.
void ClipThread::fail(const Error& error) {
  if (pipeline_) {
    forget_written();
    skipped_ += in_flight_.size();
    if (!in_flight_.empty()) last_ = std::min(last_, in_flight_.front().second);
  }
  GST_INFO("clip %" G_GUINT64_FORMAT ": %s", clip_->id, error.message.c_str());
  retry_at_ = last_ + kRetry;
  failed_ = error;
  problem_ = error.message;
  ++shared_->counts_.failed;
  shared_->warn_once(error);
  if (pipeline_) end_file(last_);
}

ClipReport ClipThread::report_of(const char* state) const {
  ClipReport report;
  report.state = state;
  report.clip = clip_->id;
  report.stream = shared_->stream_;
  report.times = times_;
  report.running_time = running_time_;
  return report;
}

void ClipThread::write_picture(ClipReport* report) {
  const std::shared_ptr<void> taken = shared_->recorder_->take_picture(clip_.get());
  if (!taken) return;
  publish::Picture picture = *static_cast<const publish::Picture*>(taken.get());
  picture.file = shared_->folder_->picture_of(file_);
  const Status status = publish::encode_picture(&picture);
  if (!status.ok()) {
    shared_->warn_once(status.error());
    return;
  }
  report->picture = std::move(picture);
}

void ClipThread::add_events(Time until, ClipReport* report) {
  events_ = shared_->recorder_->take_events(clip_.get(), until);
  for (const record::Event& event : events_) {
    const auto at = static_cast<guint64>(std::max<Time>(event.time - base_, 0));
    if (event.data)
      report->events.emplace_back(static_cast<const GstStructure*>(event.data.get()), at);
  }
  if (!events_.empty()) {
    report->before = static_cast<guint64>(std::max<Time>(events_.front().time - first_shown_, 0));
  }
}

// The clip ends, and events are left of which there is no file.
void ClipThread::tell_unwritten() {
  ClipReport report = report_of("ended");
  add_events(record::kForever, &report);
  if (report.events.empty() && files_ > 0) return;
  report.complete = false;
  report.problem = problem_.empty() ? "there was nothing to write" : problem_;
  report.lost = skipped_ + shared_->recorder_->lost(*clip_) - lost_before_;
  shared_->tell(report);
}

// Ends the current file, if there is one; its events are those before `until`.
void ClipThread::end_file(Time until) {
  if (!pipeline_) return;
  const Status end = failed_.ok() ? pipeline_->finish() : failed_;
  if (!end.ok() && failed_.ok()) {
    ++shared_->counts_.failed;
    shared_->warn_once(end.error());
  }
  pipeline_.reset();
  ClipReport report = report_of("ended");
  report.duration = static_cast<guint64>(std::max<Time>(last_ - base_, 0));
  report.complete = end.ok();
  if (!end.ok()) report.problem = end.error().message;
  const guint64 lost = shared_->recorder_->lost(*clip_) + skipped_;
  report.lost = lost - std::exchange(lost_before_, lost);
  report.bytes = size_of_file(file_.file.fd());
  add_events(until, &report);
  failed_ = {};
  if (report.bytes == 0) {
    shared_->folder_->discard(std::exchange(file_, {}));
    shared_->tell(report);
    return;
  }
  write_picture(&report);
  auto path = shared_->folder_->finish(std::exchange(file_, {}));
  if (path.ok()) {
    report.location = path.value();
    ++files_;
    ++shared_->counts_.files;
    shared_->counts_.bytes += report.bytes;
    if (report.complete) shared_->warned_ = false;
  } else {
    report.complete = false;
    report.problem = path.error().message;
    shared_->warn_once(path.error());
  }
  shared_->folder_->tidy(shared_->quota(), now_utc_ns());
  shared_->tell(report);
}

// --- all clips ---------------------------------------------------------------------------------

ClipWriters::ClipWriters(GstElement* element, std::shared_ptr<record::Recorder> recorder,
                         std::shared_ptr<record::ClipFolder> folder, const RecordSettings& settings,
                         std::string stream)
    : recorder_(std::move(recorder)),
      folder_(std::move(folder)),
      container_(settings.container),
      stream_(std::move(stream)),
      quota_(settings.quota()) {
  g_weak_ref_init(&element_, element);
  g_weak_ref_init(&upstream_, nullptr);
  posts_ = settings.post_messages;
}

ClipWriters::~ClipWriters() {
  g_weak_ref_clear(&element_);
  g_weak_ref_clear(&upstream_);
}

bool ClipWriters::begin(const record::ClipPtr& clip) {
  threads_->add(1);
  ++counts_.clips;
  auto work = [shared = shared_from_this(), threads = threads_, held = clip]() mutable {
    const Status status = guarded("writing a clip", [&]() -> Status {
      ClipThread(shared, held).run();
      return {};
    });
    if (!status.ok()) shared->warn_once(status.error());
    shared->recorder_->give_back(held);
    // Whoever waits for the thread may end the process.
    held.reset();
    shared.reset();
    threads->add(-1);
  };
  try {
    std::thread(std::move(work)).detach();
    return true;
  } catch (const std::system_error&) {
    threads_->add(-1);
    return false;
  }
}

void ClipWriters::Threads::add(int number) {
  const std::lock_guard<std::mutex> lock(mutex);
  running += number;
  changed.notify_all();
}

bool ClipWriters::wait(guint timeout_ms, bool may_be_cancelled) {
  std::unique_lock<std::mutex> lock(threads_->mutex);
  threads_->changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] {
    return threads_->running == 0 || (may_be_cancelled && threads_->cancelled);
  });
  return threads_->running == 0;
}

void ClipWriters::cancel_wait() {
  const std::lock_guard<std::mutex> lock(threads_->mutex);
  threads_->cancelled = true;
  threads_->changed.notify_all();
}

void ClipWriters::set_quota(const record::Quota& quota) {
  const std::lock_guard<std::mutex> lock(mutex_);
  quota_ = quota;
}

record::Quota ClipWriters::quota() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return quota_;
}

void ClipWriters::set_posting(bool post) {
  posts_ = post;
}

void ClipWriters::set_track(size_t track, const TrackFormat& format) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (tracks_.size() <= track) tracks_.resize(track + 1);
  tracks_[track] = format;
}

std::vector<TrackFormat> ClipWriters::tracks() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tracks_;
}

void ClipWriters::set_upstream(GstPad* pad) {
  g_weak_ref_set(&upstream_, pad);
}

// Warns of what is wrong with files once, until a clip is complete again.
void ClipWriters::warn_once(const Error& error) {
  if (warned_.exchange(true)) return;
  const ElementPtr element(static_cast<GstElement*>(g_weak_ref_get(&element_)));
  if (element) post_warning(element.get(), Topic::kFile, error.within("a clip cannot be written"));
}

void ClipWriters::tell(const ClipReport& report) {
  StructurePtr fields(clip_structure(report));
  GST_DEBUG("%" GST_PTR_FORMAT, fields.get());
  const PadPtr pad(static_cast<GstPad*>(g_weak_ref_get(&upstream_)));
  if (pad) {
    gst_pad_push_event(pad.get(), gst_event_new_custom(GST_EVENT_CUSTOM_UPSTREAM,
                                                       gst_structure_copy(fields.get())));
  }
  const ElementPtr element(static_cast<GstElement*>(g_weak_ref_get(&element_)));
  if (!element || !posts_) return;
  gst_element_post_message(
      element.get(), gst_message_new_element(GST_OBJECT_CAST(element.get()), fields.release()));
}

}  // namespace dvnn::gst
