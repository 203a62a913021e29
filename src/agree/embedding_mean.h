// SPDX-License-Identifier: Apache-2.0
// The embedding of one object, from several looks at it.
#pragma once

#include <vector>

namespace dvnn::agree {

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
