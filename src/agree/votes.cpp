// SPDX-License-Identifier: Apache-2.0
#include "agree/votes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <queue>
#include <set>
#include <utility>

#include "base/format.h"

namespace dvnn::agree {
namespace {

// Three or four sure looks turn a class over, however long it was another one.
constexpr double kMostLogOdds = 7;
// Confidences are rounded, so a sum may be a little above 1.
constexpr double kWhole = 1.001;
constexpr double kUnnamed = 0.25;
// Libraries of users may name any number of classes.
constexpr size_t kMostClasses = 1024;

double bounded(double log_odds) {
  return std::clamp(log_odds, -kMostLogOdds, kMostLogOdds);
}

}  // namespace

void ClassVotes::add(const std::vector<Named>& named) {
  if (named.empty()) return;
  double sum = 0;
  for (const Named& one : named) sum += std::max(0.0, one.confidence);
  if (!(sum <= kWhole)) exclusive_ = false;
  const double rest = log_odds(exclusive_ ? std::min(probability_of(1 - sum), 0.5) : kUnnamed);
  for (Vote& vote : votes_) {
    const auto is_it = [&](const Named& one) { return one.class_id == vote.named.class_id; };
    const auto one = std::find_if(named.begin(), named.end(), is_it);
    const double step = one != named.end() ? log_odds(probability_of(one->confidence)) : rest;
    vote.log_odds = bounded(vote.log_odds + step);
    if (one != named.end()) vote.named.label = one->label;
  }
  for (const Named& one : named) {
    const auto is_it = [&](const Vote& vote) { return vote.named.class_id == one.class_id; };
    if (std::any_of(votes_.begin(), votes_.end(), is_it)) continue;
    if (votes_.size() == kMostClasses) break;
    const double all = missed_ + log_odds(probability_of(one.confidence));
    votes_.push_back({{one.class_id, one.label, 0}, bounded(all)});
  }
  missed_ = bounded(missed_ + rest);
}

void ClassVotes::fade() {
  const double most = log_odds(kMostConfidence);
  for (Vote& vote : votes_) vote.log_odds = std::clamp(vote.log_odds, -most, most);
  missed_ = std::max(missed_, -most);
}

std::vector<ClassVotes::Vote> ClassVotes::ranked() const {
  std::vector<Vote> votes = votes_;
  std::stable_sort(votes.begin(), votes.end(),
                   [](const Vote& a, const Vote& b) { return a.log_odds > b.log_odds; });
  return votes;
}

std::vector<ClassVotes::Named> ClassVotes::result() const {
  std::vector<Named> classes;
  for (const Vote& vote : ranked()) {
    const bool wanted = exclusive_ ? classes.empty() : vote.log_odds > 0;
    if (!wanted) break;
    classes.push_back(vote.named);
    classes.back().confidence = probability_at(vote.log_odds);
  }
  return classes;
}

double ClassVotes::probability() const {
  if (votes_.empty()) return 0;
  if (exclusive_) return probability_at(ranked().front().log_odds);
  double least = std::numeric_limits<double>::infinity();
  for (const Vote& vote : votes_) least = std::min(least, std::abs(vote.log_odds));
  return probability_at(least);
}

namespace {

constexpr size_t kMostReadings = kMostLooks, kMostCharacters = 64;
// Texts that are tried against a pattern, the most probable ones first.
constexpr size_t kMostTried = 512;
constexpr double kRare = 1e-4;

// What one reading has in a column of the alignment: a character, or an empty one for none.
using Vote = TextVotes::Character;
using Reading = TextVotes::Reading;
// The votes of all readings that are aligned so far, in their order.
using Column = std::vector<Vote>;

// A character that may stand in a column, with its probability there.
struct Choice {
  std::string text;
  double probability = 0;
};

// Returns the share of a column's confidence that is for `text`.
double share_of(const std::string& text, const Column& column) {
  double own = 0, all = 0;
  for (const Vote& vote : column) {
    all += vote.confidence;
    if (vote.text == text) own += vote.confidence;
  }
  return all > 0 ? own / all : 0;
}

double mean_confidence(const Reading& reading) {
  double sum = 0;
  for (const Vote& vote : reading) sum += vote.confidence;
  return sum / static_cast<double>(reading.size());
}

// The table of an alignment of a reading to columns: the least cost of each pair of prefixes.
class Alignment {
 public:
  Alignment(const Reading& reading, const std::vector<Column>& columns)
      : reading_(reading), columns_(columns), width_(reading.size() + 1) {
    costs_.resize((columns.size() + 1) * width_);
    for (size_t c = 0; c <= columns.size(); ++c) {
      for (size_t r = 0; r < width_; ++r) {
        double least = c == 0 && r == 0 ? 0 : std::numeric_limits<double>::infinity();
        if (c > 0 && r > 0) least = std::min(least, at(c - 1, r - 1) + mismatch(c, r));
        if (c > 0) least = std::min(least, at(c - 1, r) + skip(c));
        if (r > 0) least = std::min(least, at(c, r - 1) + 1);
        at(c, r) = least;
      }
    }
  }

  double cost() const { return costs_.back(); }

  // Returns the columns with the reading's votes added; `before` is the number of readings that
  // they have already.
  std::vector<Column> joined(size_t before) const {
    const double gap = mean_confidence(reading_);
    std::vector<Column> all;
    size_t c = columns_.size(), r = reading_.size();
    while (c > 0 || r > 0) {
      if (c > 0 && r > 0 && is(at(c - 1, r - 1) + mismatch(c, r), c, r)) {
        all.push_back(columns_[--c]);
        all.back().push_back(reading_[--r]);
      } else if (c > 0 && is(at(c - 1, r) + skip(c), c, r)) {
        all.push_back(columns_[--c]);
        all.back().push_back({"", gap});
      } else {
        const Vote& inserted = reading_[--r];
        all.emplace_back(before, Vote{"", gap});
        all.back().push_back(inserted);
      }
    }
    std::reverse(all.begin(), all.end());
    return all;
  }

 private:
  double& at(size_t c, size_t r) { return costs_[c * width_ + r]; }
  double at(size_t c, size_t r) const { return costs_[c * width_ + r]; }
  double mismatch(size_t c, size_t r) const {
    return 1 - share_of(reading_[r - 1].text, columns_[c - 1]);
  }
  double skip(size_t c) const { return 1 - share_of("", columns_[c - 1]); }
  // The same sums give the same bits.
  bool is(double cost, size_t c, size_t r) const { return !(cost > at(c, r)); }

  const Reading& reading_;
  const std::vector<Column>& columns_;
  const size_t width_;
  std::vector<double> costs_;
};

std::vector<Column> columns_of(const Reading& reading) {
  std::vector<Column> columns;
  for (const Vote& vote : reading) columns.push_back({vote});
  return columns;
}

// Returns the index of the reading that is nearest to all others, which are aligned to it: the
// first reading alone may be the worst.
size_t middle_of(const std::vector<Reading>& readings) {
  std::vector<double> costs(readings.size());
  for (size_t a = 0; a < readings.size(); ++a) {
    const std::vector<Column> columns = columns_of(readings[a]);
    for (size_t b = 0; b < a; ++b) {
      const double cost = Alignment(readings[b], columns).cost();
      costs[a] += cost;
      costs[b] += cost;
    }
  }
  return static_cast<size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
}

std::vector<Column> aligned(const std::vector<Reading>& readings) {
  const size_t middle = middle_of(readings);
  std::vector<Column> columns = columns_of(readings[middle]);
  size_t joined = 1;
  for (size_t i = 0; i < readings.size(); ++i) {
    if (i != middle) columns = Alignment(readings[i], columns).joined(joined++);
  }
  return columns;
}

// Returns what may stand in a column, the most probable first. A reading has the right character
// with the probability of its confidence; what it leaves counts for each rival, and for a
// character that no reading has: the most careful assumption about which misreadings are likely.
std::vector<Choice> choices_of(const Column& column) {
  std::vector<Choice> choices;
  double unseen = 0;
  for (const Vote& vote : column) {
    unseen += std::log(1 - vote.confidence);
    const auto is_it = [&](const Choice& choice) { return choice.text == vote.text; };
    if (std::none_of(choices.begin(), choices.end(), is_it)) choices.push_back({vote.text, 0});
  }
  double most = unseen;
  for (Choice& choice : choices) {
    for (const Vote& vote : column) {
      choice.probability +=
          std::log(vote.text == choice.text ? vote.confidence : 1 - vote.confidence);
    }
    most = std::max(most, choice.probability);
  }
  double sum = std::exp(unseen - most);
  for (Choice& choice : choices) sum += choice.probability = std::exp(choice.probability - most);
  for (Choice& choice : choices) choice.probability /= sum;
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.probability > b.probability; });
  return choices;
}

// The texts that can be made of the choices of all columns, the most probable first.
class Texts {
 public:
  explicit Texts(const std::vector<std::vector<Choice>>& choices) : choices_(choices) {
    push(std::vector<size_t>(choices.size(), 0));
  }
  bool next(TextVotes::Agreed* text) {
    if (waiting_.empty()) return false;
    const auto [probability, picked] = waiting_.top();
    waiting_.pop();
    text->text.clear();
    text->probability = probability;
    for (size_t i = 0; i < picked.size(); ++i) text->text += choices_[i][picked[i]].text;
    for (size_t i = 0; i < picked.size(); ++i) {
      if (picked[i] + 1 == choices_[i].size()) continue;
      std::vector<size_t> other = picked;
      ++other[i];
      push(std::move(other));
    }
    return true;
  }

 private:
  void push(std::vector<size_t> picked) {
    if (!pushed_.insert(picked).second) return;
    double probability = 1;
    for (size_t i = 0; i < picked.size(); ++i) probability *= choices_[i][picked[i]].probability;
    waiting_.emplace(probability, std::move(picked));
  }

  const std::vector<std::vector<Choice>>& choices_;
  std::priority_queue<std::pair<double, std::vector<size_t>>> waiting_;
  std::set<std::vector<size_t>> pushed_;
};

}  // namespace

void TextVotes::add(const std::string& text, double confidence,
                    const std::vector<float>& confidences) {
  if (text.empty()) return;
  Reading reading;
  std::vector<std::string> characters = characters_of(text);
  for (size_t i = 0; i < characters.size(); ++i) {
    const double own =
        confidences.size() == characters.size() ? static_cast<double>(confidences[i]) : confidence;
    reading.push_back({std::move(characters[i]), probability_of(own)});
  }
  if (by_ == By::kText || reading.size() > kMostCharacters) {
    reading = {{text, probability_of(confidence)}};
  }
  if (readings_.size() == kMostReadings) readings_.erase(readings_.begin());
  readings_.push_back(std::move(reading));
}

void TextVotes::fade(const Pattern* pattern) {
  if (readings_.empty()) return;
  const std::string text = result(pattern).text;
  readings_.clear();
  add(text, kMostConfidence);
}

TextVotes::Agreed TextVotes::result(const Pattern* pattern) const {
  if (readings_.empty()) return {};
  std::vector<std::vector<Choice>> choices;
  for (const Column& column : aligned(readings_)) choices.push_back(choices_of(column));
  Texts texts(choices);
  Agreed best, tried;
  double refused = 0;  // the probability of texts that do not match, and so are no rivals
  for (size_t i = 0; i < kMostTried && texts.next(&tried); ++i) {
    // Without a pattern the first one counts; beyond the best one, rivals that are rare do not.
    if (best.matches && (!pattern || tried.probability < kRare)) break;
    tried.matches = !pattern || pattern->matches(tried.text);
    if (i == 0 || (tried.matches && !best.matches)) best = tried;
    if (!tried.matches) refused += tried.probability;
  }
  best.probability = best.matches ? best.probability / std::max(1 - refused, best.probability) : 0;
  return best;
}

}  // namespace dvnn::agree
