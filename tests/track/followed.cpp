// SPDX-License-Identifier: Apache-2.0
#include "track/followed.h"

namespace dvnn::test {

using namespace dvnn::track;

std::vector<std::vector<Followed>> follow(const Sequence& sequence, const Settings& settings,
                                          size_t every) {
  TrackIds ids;
  Tracker tracker(&ids);
  tracker.configure(settings);
  std::vector<std::vector<Followed>> result(sequence.detections.size());
  std::vector<Detection> detections;
  const image::Size size{sequence.width, sequence.height};
  for (size_t i = 0; i < result.size(); ++i) {
    const auto time = static_cast<Time>(1e9 * static_cast<double>(i) / sequence.fps);
    const auto add = [&](const Track& track, const image::Corners& box, size_t detection) {
      result[i].push_back({static_cast<long>(track.id),
                           {box.x0, box.y0, box.x1, box.y1},
                           detection,
                           static_cast<double>(track.confidence)});
    };
    if (i > 0 && i < sequence.camera.size() && sequence.camera[i].size() == 6) {
      const std::vector<double>& m = sequence.camera[i];
      tracker.move({m[0], m[1], m[2], m[3], m[4], m[5]});
    }
    if (i % every == 0) {
      detections.clear();
      for (const Seen& seen : sequence.detections[i]) {
        Detection detection;
        detection.box = {seen.box.x0, seen.box.y0, seen.box.x1, seen.box.y1};
        detection.confidence = static_cast<float>(seen.confidence);
        detection.class_id = seen.class_id;
        detection.embedding = seen.look;
        detections.push_back(detection);
      }
      tracker.update(time, size, detections);
      for (size_t k = 0; k < detections.size(); ++k) {
        if (const Track* track = tracker.track_of(k)) add(*track, tracker.smoothed(k), k + 1);
      }
    } else {
      tracker.predict(time, size);
    }
    for (const Tracker::Predicted& predicted : tracker.predicted())
      add(*predicted.track, predicted.box, 0);
  }
  return result;
}

Frames run_ours(const Sequence& sequence, const Settings& settings, size_t every) {
  Frames frames;
  for (const auto& followed : follow(sequence, settings, every)) {
    frames.emplace_back();
    for (const Followed& one : followed) frames.back().push_back({one.id, one.box});
  }
  return frames;
}

}  // namespace dvnn::test
