// SPDX-License-Identifier: Apache-2.0
// When several looks at one thing agree: Wald's sequential test of ratios of likelihoods
// ("Sequential Tests of Statistical Hypotheses", 1945). Confidences count as probabilities, but no
// single one of them as certainty, because networks are surer than they should be.
#pragma once

#include <algorithm>
#include <cmath>

namespace dvnn::agree {

/// The probability at which a reading is agreed.
constexpr double kAgreed = 0.99;
/// What the confidence of one look counts for at least and at most.
constexpr double kLeastConfidence = 0.05, kMostConfidence = 0.95;
/// Looks after which more of them would help little: none follows until the object has grown.
constexpr unsigned kMostLooks = 16;
/// Returns the probability that a confidence counts for; the least for what is no number.
inline double probability_of(double confidence) {
  return confidence > kLeastConfidence ? std::min(confidence, kMostConfidence) : kLeastConfidence;
}

inline double log_odds(double probability) {
  return std::log(probability / (1 - probability));
}

/// Returns the probability of which `log_odds` are the log-odds.
inline double probability_at(double log_odds) {
  return 1 / (1 + std::exp(-log_odds));
}

}  // namespace dvnn::agree
