// SPDX-License-Identifier: Apache-2.0
// Looks of rendered things, as networks describe them: embeddings of which what is nearer shines
// through, and labels that flip.
#pragma once

#include "track/scenes.h"

namespace dvnn::test {

/// How well a network tells things apart.
struct Describer {
  double common;         // of all looks, beside what is a thing's own, which is 1
  double noise;          // of single ones
  double flips = 0;      // share of labels that are wrong: then there are two classes, else one
  double described = 1;  // share of detections that get a look at all
};

constexpr Describer kSharp{0, 0.5};    // cosines are 0.8 for one thing and 0 for two
constexpr Describer kUsual{0.9, 0.6};  // 0.83 and 0.37, as networks for people have them
constexpr Describer kPoor{1, 1.2};     // 0.58 and 0.29
constexpr Describer kVague{1.5, 3};    // 0.27 and 0.18

/// Gives the scene's detections looks and classes.
void give_looks(const Describer& describer, unsigned seed, Sampled* sampled);

}  // namespace dvnn::test
