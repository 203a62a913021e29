// SPDX-License-Identifier: Apache-2.0
#include "track/sequence.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

namespace dvnn::test {
namespace {

template <typename T>
std::vector<T>* frame_of(double number, std::vector<std::vector<T>>* frames) {
  const auto frame = static_cast<size_t>(number);
  if (number < 1) return nullptr;
  if (frames->size() < frame) frames->resize(frame);
  return &(*frames)[frame - 1];
}

Box box_of(const std::vector<double>& row, size_t at) {
  return {row[at], row[at + 1], row[at] + row[at + 2], row[at + 1] + row[at + 3]};
}

Frames named_boxes(const std::string& path, size_t at) {
  Frames frames;
  for (const std::vector<double>& row : read_numbers(path)) {
    if (row.size() < at + 4 || (row.size() > 6 && row[6] == 0)) continue;
    auto* frame = frame_of(row[0], &frames);
    if (frame) frame->push_back({at > 1 ? static_cast<long>(row[1]) : 0, box_of(row, at)});
  }
  return frames;
}

double number_of(const std::string& path, const std::string& key, double otherwise) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size() + 1, key + "=") == 0)
      return std::atof(line.c_str() + key.size() + 1);
  }
  return otherwise;
}

template <typename T>
void keep_every(size_t step, std::vector<T>* frames) {
  size_t kept = 0;
  for (size_t i = 0; i < frames->size(); i += step, ++kept) {
    if (i != kept) (*frames)[kept] = std::move((*frames)[i]);
  }
  frames->resize(kept);
}

// The motions of frames that are left out are part of the next one's.
std::vector<double> after(const std::vector<double>& first, const std::vector<double>& then) {
  std::vector<double> both(6);
  for (size_t row = 0; row < 6; row += 3) {
    for (size_t i = 0; i < 3; ++i)
      both[row + i] =
          then[row] * first[i] + then[row + 1] * first[3 + i] + (i == 2 ? then[row + 2] : 0);
  }
  return both;
}

}  // namespace

std::vector<std::vector<double>> read_numbers(const std::string& path) {
  std::vector<std::vector<double>> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream fields(line);
    rows.emplace_back();
    for (double value = 0; fields >> value;) rows.back().push_back(value);
  }
  return rows;
}

std::vector<std::vector<Seen>> read_detections(const std::string& path) {
  std::vector<std::vector<Seen>> detections;
  for (const std::vector<double>& row : read_numbers(path)) {
    if (row.size() < 7) continue;
    auto* frame = frame_of(row[0], &detections);
    if (frame) frame->push_back({box_of(row, 2), row[6], 0, {}});
  }
  return detections;
}

Sequence read_sequence(const std::string& folder) {
  Sequence sequence;
  const std::string info = folder + "/seqinfo.ini";
  sequence.name = folder.substr(folder.find_last_of('/') + 1);
  sequence.fps = number_of(info, "frameRate", 25);
  sequence.width = number_of(info, "imWidth", 0);
  sequence.height = number_of(info, "imHeight", 0);
  sequence.truth = named_boxes(folder + "/gt.txt", 2);
  sequence.ignored.things = named_boxes(folder + "/ignore.txt", 2);
  sequence.ignored.areas = named_boxes(folder + "/dontcare.txt", 1);
  // Smaller boxes than that are hardly annotated in KITTI, which alone has such areas.
  if (!sequence.ignored.areas.empty()) sequence.ignored.height = 25;
  sequence.detections = read_detections(folder + "/det.txt");
  const auto length = static_cast<size_t>(number_of(info, "seqLength", 0));
  const size_t frames = std::max({length, sequence.truth.size(), sequence.detections.size()});
  sequence.truth.resize(frames);
  sequence.detections.resize(frames);
  sequence.camera = read_numbers(folder + "/camera_motion.txt");
  return sequence;
}

Sequence under(const Conditions& conditions, Sequence sequence) {
  std::mt19937 random(conditions.seed);
  std::uniform_real_distribution<double> share(0, 1);
  std::normal_distribution<double> normal(0, 1);
  for (auto& frame : sequence.detections) {
    for (Seen& seen : frame) {
      const double x = conditions.jitter * (seen.box.x1 - seen.box.x0);
      const double y = conditions.jitter * (seen.box.y1 - seen.box.y0);
      if (conditions.jitter > 0) {
        seen.box.x0 += x * normal(random), seen.box.x1 += x * normal(random);
        seen.box.y0 += y * normal(random), seen.box.y1 += y * normal(random);
      }
      if (conditions.cut && sequence.width > 0) {
        seen.box.x0 = std::clamp(seen.box.x0, 0.0, sequence.width);
        seen.box.x1 = std::clamp(seen.box.x1, 0.0, sequence.width);
        seen.box.y0 = std::clamp(seen.box.y0, 0.0, sequence.height);
        seen.box.y1 = std::clamp(seen.box.y1, 0.0, sequence.height);
      }
    }
    const auto gone = [&](const Seen& seen) {
      const bool dropped = conditions.drop > 0 && share(random) < conditions.drop;
      return dropped || !(seen.box.x1 > seen.box.x0 && seen.box.y1 > seen.box.y0);
    };
    frame.erase(std::remove_if(frame.begin(), frame.end(), gone), frame.end());
  }
  if (conditions.every > 1) {
    for (size_t i = 1; i < sequence.camera.size(); ++i) {
      if (i % conditions.every != 1)
        sequence.camera[i] = after(sequence.camera[i - 1], sequence.camera[i]);
    }
    keep_every(conditions.every, &sequence.camera);
    keep_every(conditions.every, &sequence.detections);
    keep_every(conditions.every, &sequence.truth);
    keep_every(conditions.every, &sequence.ignored.things);
    keep_every(conditions.every, &sequence.ignored.areas);
    sequence.fps /= static_cast<double>(conditions.every);
  }
  return sequence;
}

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
