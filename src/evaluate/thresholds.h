// SPDX-License-Identifier: Apache-2.0
// Chooses by measurement the confidence threshold of each class.
#pragma once

#include <vector>

#include "evaluate/average_precision.h"

namespace dvnn::evaluate {

/// The effect of a threshold on the objects of a class, at an overlap of 0.5.
struct Operation {
  double threshold = 1;
  uint64_t right = 0, wrong = 0, missed = 0;

  /// Returns the share of found objects that is right; 0 if nothing is found.
  double precision() const;
  /// Returns the share of objects that is found; 0 if there are none.
  double recall() const;
  /// Returns the harmonic mean of both, F1: C. J. van Rijsbergen, "Information Retrieval", 1979.
  double f1() const;
};

/// Returns a threshold's effect on a class.
Operation operation_at(const ClassJudgement& of, double threshold);

/// Returns the threshold with the largest F1; of equals, the highest.
Operation best_operation(const ClassJudgement& of);

/// A chosen threshold, and whether its precision reaches the wanted one.
struct Chosen {
  Operation operation;
  bool reached = false;
};

/// Returns the threshold that finds most objects with a precision of at least `wanted`, 0..1, also
/// on other pictures of the same kind: the lower bound of the precision must reach it. If no
/// threshold does, because too few objects were found, returns the one with the highest lower
/// bound.
Chosen operation_of_precision(const ClassJudgement& of, double wanted);

/// Returns the lower bound of a share of which `right` out of `all` were seen, one-sided with 95 %
/// confidence: E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical
/// Inference", JASA 22, 1927.
double lower_bound_of_share(double right, double all);

}  // namespace dvnn::evaluate
