// SPDX-License-Identifier: Apache-2.0
// The classes of one object, from several looks at it.
#pragma once

#include <string>
#include <vector>

#include "agree/odds.h"
#include "objects/object.h"

namespace dvnn::agree {

/// Sums the log-odds of each class over the looks. A class that a look does not name has what the
/// named ones leave of 1, and a quarter if classes do not exclude each other.
class ClassVotes {
 public:
  /// A class that one look names.
  struct Named {
    int class_id = 0;
    std::string label;
    double confidence = 0;  // 0..1
  };

  /// Adds a look that names these classes, each once. A look that names none says nothing.
  void add(const std::vector<Named>& named);
  bool empty() const { return votes_.empty(); }
  /// Lets all looks so far count as one, at the most.
  void fade();
  /// Whether the classes of all looks exclude each other: no look's confidences exceed 1 together.
  bool exclusive() const { return exclusive_; }
  /// Returns the classes that the object has, with their probabilities, most probable first: the
  /// most probable one, or all that are more probable than not if they do not exclude each other.
  std::vector<Named> result() const;
  /// Returns the probability that result() is right: of the most probable class or, if classes do
  /// not exclude each other, of the class that is least sure to be there or not. 0 without looks.
  double probability() const;

 private:
  struct Vote {
    Named named;          // without a confidence
    double log_odds = 0;  // bounded, so that a class that changes is noticed
  };

  std::vector<Vote> ranked() const;

  std::vector<Vote> votes_;
  double missed_ = 0;  // the log-odds of a class that no look has named
  bool exclusive_ = true;
};

}  // namespace dvnn::agree
