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

/// How well a network distinguishes things.
struct Describer {
  double common;         // common part of all embeddings, beside a thing's own part of 1
  double noise;          // noise of single embeddings
  double flips = 0;      // share of wrong labels; above 0 there are two classes, else one
  double described = 1;  // share of detections that get an embedding at all
};

constexpr Describer kSharp{0, 0.5};    // mean cosines: 0.8 for one thing, 0 for two
constexpr Describer kUsual{0.9, 0.6};  // 0.83 and 0.37, like networks for people
constexpr Describer kPoor{1, 1.2};     // 0.58 and 0.29
constexpr Describer kVague{1.5, 3};    // 0.27 and 0.18

/// Gives the scene's detections embeddings, mixed with those of nearer things in front of them, and
/// classes, which flip.
void give_looks(const Describer& describer, unsigned seed, Sampled* sampled);

}  // namespace dvnn::test
