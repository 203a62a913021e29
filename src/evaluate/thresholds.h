// SPDX-License-Identifier: Apache-2.0
// The confidence from which on a class's objects are to be believed, measured.
#pragma once

#include <vector>

#include "evaluate/average_precision.h"

namespace dvnn::evaluate {

/// What a threshold does to the objects of a class, where an overlap of 0.5 is right.
struct Operation {
  double threshold = 1;
  uint64_t right = 0, wrong = 0, missed = 0;

  /// The share of what is found that is right; 0 if nothing is found.
  double precision() const;
  /// The share of what there is that is found; 0 if there is nothing.
  double recall() const;
  /// Their harmonic mean, F1: C. J. van Rijsbergen, "Information Retrieval", 1979.
  double f1() const;
};

/// A threshold's effect on a class.
Operation operation_at(const ClassJudgement& of, double threshold);

/// The threshold with the largest F1; of equals, the highest.
Operation best_operation(const ClassJudgement& of);

/// A chosen threshold, and whether its precision is the wanted one.
struct Chosen {
  Operation operation;
  bool reached = false;
};

/// The threshold that finds most while the precision is at least `wanted`, 0..1, also on other
/// pictures of the same kind: what has to reach it is the lower bound of the precision. If too few
/// objects were found to be so sure, the threshold whose lower bound is the highest.
Chosen operation_of_precision(const ClassJudgement& of, double wanted);

/// The lower bound of a share of which `right` out of `all` were seen, one-sided with 95 %
/// confidence: E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical
/// Inference", JASA 22, 1927.
double lower_bound_of_share(double right, double all);

}  // namespace dvnn::evaluate
