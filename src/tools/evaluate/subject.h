// SPDX-License-Identifier: Apache-2.0
// A subject of evaluation: a network that runs here, or a file of results of another program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "evaluate/confusion.h"
#include "evaluate/data_set.h"
#include "tools/evaluate/float_run.h"
#include "tools/session.h"

namespace dvnn::tools {

/// What differs on one picture between two devices that run one network.
struct PictureDifference {
  size_t picture = 0;
  std::string output;    // the one with the largest difference
  double largest = 0;    // of two values, or infinity if one of them is no number
  uint64_t values = 0;   // number of values that differ
  bool objects = false;  // whether what is found differs, too
};

struct Subject {
  static constexpr size_t kNone = SIZE_MAX;

  std::string path;
  std::unique_ptr<Session> session;   // null: `found` was read from the file
  std::unique_ptr<FloatRun> in_fp32;  // runs instead of the session; may be null
  objects::Kind finds = objects::Kind::kDetection;
  std::vector<int> classes;          // the data set's class of each of the network's; -1: none
  std::vector<std::string> labels;   // by the data set's class: the network's label
  std::vector<std::string> foreign;  // labels of the network that the data set lacks
  std::vector<bool> known;           // by the data set's class: whether the network has it
  evaluate::FoundByPicture found;
  evaluate::PixelCount pixels;  // of maps of classes
  // By picture, of networks that read or embed.
  std::vector<std::string> texts;
  std::vector<std::vector<float>> embeddings;
  evaluate::FollowedByPicture followed;  // of sequences
  // Index of the subject that runs the same network on another device, and pictures on which their
  // outputs differ.
  size_t compared_with = kNone;
  std::vector<PictureDifference> differences;
  bool only_tracks = false;  // another program's tracks, without detections
};

/// Matches each class of the network with the data set's class of that name, ignoring case; by
/// index with `by_index`, or if one of the two has no names. Networks that read or embed have no
/// classes, and know all. Error: kInvalidArgument if no class matches.
Status match_classes(const evaluate::DataSet& data, bool by_index, Subject* subject);

/// Looks at a picture, the data's of that index.
using SeePicture = std::function<void(size_t picture, const Bitmap& bgr)>;

/// Runs the networks on all pictures, which other threads decode once, a few ahead. Converts boxes
/// in fractions to pixels. `see` is called with each picture, in order; `doing`
/// describes the work, for the progress.
Status run_subjects(float threshold, evaluate::DataSet* data, std::vector<Subject>* subjects,
                    const SeePicture& see = {}, const char* doing = "evaluating");

}  // namespace dvnn::tools
