// SPDX-License-Identifier: Apache-2.0
// Random pipelines around dvconvert, dvinfer and dvdecode, each of which must end, with right
// boxes.
//
// A topology follows from its seed alone. Between the elements stand queues, leaky queues, tees
// whose other branches refuse, are slow or keep frames, videorate, videoconvert, videoscale,
// valves, input-selectors and identities that sleep, drop, end the stream or fail; there are one or
// two networks, frames or streams of tensors.
#pragma once

#include <string>
#include <vector>

#include "grid_frames.h"

namespace dvnn::test {

struct Topology {
  guint64 seed = 0;
  std::string launch;     // frames arrive at "out", and at "out_blue" if that is there
  std::string reference;  // a linear pipeline with the same boxes, where pixels do not say them
  std::vector<Looks> networks;
  bool loses_frames = false;   // leaky queues, early ends
  bool skips_frames = false;   // not every frame is inferred
  bool changes_times = false;  // videorate
  bool scales = false;
  bool fails = false;  // an element is told to post an error
  bool sends_qos = false;
  bool side_network = false;  // "out_blue"
};

/// The topology of that seed, with `frames` frames.
Topology make_topology(guint64 seed, int frames);

}  // namespace dvnn::test
