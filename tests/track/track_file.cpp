// SPDX-License-Identifier: Apache-2.0
// Runs the tracker over a file of detections in the MOT challenge's form (frame, any number, left,
// top, width, height, confidence) and prints tracks in the same form. The eighth column is the
// detection's number, 0 where a box is predicted.
// Usage: track_file DET_FILE FRAMES FPS EVERY WIDTH HEIGHT [SETTING=VALUE...]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "track/tracker.h"

using namespace dvnn;
using namespace dvnn::track;

namespace {

std::vector<std::vector<Detection>> read_detections(const char* path, size_t frames) {
  std::vector<std::vector<Detection>> all(frames + 1);
  FILE* file = std::fopen(path, "r");
  if (!file) {
    std::perror(path);
    std::exit(2);
  }
  double frame, id, left, top, width, height, confidence;
  char line[512];
  while (std::fgets(line, sizeof line, file)) {
    if (std::sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf,%lf", &frame, &id, &left, &top, &width, &height,
                    &confidence) != 7) {
      std::fprintf(stderr, "%s: not a detection: %s", path, line);
      std::exit(2);
    }
    if (frame < 1 || frame > static_cast<double>(frames)) continue;
    Detection detection;
    detection.box = {left, top, left + width, top + height};
    detection.confidence = static_cast<float>(confidence);
    all[static_cast<size_t>(frame)].push_back(detection);
  }
  std::fclose(file);
  return all;
}

bool set(const std::string& setting, const std::string& value, Settings* settings) {
  const double number = std::atof(value.c_str());
  const auto ms = static_cast<Time>(number * kMillisecond);
  if (setting == "sure")
    settings->sure = static_cast<float>(number);
  else if (setting == "start")
    settings->start = static_cast<float>(number);
  else if (setting == "weak")
    settings->weak = static_cast<float>(number);
  else if (setting == "evidence")
    settings->evidence = static_cast<float>(number);
  else if (setting == "probation")
    settings->probation = ms;
  else if (setting == "lost")
    settings->lost = ms;
  else if (setting == "coast")
    settings->coast = ms;
  else
    return false;
  return true;
}

void print(size_t frame, const Track& track, const image::Corners& box, size_t detection) {
  std::printf("%zu,%llu,%.3f,%.3f,%.3f,%.3f,%.3f,%zu\n", frame,
              static_cast<unsigned long long>(track.id), box.x0, box.y0, box.x1 - box.x0,
              box.y1 - box.y0, static_cast<double>(track.confidence), detection);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(stderr,
                 "usage: track_file DET_FILE FRAMES FPS EVERY WIDTH HEIGHT [SETTING=VALUE]\n");
    return 2;
  }
  const auto frames = static_cast<size_t>(std::atoi(argv[2]));
  const double fps = std::atof(argv[3]);
  const auto every = static_cast<size_t>(std::atoi(argv[4]));
  const image::Size size{std::atof(argv[5]), std::atof(argv[6])};
  Settings settings;
  for (int i = 7; i < argc; ++i) {
    const char* equals = std::strchr(argv[i], '=');
    if (!equals ||
        !set(std::string(argv[i], static_cast<size_t>(equals - argv[i])), equals + 1, &settings)) {
      std::fprintf(stderr, "track_file: what is '%s'?\n", argv[i]);
      return 2;
    }
  }
  const auto detections = read_detections(argv[1], frames);
  TrackIds ids;
  Tracker tracker(&ids);
  tracker.configure(settings);
  for (size_t frame = 1; frame <= frames; ++frame) {
    const auto time = static_cast<Time>(1e9 * static_cast<double>(frame - 1) / fps);
    if ((frame - 1) % every == 0) {
      const std::vector<Detection>& found = detections[frame];
      tracker.update(time, size, found);
      for (size_t i = 0; i < found.size(); ++i) {
        if (const Track* track = tracker.track_of(i))
          print(frame, *track, tracker.smoothed(i), i + 1);
      }
    } else {
      tracker.predict(time, size);
    }
    for (const Tracker::Predicted& p : tracker.predicted()) print(frame, *p.track, p.box, 0);
  }
  return 0;
}
