// SPDX-License-Identifier: Apache-2.0
// What is evaluated: a network that runs here, or a file of what something else has found.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evaluate/data_set.h"
#include "evaluate/pixels.h"
#include "tools/session.h"

namespace dvnn::tools {

struct Subject {
  std::string path;
  std::unique_ptr<Session> session;  // null: `found` was read from the file
  objects::Kind finds = objects::Kind::kDetection;
  std::vector<int> classes;          // the data set's class of each of the network's; -1: none
  std::vector<std::string> labels;   // by the data set's class: what the network calls it
  std::vector<std::string> foreign;  // of the network's labels, those that the data set has not
  std::vector<bool> known;           // by the data set's class: whether the network has it
  evaluate::FoundByPicture found;
  evaluate::PixelCount pixels;  // of maps of classes
};

/// Finds for each class of the network the one of the data set that is called so, whatever its
/// case; the one of the same index with `by_index`, or if one of the two has no names.
/// kInvalidArgument if there is none at all.
Status match_classes(const evaluate::DataSet& data, bool by_index, Subject* subject);

/// Runs the networks on all pictures. These are decoded once, by threads of their own, a few ahead.
/// Boxes of the data that are fractions become pixels.
Status run_subjects(float threshold, evaluate::DataSet* data, std::vector<Subject>* subjects);

}  // namespace dvnn::tools
