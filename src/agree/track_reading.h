// SPDX-License-Identifier: Apache-2.0
// What several looks of a network at one tracked object say of it together.
#pragma once

#include <map>
#include <string>

#include "agree/means.h"
#include "agree/pattern.h"
#include "agree/votes.h"
#include "objects/object.h"

namespace dvnn::agree {

struct Rules {
  unsigned looks = 2;                // a reading is not agreed with fewer looks, at least 1
  const Pattern* pattern = nullptr;  // of the text; null: any
};

/// Whether looks at a result can be compared: it is a class, or has a text, numbers or an
/// embedding.
bool is_comparable(const objects::Object& result);

/// Combines the results of looks: classes, text, numbers and embeddings. Of everything else, such
/// as boxes and points, the last look's counts. Used by one thread at a time.
class TrackReading {
 public:
  explicit TrackReading(TextVotes::By by = TextVotes::By::kCharacter) : text_(by) {}

  /// Adds a look with its results, at a box of that size, in pixels. A box that has grown by
  /// regions::kGrownAgain since no more looks were needed begins a new series, for which all
  /// earlier looks count as one: what was agreed must be confirmed, and stays agreed unless a look
  /// contradicts.
  void add_look(const Rules& rules, const objects::Objects& results, double width, double height);
  /// Returns the results that are agreed so far, with their Agreement. Valid until the next look.
  const objects::Objects& results() const { return results_; }
  /// Whether more looks are not needed: everything is agreed, or kMostLooks of a series did not
  /// help. Never of a network whose results are not compared.
  bool settled() const { return settled_; }

 private:
  void take_look(const objects::Objects& results);
  void take_attributes(const objects::Object& result);
  void add_agreement(const Rules& rules, double probability, objects::Agreement* agreement) const;
  void write_classes(const Rules& rules);
  void write_attributes(const Rules& rules);
  void begin_series(const Rules& rules);
  bool is_held(const objects::Object& result) const;

  ClassVotes classes_;
  TextVotes text_;
  std::map<std::string, std::string> formats_;  // of texts, by text
  std::map<std::string, NumberMean> numbers_;
  EmbeddingMean embedding_;
  unsigned looks_ = 0;   // with results to compare
  unsigned series_ = 0;  // looks since the object has grown
  double width_ = 0, height_ = 0;
  bool settled_ = false;
  objects::Object class_, attributes_;  // the last ones, without what is combined
  bool has_class_ = false, has_attributes_ = false;
  bool compares_ = true;  // false: looks only find what is not compared
  objects::Objects results_;
  objects::Objects held_;  // what was agreed when the object had grown
};

}  // namespace dvnn::agree
