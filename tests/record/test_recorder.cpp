// SPDX-License-Identifier: Apache-2.0
// Events against clips: a camera whose stream loses key units, has gaps, jumps and is sought in, a
// detection branch that comes later or earlier, and events that are told late. The truth is the
// stream that was made: each event names the unit that it shows.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/format.h"
#include "check_suite.h"
#include "record/recorder.h"

namespace dvnn::record::recorder_test {
namespace {

DVNN_SUITE(record_recorder);

constexpr Time kFrame = 40 * kMillisecond;

std::shared_ptr<const void> number(size_t value) {
  return std::make_shared<const size_t>(value);
}
size_t number_of(const std::shared_ptr<const void>& data) {
  return *static_cast<const size_t*>(data.get());
}

Unit video_unit(Time time, bool key, size_t index, size_t bytes = 1000) {
  Unit unit;
  unit.time = unit.decode = time;
  unit.duration = kFrame;
  unit.key = key;
  unit.bytes = bytes;
  unit.data = number(index);
  return unit;
}

Unit progress_unit(Time time) {
  Unit unit;
  unit.time = unit.decode = time;
  return unit;
}

// A clip as it was read.
struct Read {
  std::vector<size_t> units;  // of the video
  std::vector<Time> times;
  std::vector<size_t> events;
  bool begins_with_key = true, ended = false;
  size_t files = 1;
};

// Reads all clips, as their threads would.
class Clips {
 public:
  explicit Clips(Recorder* recorder) : recorder_(recorder) {
    recorder->begun = [this](const ClipPtr& clip) {
      begun_.push_back(clip);
      return true;
    };
  }
  // Reads what is there. `most`: units of each clip, as a slow disk takes.
  void read(size_t most = SIZE_MAX) {
    for (const ClipPtr& clip : begun_) {
      if (std::find(open_.begin(), open_.end(), clip) == open_.end()) open_.push_back(clip);
    }
    begun_.clear();
    for (size_t i = 0; i < open_.size();) {
      if (read_one(open_[i], most)) {
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }
  std::map<uint64_t, Read> all;

 private:
  bool read_one(const ClipPtr& clip, size_t most) {
    Read& read = all[clip->id];
    Unit unit;
    size_t track = 0;
    for (size_t i = 0; i < most; ++i) {
      const Step step = recorder_->next(clip.get(), std::chrono::milliseconds(0), &track, &unit);
      if (step == Step::kNothing) return false;
      if (step == Step::kUnit && track == Ring::kVideo) {
        if (read.units.empty()) read.begins_with_key = unit.key;
        read.units.push_back(number_of(unit.data));
        read.times.push_back(unit.decode);
      }
      if (step == Step::kCut) {
        ++read.files;
        add_events(clip, unit.time, &read);
      }
      if (step != Step::kEnd) continue;
      add_events(clip, kForever, &read);
      read.ended = true;
      recorder_->give_back(clip);
      return true;
    }
    return false;
  }
  void add_events(const ClipPtr& clip, Time until, Read* read) {
    for (const Event& event : recorder_->take_events(clip.get(), until)) {
      read->events.push_back(number_of(event.data));
    }
  }

  Recorder* const recorder_;
  std::vector<ClipPtr> begun_, open_;
};

DVNN_TEST(a_clip_has_what_came_before_and_after) {
  Recorder recorder(std::make_shared<Memory>(1 << 30), 1);
  recorder.set_rules({2 * kSecond, 1 * kSecond, kSecond, 600 * kSecond});
  Clips clips(&recorder);
  // A key each second; the event at 10.2 s.
  for (size_t i = 0; i < 500; ++i) {
    recorder.video(video_unit(static_cast<Time>(i) * kFrame, i % 25 == 0, i), false);
    if (i == 255) recorder.add_event(kNoTime, number(0));
    clips.read();
  }
  ck_assert_uint_eq(clips.all.size(), 1);
  const Read& clip = clips.all.begin()->second;
  ck_assert(clip.ended);
  ck_assert_uint_eq(clip.units.front(), 200);  // 8 s: the key at or before 8.2 s
  ck_assert_uint_eq(clip.units.back(), 280);   // 11.2 s
  ck_assert_uint_eq(clip.units.size(), 81);
  ck_assert_uint_eq(clip.events.size(), 1);
}

DVNN_TEST(events_whose_clips_overlap_share_one) {
  Recorder recorder(std::make_shared<Memory>(1 << 30), 1);
  recorder.set_rules({2 * kSecond, 1 * kSecond, kSecond, 600 * kSecond});
  Clips clips(&recorder);
  for (size_t i = 0; i < 1000; ++i) {
    recorder.video(video_unit(static_cast<Time>(i) * kFrame, i % 25 == 0, i), false);
    // 10 s; 12.9 s, whose clip would begin at 10.9 s, before the first one ends; 16.4 s, after it.
    if (i == 250 || i == 322 || i == 410) recorder.add_event(kNoTime, number(i));
    clips.read();
  }
  ck_assert_uint_eq(clips.all.size(), 2);
  const Read& first = clips.all.begin()->second;
  ck_assert_uint_eq(first.events.size(), 2);
  ck_assert_uint_eq(first.units.back(), 347);
  ck_assert_uint_eq(clips.all.rbegin()->second.events.size(), 1);
}

DVNN_TEST(a_long_clip_goes_on_in_another_file_without_a_gap) {
  Recorder recorder(std::make_shared<Memory>(1 << 30), 1);
  recorder.set_rules({0, 1 * kSecond, kSecond, 10 * kSecond});
  Clips clips(&recorder);
  for (size_t i = 0; i < 1000; ++i) {
    recorder.video(video_unit(static_cast<Time>(i) * kFrame, i % 25 == 0, i), false);
    if (i == 0) recorder.hold(true, number(0));
    if (i == 875) recorder.hold(false, nullptr);  // 35 s
    clips.read();
  }
  ck_assert_uint_eq(clips.all.size(), 1);
  const Read& clip = clips.all.begin()->second;
  ck_assert(clip.ended);
  ck_assert_uint_eq(clip.files, 4);
  ck_assert_uint_eq(clip.units.size(), 901);
}

// A dead disk reads nothing: the camera goes on within the budget, and the clip knows its loss.
DVNN_TEST(a_reader_that_stands_still_holds_up_nothing) {
  auto memory = std::make_shared<Memory>(1 << 20);
  Recorder recorder(memory, 1);
  recorder.set_rules({2 * kSecond, 1000 * kSecond, kSecond, 600 * kSecond});
  Clips clips(&recorder);
  for (size_t i = 0; i < 5000; ++i) {
    recorder.video(video_unit(static_cast<Time>(i) * kFrame, i % 25 == 0, i, 5000), false);
    if (i == 100) recorder.add_event(kNoTime, number(0));
    ck_assert_uint_le(memory->used(), 1 << 20);
  }
  clips.read();
  const Read& clip = clips.all.begin()->second;
  ck_assert_uint_gt(recorder.losses().unwritten, 4500);
  ck_assert_uint_eq(recorder.losses().unwritten + clip.units.size(), 5000 - 50);
  ck_assert(clip.begins_with_key);
}

DVNN_TEST(streams_share_the_memory_and_the_largest_gives) {
  auto memory = std::make_shared<Memory>(1 << 20);
  Recorder quiet(memory, 1), busy(memory, 1);
  for (Recorder* recorder : {&quiet, &busy}) {
    recorder->set_rules({1000 * kSecond, kSecond, kSecond, 600 * kSecond});
  }
  for (size_t i = 0; i < 2000; ++i) {
    quiet.video(video_unit(static_cast<Time>(i) * kFrame, i % 25 == 0, i, 100), false);
    busy.video(video_unit(static_cast<Time>(i) * kFrame, i % 25 == 0, i, 8000), false);
    ck_assert_uint_le(memory->used(), 1 << 20);
  }
  // The quiet one has nearly its half, the busy one the rest.
  ck_assert_uint_gt(quiet.bytes(), 400 << 10);
  ck_assert_uint_gt(busy.bytes(), 300 << 10);
}

// --- the sweep ---------------------------------------------------------------------------------

using Random = std::mt19937;

// What the camera made: the running time of each unit.
struct Camera {
  Time time = 0;
  bool jumps = false;  // a flush comes before the unit
};

class Scene {
 public:
  explicit Scene(unsigned seed)
      : random_(seed),
        memory_(std::make_shared<Memory>(64 << 20)),
        recorder_(memory_, 2),
        clips_(&recorder_) {
    Rules rules;
    rules.before = below(4) * kSecond + kSecond / 2;
    rules.after = below(4) * kSecond + kSecond / 4;
    rules.late = 3 * kSecond;
    rules.longest = (20 + below(40)) * kSecond;
    recorder_.set_rules(rules);
    recorder_.expect(1, true);
    behind_ = static_cast<size_t>(below(50));                     // frames, of the detection branch
    ahead_ = below(4) == 0 ? static_cast<size_t>(below(20)) : 0;  // an encoder's, of the video
    if (ahead_ > 0) behind_ = 0;
    group_ = static_cast<size_t>(5 + below(100));
    slow_disk_ = below(3) == 0;
  }

  void play(size_t frames) {
    for (size_t i = 0; i < frames + behind_ + ahead_; ++i) {
      if (i < frames) make(i);
      if (i >= ahead_ && i - ahead_ < frames) show(i - ahead_);
      if (i >= behind_ && i - behind_ < frames) detect(i - behind_);
      if (!slow_disk_ || i % 5 == 0) clips_.read(slow_disk_ ? 40 : SIZE_MAX);
      ck_assert_uint_le(memory_->used(), 64 << 20);
    }
    recorder_.finish();
    clips_.read();
  }

  // Returns what is wrong: an event whose unit is not in the clip that has the event.
  std::string wrong() const {
    std::set<size_t> told;
    for (const auto& [id, clip] : clips_.all) {
      const auto clip_text = format("clip %d of units %zu to %zu", static_cast<int>(id),
                                    clip.units.empty() ? 0 : clip.units.front(),
                                    clip.units.empty() ? 0 : clip.units.back());
      if (!clip.ended) return clip_text + " has not ended";
      if (!clip.begins_with_key) return clip_text + " begins without a key";
      if (!std::is_sorted(clip.times.begin(), clip.times.end())) return clip_text + " goes back";
      for (const size_t frame : clip.events) {
        told.insert(frame);
        if (std::count(clip.units.begin(), clip.units.end(), frame) == 1) continue;
        return clip_text +
               format(" has the event of unit %zu, at %.3f s", frame,
                      static_cast<double>(made_[frame].time) / kSecond) +
               around(frame);
      }
    }
    for (const size_t frame : events_) {
      if (told.count(frame) == 0) return format("the event of unit %zu is in no clip", frame);
    }
    return "";
  }
  std::string around(size_t frame) const {
    std::string text;
    for (size_t i = frame > 30 ? frame - 30 : 0; i < std::min(frame + 30, made_.size()); ++i) {
      text += format("%zu:%.3f%s ", i, static_cast<double>(made_[i].time) / kSecond,
                     made_[i].jumps ? "!" : "");
    }
    return text;
  }
  size_t events() const { return events_.size(); }
  const Recorder& recorder() const { return recorder_; }

 private:
  Time below(int most) { return std::uniform_int_distribution<Time>(0, most - 1)(random_); }
  bool one_in(int of) { return below(of) == 0; }

  // The camera's next frame, at a time that may jump.
  void make(size_t index) {
    Camera frame;
    if (index > 0) {
      Time step = kFrame + (below(11) - 5) * kMillisecond;
      if (one_in(400)) step = below(9000) * kMillisecond;     // a gap
      if (one_in(1500)) step = (11 + below(4000)) * kSecond;  // the clock is set forward
      if (one_in(1500)) step = -(2 + below(600)) * kSecond;   // and back
      frame.time = made_.back().time + step;
      if (frame.time < 0) frame.time = made_.back().time + kFrame;
      // A seek, sometimes to what was just shown.
      if (one_in(1000)) {
        frame.jumps = true;
        frame.time = one_in(2) ? below(100) * kSecond : made_.back().time - kSecond / 2;
      }
    }
    made_.push_back(frame);
  }

  // The frame reaches the recorder as a unit. After a jump it is a key: nothing else can be shown.
  void show(size_t index) {
    const bool due = index % group_ == 0 && !one_in(5);  // one key in five is lost
    const bool key = index == 0 || due || made_[index].jumps;
    recorder_.video(
        video_unit(made_[index].time, key, index, static_cast<size_t>(200 + below(2000))),
        made_[index].jumps);
  }

  // The frame comes through the detection branch, with events of it and of frames before.
  void detect(size_t index) {
    if (made_[index].jumps) recorder_.flush(1, 1);
    std::vector<Event> events;
    // What happened last before the clock was set back is told with the frame after it.
    if (index > 0 && !made_[index].jumps && made_[index].time < made_[index - 1].time &&
        events_.insert(index - 1).second) {
      events.push_back({made_[index - 1].time, number(index - 1)});
    }
    while (one_in(20)) {
      size_t of = index;
      // Told late, up to two seconds, but not across what would move its time.
      for (Time left = below(50); left > 0 && of > 0 && steady(of); --left) --of;
      if (events_.insert(of).second) events.push_back({made_[of].time, number(of)});
    }
    recorder_.follow(1, progress_unit(made_[index].time), std::move(events));
  }
  bool steady(size_t index) const {
    const Time step = made_[index].time - made_[index - 1].time;
    return !made_[index].jumps && step > 0 && step < 100 * kMillisecond;
  }

  Random random_;
  std::shared_ptr<Memory> memory_;
  Recorder recorder_;
  Clips clips_;
  std::vector<Camera> made_;
  std::set<size_t> events_;
  size_t behind_ = 0, ahead_ = 0, group_ = 25;
  bool slow_disk_ = false;
};

DVNN_TEST(each_event_is_in_its_clip_whatever_the_stream_does) {
  const size_t wanted = static_cast<size_t>(dvnn_rounds(10000));
  const unsigned first = std::random_device()();
  size_t events = 0;
  for (unsigned seed = first; events < wanted; ++seed) {
    Scene scene(seed);
    scene.play(4000);
    events += scene.events();
    ck_assert_msg(scene.wrong().empty(), "seed %u: %s", seed, scene.wrong().c_str());
    ck_assert_uint_eq(scene.recorder().losses().unwritten, 0);
    ck_assert_uint_eq(scene.recorder().losses().missed, 0);
  }
}

}  // namespace
}  // namespace dvnn::record::recorder_test
