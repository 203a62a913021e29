// SPDX-License-Identifier: Apache-2.0
// One number of an object, from several looks at it.
#pragma once

#include <cstddef>
#include <vector>

namespace dvnn::agree {

/// The robust mean of a few numbers.
struct RobustMean {
  double value = 0;
  double deviation = 0;  // of a single number, from its distance to the median
};

/// Returns Huber's estimate of the middle of `values`, at least one (Huber, "Robust Estimation of a
/// Location Parameter", 1964): beyond 1.5 deviations a number pulls no more than at 1.5. The
/// deviation is 1.4826 times the median distance from the median, which is the standard deviation
/// where numbers are normally distributed.
RobustMean robust_mean(std::vector<double> values);

/// Keeps the last 32 numbers.
class NumberMean {
 public:
  /// Adds a look's number. One that is not finite is left out.
  void add(double value);
  size_t looks() const { return values_.size(); }
  /// Lets all looks so far count as one.
  void fade() {
    if (!values_.empty()) values_ = {value()};
  }
  double value() const { return values_.empty() ? 0 : robust_mean(values_).value; }
  /// Returns the probability that value() is within a tenth of the true one, if the errors of
  /// looks are independent, by Student's distribution.
  /// 0 below four looks.
  double probability() const;

 private:
  std::vector<double> values_;  // the oldest first
};

}  // namespace dvnn::agree
