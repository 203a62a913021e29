// SPDX-License-Identifier: Apache-2.0
// Rendered scenes from a seed, with the difficulties of recorded ones: sizes that double in a
// second, boxes beyond the frame, detectors that miss in runs, tremble and waver with the size of
// things, weak boxes of half-hidden things, false ones that last, and cameras that move. The same
// scene can be sampled at any rate.
#pragma once

#include "track/sequence.h"

namespace dvnn::test {

enum class Scene {
  kStreet,  // people in front of a camera that stands still
  kWalk,    // people, seen by somebody who walks among them
  kRoad,    // cars, from a car
};

struct Sampled {
  Sequence sequence;
  // For each detection in each frame, the index of its thing in the frame's truth; -1 if it has
  // none, or one that does not count.
  std::vector<std::vector<int>> owners;
};

/// `error`: standard deviation of detected edges, in box sizes.
Sampled sample(Scene scene, unsigned seed, double seconds, double fps, double error = 0.03);

}  // namespace dvnn::test
