// SPDX-License-Identifier: Apache-2.0
// Embeddings of rendered things, mixed with those of nearer things in front of them, and labels
// that flip.
#pragma once

#include "track/scenes.h"

namespace dvnn::test {

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

/// Gives the scene's detections embeddings and classes.
void give_looks(const Describer& describer, unsigned seed, Sampled* sampled);

}  // namespace dvnn::test
