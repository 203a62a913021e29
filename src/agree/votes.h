// SPDX-License-Identifier: Apache-2.0
// Votes of several looks at one object: on its classes, and on the text on it. Readings of a text
// are aligned, and each character is voted on (Fiscus, "A post-processing system to yield reduced
// word error rates: Recognizer Output Voting Error Reduction", 1997), by the confidences of the
// characters.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "agree/pattern.h"
#include "objects/object.h"

namespace dvnn::agree {

// When several looks at one thing agree: Wald's sequential test of ratios of likelihoods
// ("Sequential Tests of Statistical Hypotheses", 1945). Confidences count as probabilities, but no
// single one of them as certainty, because networks are surer than they should be.

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

/// Keeps the last 16 readings.
class TextVotes {
 public:
  /// How readings are compared: by characters, or as a whole, because each has a checksum.
  enum class By { kCharacter, kText };
  /// A character of a reading, with the probability that its confidence counts for.
  struct Character {
    std::string text;
    double confidence = 0;
  };
  using Reading = std::vector<Character>;
  struct Agreed {
    std::string text;
    double probability = 0;  // that it is the text
    bool matches = false;    // its pattern, if there is one
  };

  explicit TextVotes(By by = By::kCharacter) : by_(by) {}
  /// Adds a look's reading. `confidences` has one for each character, or is empty: then each has
  /// `confidence`. A look that read nothing says nothing. Readings of more than 64 characters are
  /// compared as a whole.
  void add(const std::string& text, double confidence, const std::vector<float>& confidences = {});
  bool empty() const { return readings_.empty(); }
  /// Lets all looks so far count as one.
  void fade(const Pattern* pattern = nullptr);
  /// Returns the most probable text. With a pattern, the most probable one that matches it, whose
  /// rivals are those that match it, too; if none does, the most probable one.
  Agreed result(const Pattern* pattern = nullptr) const;

 private:
  By by_;
  std::vector<Reading> readings_;  // the oldest first
};

}  // namespace dvnn::agree
