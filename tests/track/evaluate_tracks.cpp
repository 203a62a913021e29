// SPDX-License-Identifier: Apache-2.0
// Measures the tracker, beside SORT, ByteTrack and OC-SORT, on recorded sequences: HOTA, CLEAR MOT
// and IDF1. Usage: evaluate_tracks [every=N] [drop=SHARE] [jitter=SHARE] [cut] [camera] [sum]
// [SETTING=VALUE...] FOLDER... A folder is as read_sequence() takes it; settings are dvtrack's.
// `every` keeps each Nth frame, `drop` drops detections, `jitter` moves their edges, `cut` ends
// boxes at the frame's edge, `camera` uses camera_motion.txt, `sum` leaves single sequences out.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "track/baselines.h"
#include "track/sequence.h"
#include "track/tracker.h"

using namespace dvnn;
using namespace dvnn::test;

namespace {

// The trackers' own confidence that is sure, as they were published: on KITTI and MOT17 0.6, where
// detectors are surer than those of MOT15.
double sure_of(const Sequence& sequence) {
  double least = 1;
  for (const auto& frame : sequence.detections) {
    for (const Seen& seen : frame) least = std::min(least, seen.confidence);
  }
  return least >= 0.5 && least < 0.6 ? 0.5 : 0.6;
}

void print(const std::string& name, const char* tracker, const Figures& f) {
  std::printf(
      "%-16s %-9s  HOTA %5.1f (DetA %4.1f, AssA %4.1f, LocA %4.1f)  MOTA %6.1f  IDF1 %5.1f  "
      "switches %4ld  fragments %4ld  missed %5ld  false %5ld\n",
      name.c_str(), tracker, 100 * f.hota(), 100 * f.det_a(), 100 * f.ass_a(), 100 * f.loc_a(),
      100 * f.mota(), 100 * f.idf1(), f.switches, f.fragments, f.truths - f.matches,
      f.found - f.matches);
}

}  // namespace

int main(int argc, char** argv) {
  Conditions conditions;
  track::Settings settings;
  bool camera = false, sum = false;
  constexpr int kTrackers = 4;
  const char* const names[kTrackers] = {"dvtrack", "SORT", "ByteTrack", "OC-SORT"};
  Figures all[kTrackers];
  int sequences = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string key = argument.substr(0, equals);
    const double value = equals == std::string::npos ? 0 : std::atof(argv[i] + equals + 1);
    if (argument == "cut") {
      conditions.cut = true;
    } else if (argument == "camera") {
      camera = true;
    } else if (argument == "sum") {
      sum = true;
    } else if (key == "every" && value >= 1) {
      conditions.every = static_cast<size_t>(value);
    } else if (key == "drop") {
      conditions.drop = value;
    } else if (key == "jitter") {
      conditions.jitter = value;
    } else if (equals != std::string::npos) {
      const Status done = track::set_parameter(key, value, &settings);
      if (done.ok()) continue;
      std::fprintf(stderr, "evaluate_tracks: %s\n", done.error().message.c_str());
      return 2;
    } else {
      Sequence sequence = under(conditions, read_sequence(argument));
      if (sequence.detections.empty()) {
        std::fprintf(stderr, "evaluate_tracks: '%s' has no det.txt\n", argv[i]);
        return 2;
      }
      if (!camera) sequence.camera.clear();
      const double sure = sure_of(sequence);
      const Frames tracks[kTrackers] = {run_ours(sequence, settings), run_sort(sequence),
                                        run_byte_track(sequence, sure),
                                        run_oc_sort(sequence, sure)};
      for (int k = 0; k < kTrackers; ++k) {
        const Figures figures =
            figures_of(sequence.truth, counted(sequence.truth, tracks[k], sequence.ignored));
        all[k].add(figures);
        if (!sum) print(sequence.name, names[k], figures);
      }
      ++sequences;
    }
  }
  if (sequences == 0) {
    std::fprintf(stderr,
                 "usage: evaluate_tracks [every=N] [drop=SHARE] [jitter=SHARE] [cut] [camera] "
                 "[sum] [SETTING=VALUE...] FOLDER...\n");
    return 2;
  }
  if (sequences > 1 || sum) {
    for (int k = 0; k < kTrackers; ++k) print("together", names[k], all[k]);
  }
  return 0;
}
