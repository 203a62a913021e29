// SPDX-License-Identifier: Apache-2.0
// Rendered scenes from a seed, with the troubles of recorded ones: sizes that double in a second,
// boxes beyond the frame, detectors that miss in runs, tremble and waver with the size of things,
// weak boxes of what is half hidden, false ones that last, and cameras that move. The same scene
// can be sampled at any rate.
#pragma once

#include "track/sequence.h"

namespace dvnn::test {

enum class Scene {
  kStreet,  // people in front of a camera that stands
  kWalk,    // people, as somebody sees them who walks among them
  kRoad,    // cars, from a car
};

struct Sampled {
  Sequence sequence;
  // Of each detection in each frame, the index of the thing that it is of in the frame's truth, or
  // -1 where it is none's, or one that does not count.
  std::vector<std::vector<int>> owners;
};

/// `error` is the deviation of the edges that detectors find, in sizes.
Sampled sample(Scene scene, unsigned seed, double seconds, double fps, double error = 0.03);

}  // namespace dvnn::test
