// SPDX-License-Identifier: Apache-2.0
#include "agree/track_reading.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "agree/votes.h"
#include "regions/budget.h"

namespace dvnn::agree {
namespace {

using objects::Kind;
using objects::Object;

// A mean direction is never sure by the same measure as a class: a hundred looks would not do.
constexpr double kAgreedCosine = 0.98;
constexpr size_t kMostNames = 64, kMostFormats = 64;

// Clearly more probable than not: two looks that contradict each other leave a half.
constexpr float kRather = 0.6f;

double cosine_of(const std::vector<float>& a, const std::vector<float>& b) {
  double product = 0, squares_a = 0, squares_b = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    product += x * y;
    squares_a += x * x;
    squares_b += y * y;
  }
  return squares_a > 0 && squares_b > 0 ? product / std::sqrt(squares_a * squares_b) : 0;
}

// Whether attributes say what others said: the text, numbers within a tenth, and an embedding of
// about the same direction. Their confidence is that of the text.
bool is_same(const Object& before, const Object& now) {
  constexpr double kTolerance = 0.1, kSameDirection = 0.9;
  if (before.text != now.text || !(before.text.empty() || now.confidence > kRather)) return false;
  if (before.numbers.size() != now.numbers.size()) return false;
  for (size_t i = 0; i < now.numbers.size(); ++i) {
    const double value = before.numbers[i].value;
    if (std::abs(now.numbers[i].value - value) > kTolerance * std::abs(value)) return false;
  }
  return before.embedding.size() == now.embedding.size() &&
         (now.embedding.empty() || cosine_of(before.embedding, now.embedding) > kSameDirection);
}

// Classes are named once each; a decoder of a user might repeat one.
void name_class(const Object& result, std::vector<ClassVotes::Named>* named) {
  const auto is_it = [&](const ClassVotes::Named& one) { return one.class_id == result.class_id; };
  if (std::any_of(named->begin(), named->end(), is_it)) return;
  named->push_back({result.class_id, result.label, static_cast<double>(result.confidence)});
}

}  // namespace

bool is_comparable(const Object& result) {
  return result.kind == Kind::kClassification ||
         (result.kind == Kind::kAttributes &&
          (!result.text.empty() || !result.numbers.empty() || !result.embedding.empty()));
}

void TrackReading::take_attributes(const Object& result) {
  attributes_ = result;
  has_attributes_ = true;
  text_.add(result.text, static_cast<double>(result.confidence), result.text_confidences);
  if (formats_.size() < kMostFormats && !result.text.empty()) {
    formats_[result.text] = result.text_format;
  }
  for (const objects::Number& number : result.numbers) {
    if (numbers_.size() < kMostNames || numbers_.count(number.name) > 0) {
      numbers_[number.name].add(number.value);
    }
  }
  embedding_.add(result.embedding);
}

// Takes the results of one look, and keeps those that are not compared.
void TrackReading::take_look(const objects::Objects& results) {
  std::vector<ClassVotes::Named> named;
  bool any = false, took_attributes = false;
  results_.clear();
  // Points are those of the last look.
  attributes_.points.clear();
  for (const Object& result : results) {
    any = any || is_comparable(result);
    if (result.kind == Kind::kClassification) {
      name_class(result, &named);
      class_ = result;
      has_class_ = true;
    } else if (result.kind == Kind::kAttributes && !took_attributes) {
      take_attributes(result);
      took_attributes = true;
    } else {
      results_.push_back(result);
    }
  }
  classes_.add(named);
  if (any) ++looks_;
  compares_ = any || (results.empty() && compares_);
}

void TrackReading::add_agreement(const Rules& rules, double probability,
                                 objects::Agreement* agreement) const {
  agreement->looks = looks_;
  agreement->probability = std::min(agreement->probability, static_cast<float>(probability));
  const bool reached = looks_ >= rules.looks && probability >= kAgreed;
  agreement->reached = agreement->reached && reached;
}

void TrackReading::write_classes(const Rules& rules) {
  if (!has_class_) return;
  objects::Agreement agreement{looks_, 1, true};
  add_agreement(rules, classes_.probability(), &agreement);
  for (const ClassVotes::Named& one : classes_.result()) {
    Object& object = results_.add();
    object = class_;
    object.class_id = one.class_id;
    object.label = one.label;
    object.confidence = static_cast<float>(one.confidence);
    object.agreement = agreement;
  }
}

void TrackReading::write_attributes(const Rules& rules) {
  if (!has_attributes_) return;
  Object& object = results_.add();
  object = attributes_;
  objects::Agreement agreement{looks_, 1, true};
  if (!text_.empty()) {
    const TextVotes::Agreed agreed = text_.result(rules.pattern);
    add_agreement(rules, agreed.probability, &agreement);
    object.text = agreed.text;
    const auto format = formats_.find(agreed.text);
    if (format != formats_.end()) object.text_format = format->second;
    object.confidence = agreement.probability;
  }
  object.text_confidences.clear();
  object.numbers.clear();
  for (const auto& [name, mean] : numbers_) {
    if (mean.looks() == 0) continue;
    // After so many looks a number near zero is as exact as it will be.
    const bool done = mean.looks() >= kMostLooks;
    add_agreement(rules, done ? std::max(kAgreed, mean.probability()) : mean.probability(),
                  &agreement);
    object.numbers.push_back({name, mean.value()});
  }
  if (!embedding_.empty()) {
    const double cosine = embedding_.cosine();
    // Scaled so that both thresholds meet.
    add_agreement(rules, 1 - (1 - cosine) * (1 - kAgreed) / (1 - kAgreedCosine), &agreement);
    object.embedding = embedding_.value();
  }
  if (text_.empty() && numbers_.empty() && embedding_.empty()) agreement = {};
  object.agreement = agreement;
}

// The object is seen better from now on.
void TrackReading::begin_series(const Rules& rules) {
  held_.clear();
  for (const Object& result : results_) {
    if (result.agreement.reached) held_.push_back(result);
  }
  settled_ = false;
  series_ = 0;
  classes_.fade();
  text_.fade(rules.pattern);
  for (auto& [name, mean] : numbers_) mean.fade();
  embedding_.fade();
}

// Returns whether a result that is not agreed again is still the one that was agreed before the
// object had grown.
bool TrackReading::is_held(const Object& result) const {
  for (const Object& held : held_) {
    if (held.kind != result.kind) continue;
    if (result.kind == Kind::kClassification) {
      if (held.class_id == result.class_id && result.confidence > kRather) return true;
    } else if (is_same(held, result)) {
      return true;
    }
  }
  return false;
}

void TrackReading::add_look(const Rules& rules, const objects::Objects& results, double width,
                            double height) {
  if (settled_ &&
      (width >= regions::kGrownAgain * width_ || height >= regions::kGrownAgain * height_)) {
    begin_series(rules);
  }
  if (!settled_) {
    width_ = width;
    height_ = height;
  }
  ++series_;
  take_look(results);
  write_classes(rules);
  write_attributes(rules);
  bool agreed = false, open = false, contradicted = false;
  for (Object& result : results_) {
    if (result.agreement.looks == 0) continue;
    (result.agreement.reached ? agreed : open) = true;
    if (result.agreement.reached) continue;
    result.agreement.reached = is_held(result);
    contradicted = contradicted || !result.agreement.reached;
  }
  if (contradicted) held_.clear();
  settled_ = (agreed && !open) || (compares_ && series_ >= kMostLooks);
}

}  // namespace dvnn::agree
