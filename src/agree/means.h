// SPDX-License-Identifier: Apache-2.0
// The mean of one object's numbers, and of its embeddings, from several looks at it.
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

/// The mean of the embeddings, which has unit length if all of them have. After 16 looks each new
/// one counts a sixteenth, so that slow changes are followed.
class EmbeddingMean {
 public:
  /// Adds a look's embedding. One of another length begins anew; one that is not finite, or zero,
  /// is left out.
  void add(const std::vector<float>& embedding);
  bool empty() const { return weight_ == 0; }
  /// Lets all looks so far count as one.
  void fade() { weigh(1); }
  std::vector<float> value() const;
  /// Returns the expected cosine between value() and the mean of endlessly many looks: 1 minus
  /// (1 - R) / (n - 1), where R is the length of the mean of n unit vectors. 0 below two looks.
  double cosine() const;

 private:
  void weigh(double most);

  std::vector<double> sum_, directions_;  // of the embeddings, and of their unit vectors
  double weight_ = 0;                     // looks in the sums
  bool unit_ = true;
};

}  // namespace dvnn::agree
