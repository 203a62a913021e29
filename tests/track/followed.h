// SPDX-License-Identifier: Apache-2.0
// Our tracker on a sequence.
#pragma once

#include <string>

#include "track/sequence.h"
#include "track/tracker.h"

namespace dvnn::test {

/// A track's box in a frame, and the frame's detection that it comes from, counted from 1; 0:
/// predicted.
struct Followed {
  long id;
  Box box;
  size_t detection;
  double confidence;
};

/// Runs the tracker on every Nth frame, and predicts the others.
std::vector<std::vector<Followed>> follow(const Sequence& sequence, const track::Settings& settings,
                                          size_t every = 1);
/// Runs the tracker likewise; returns boxes alone.
Frames run_ours(const Sequence& sequence, const track::Settings& settings = {}, size_t every = 1);

}  // namespace dvnn::test
