// SPDX-License-Identifier: Apache-2.0
#include "track/learned.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace dvnn::track {
namespace {

// Limits of the standard deviation of detections, in sizes of their boxes. The filter takes at
// least the first.
constexpr double kLeastDeviation = 0.03;
constexpr double kMostDeviation = 0.15;
// Least weights of a new observation in the running averages.
constexpr double kNewDeviation = 0.02;
constexpr double kNewShape = 0.02;
constexpr double kNewEntry = 0.02;
constexpr double kNewUsual = 0.01;
constexpr double kNewSure = 0.005;
constexpr double kNewLabel = 0.005;
constexpr double kNewLikeness = 0.005;
// Deviations by which least_likeness() is above the mean of different objects, and below that of
// one.
constexpr double kOtherDeviations = 3;
constexpr double kOwnDeviations = 2;
constexpr double kLeastLikeness = 0.3;  // whatever was learned: embeddings may say nothing
// Factor of the gain of a pair of different classes if labels never flip.
constexpr double kOtherClass = 0.5;
// A detector whose correct detections have log-odds above kModest exaggerates: evidence is reduced
// by kBoast times the excess.
constexpr double kModest = 2.3;
constexpr double kBoast = 0.55;
// A detector whose correct detections have log-odds below kUsualSure understates: evidence is
// scaled up to that, at most sevenfold (kUsualSure / kLeastSure).
constexpr double kUsualSure = 1.4;
constexpr double kLeastSure = 0.2;
constexpr double kUsualOdds = 2;            // false tracks per real one before any are known
constexpr double kMostStarts = 100;         // tracks after which older ones count less and less
constexpr double kLeastDoubtOfStarts = -3;  // lower limit: a track needs some evidence of its own
constexpr double kNewLook = 0.005;
// kFalseMisses: share of looks that miss a false object. kMostAbsence: most evidence against an
// object in one missed look, because the next look is likely to miss it, too.
constexpr double kFalseMisses = 0.4;
constexpr double kMostAbsence = 1;
constexpr double kMostUnusual = 9;     // limit of a squared error, in variances
constexpr double kLeastSpread = 0.05;  // least variance of entry speeds: a filter goes on learning
constexpr size_t kMostClasses = 64;    // classes to learn about
// Rate at which a pair of surprises changes the logarithm of a push, and the limits of pushes.
constexpr double kNewPush = 0.03;
constexpr double kLeastPush = 0.05;
constexpr double kMostPush = 50;
// Numbers of looks and of boxes after which older ones count less and less.
constexpr double kMostSlips = 100;
constexpr double kMostAtEdge = 200;

size_t age_of(unsigned hits) {
  return hits < 4 ? 0 : hits < 10 ? 1 : hits < 30 ? 2 : 3;
}

}  // namespace

// A bend is the difference of two successive steps. For noise of variance v, successive bends have
// the covariance -4 v; a path that really bends makes it positive.
double Tremor::add(int64_t time, const image::Corners& box, const Cuts& cuts) {
  const double edges[] = {box.x0, box.y0, box.x1, box.y1};
  const bool cut[] = {cuts.width, cuts.height, cuts.width, cuts.height};
  const int64_t interval = time - time_;
  // Steps over different lengths of time cannot be compared.
  if (seen_ > 1 && std::abs(interval - interval_) > interval_ / 4) seen_ = 1;
  double sum = 0;
  int count = 0;
  for (int i = 0; i < 4; ++i) {
    const double step = edges[i] - edges_[i], bend = step - steps_[i];
    if (!cut[i]) {
      sum -= bend * bends_[i];
      ++count;
    }
    edges_[i] = edges[i];
    steps_[i] = step;
    bends_[i] = bend;
  }
  time_ = time;
  interval_ = interval;
  // Needs a first box, a first step, and two bends.
  const bool known = ++seen_ > 3 && count > 0;
  return known ? sum / (4 * count) : std::numeric_limits<double>::quiet_NaN();
}

// Widths and heights hardly change from frame to frame, unlike places, so their change is the
// detector's error. It depends on the network, the stream and the size of objects.
void Learned::see(const BoxFilter& expected, const image::Corners& box, const Cuts& cuts) {
  double sum = 0;
  int count = 0;
  const auto add = [&](const Axis& axis, double length) {
    sum += (length - axis.x) * (length - axis.x) - axis.xx;
    ++count;
  };
  if (!cuts.width) add(expected.axis(2), box.x1 - box.x0);
  if (!cuts.height) add(expected.axis(3), box.y1 - box.y0);
  if (count == 0) return;
  // Limits the effect of outliers: detections of another object, or of one that is half hidden.
  constexpr double kMost = 0.1;
  const double beyond = std::min(kMost, sum / (count * expected.size() * expected.size()));
  const double share = std::max(1.0 / ++lengths_, kNewDeviation);
  length_ = std::clamp(length_ + share * (beyond - length_), 0.0, kMostDeviation * kMostDeviation);
}

double Learned::deviation() const {
  return std::max(kLeastDeviation, std::sqrt(length_));
}

void Learned::see_tremor(double variance, double size) {
  if (!std::isfinite(variance)) return;
  constexpr double kMost = kMostDeviation * kMostDeviation;
  const double share = std::max(1.0 / ++edges_, kNewDeviation);
  edge_ += share * (std::clamp(variance / (size * size), -kMost, kMost) - edge_);
}

double Learned::tremble() const {
  return std::sqrt(std::max(0.0, edge_));
}

void Learned::see_whole(int class_id, const image::Corners& box) {
  const double ratio = (box.x1 - box.x0) / (box.y1 - box.y0);
  Class* known = find_or_add(class_id);
  if (known) known->ratio += std::max(1.0 / ++known->count, kNewShape) * (ratio - known->ratio);
}

void Learned::see_surprises(int class_id, const Surprise& before, const Surprise& now) {
  Class* known = find_or_add(class_id);
  if (!known) return;
  const auto learn = [&](int first, double* push) {
    const double alike =
        before.of[first] * now.of[first] + before.of[first + 1] * now.of[first + 1];
    *push = std::clamp(*push * std::exp(kNewPush * alike), kLeastPush, kMostPush);
  };
  learn(0, &known->push.place);
  learn(2, &known->push.extent);
}

Push Learned::push_of(int class_id) const {
  const Class* known = find(class_id);
  return known ? known->push : Push();
}

// Limits the effect of outliers, too.
void Learned::see_usual_height(int class_id, double off) {
  Class* known = find_or_add(class_id);
  if (!known) return;
  const double share = std::max(1.0 / ++known->usuals, kNewUsual);
  known->usual += share * (std::min(off * off, kMostUnusual * known->usual) - known->usual);
}

double Learned::usual_variance(int class_id) const {
  const Class* known = find(class_id);
  return known ? known->usual : kGuessedUsual;
}

void Likenesses::see(double likeness) {
  const double share = std::max(1.0 / ++count_, kNewLikeness), off = likeness - mean_;
  mean_ += share * off;
  variance_ += share * (off * off - variance_);
}

double Likenesses::deviation() const {
  return std::sqrt(variance_);
}

double Learned::trust_in_looks() const {
  const double apart = own_looks_.mean() - other_looks_.mean();
  return std::clamp(apart / (own_looks_.deviation() + other_looks_.deviation() + 1e-9), 0.0, 1.0);
}

double Learned::least_likeness() const {
  return std::max({kLeastLikeness,
                   other_looks_.mean() + kOtherDeviations * other_looks_.deviation(),
                   own_looks_.mean() - kOwnDeviations * own_looks_.deviation()});
}

void Learned::see_label(bool flips) {
  flips_ += std::max(1.0 / ++labels_, kNewLabel) * ((flips ? 1 : 0) - flips_);
}

double Learned::other_class() const {
  return std::min(1.0, kOtherClass + flips_);
}

void Learned::see_sure(double log_odds) {
  sure_ += std::max(1.0 / ++sures_, kNewSure) * (log_odds - sure_);
}

double Learned::boast() const {
  return kBoast * std::max(0.0, sure_ - kModest);
}

double Learned::modesty() const {
  return std::max(1.0, kUsualSure / std::max(kLeastSure, sure_));
}

void Learned::see_start(bool real) {
  (real ? real_starts_ : false_starts_) += 1;
  const double all = real_starts_ + false_starts_;
  if (all <= kMostStarts) return;
  real_starts_ *= kMostStarts / all;
  false_starts_ *= kMostStarts / all;
}

double Learned::doubt_of_starts() const {
  return std::max(kLeastDoubtOfStarts, std::log(false_starts_ / (kUsualOdds * real_starts_)));
}

void Learned::see_look(bool missed) {
  misses_ += std::max(1.0 / ++looks_, kNewLook) * ((missed ? 1 : 0) - misses_);
}

double Learned::absence() const {
  return std::clamp(std::log(kFalseMisses / misses_), 0.0, kMostAbsence);
}

void Learned::see_slip(unsigned hits, bool slip) {
  Slips& slips = slips_[age_of(hits)];
  const double kept = slips.all > kMostSlips ? 1 - 1 / kMostSlips : 1;
  slips.slips = kept * slips.slips + slip;
  slips.all = kept * slips.all + 1;
}

bool Learned::slips(unsigned hits) const {
  const Slips& slips = slips_[age_of(hits)];
  return slips.slips > slips.all / 2;
}

void Learned::see_edge(const image::Corners& box, const image::Size& frame) {
  const double beyond = std::max(std::max(-box.x0, box.x1 - frame.width) / (box.x1 - box.x0),
                                 std::max(-box.y0, box.y1 - frame.height) / (box.y1 - box.y0));
  constexpr double kNear = -0.02, kBeyond = 0.1;  // in the box's widths and heights
  if (!is_known(frame) || beyond < kNear) return;
  const double kept = at_edge_ > kMostAtEdge ? 1 - 1 / kMostAtEdge : 1;
  beyond_ = kept * beyond_ + (beyond > kBeyond);
  at_edge_ = kept * at_edge_ + 1;
}

const Learned::Class* Learned::find(int class_id) const {
  for (const Class& known : classes_) {
    if (known.class_id == class_id) return &known;
  }
  return nullptr;
}

Learned::Class* Learned::find_or_add(int class_id) {
  const Class* known = find(class_id);
  if (known) return &classes_[static_cast<size_t>(known - classes_.data())];
  if (classes_.size() == kMostClasses) return nullptr;
  classes_.emplace_back();
  classes_.back().class_id = class_id;
  return &classes_.back();
}

void Learned::see_entry(int axis, double speed) {
  Entries& entries = entries_[axis];
  const double share = std::max(1.0 / ++entries.count, kNewEntry);
  entries.speed += share * (speed - entries.speed);
  entries.square += share * (speed * speed - entries.square);
}

Spread Learned::entry_speed(int axis) const {
  const Entries& entries = entries_[axis];
  return {entries.speed, std::max(kLeastSpread, entries.square - entries.speed * entries.speed)};
}

double Learned::shape_of(int class_id) const {
  const Class* known = find(class_id);
  return known ? known->ratio : 0;
}

}  // namespace dvnn::track
