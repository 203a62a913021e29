// SPDX-License-Identifier: Apache-2.0
// Runs the tracker over a file of detections in the MOT challenge's form (frame, any number, left,
// top, width, height, confidence) and prints tracks in the same form. The eighth column is the
// detection's number, 0 where a box is predicted.
// Usage: track_file DET_FILE FRAMES FPS EVERY WIDTH HEIGHT [camera=FILE] [SETTING=VALUE...]
#include <cstdio>
#include <cstdlib>

#include "track/sequence.h"
#include "track/tracker.h"

using namespace dvnn;
using namespace dvnn::test;

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(stderr,
                 "usage: track_file DET_FILE FRAMES FPS EVERY WIDTH HEIGHT [camera=FILE] "
                 "[SETTING=VALUE...]\n");
    return 2;
  }
  Sequence sequence;
  sequence.detections = read_detections(argv[1]);
  sequence.detections.resize(static_cast<size_t>(std::atoi(argv[2])));
  sequence.fps = std::atof(argv[3]);
  sequence.width = std::atof(argv[5]);
  sequence.height = std::atof(argv[6]);
  track::Settings settings;
  for (int i = 7; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    if (argument.compare(0, equals, "camera") == 0 && equals != std::string::npos) {
      sequence.camera = read_numbers(argument.substr(equals + 1));
    } else if (equals == std::string::npos ||
               !track::set_parameter(argument.substr(0, equals), std::atof(argv[i] + equals + 1),
                                     &settings)
                    .ok()) {
      std::fprintf(stderr, "track_file: what is '%s'?\n", argv[i]);
      return 2;
    }
  }
  const auto tracks = follow(sequence, settings, static_cast<size_t>(std::atoi(argv[4])));
  for (size_t i = 0; i < tracks.size(); ++i) {
    for (const Followed& one : tracks[i]) {
      std::printf("%zu,%ld,%.3f,%.3f,%.3f,%.3f,%.3f,%zu\n", i + 1, one.id, one.box.x0, one.box.y0,
                  one.box.x1 - one.box.x0, one.box.y1 - one.box.y0, one.confidence, one.detection);
    }
  }
  return 0;
}
