// SPDX-License-Identifier: Apache-2.0
#include "zones/motion_condition.h"

#include <algorithm>
#include <cmath>

namespace dvnn::zones {
namespace {

// By chance, 1 in 40 is off by more deviations to one side.
constexpr double kSure = 2;

enum class Answer { kNo, kUnsure, kYes };

// `margin`: by how much it holds, below 0 if it does not.
Answer answer(double margin, double deviation) {
  if (margin > kSure * deviation) return Answer::kYes;
  return margin < -kSure * deviation ? Answer::kNo : Answer::kUnsure;
}

double turned(double from, double to) {
  const double angle = std::fmod(to - from, 360);
  return angle < 0 ? angle + 360 : angle;
}

Answer heads(const HeadingRange& range, const objects::Movement& movement) {
  if (!(movement.speed > movement.speed_deviation)) return Answer::kNo;
  if (!(movement.speed > kSure * movement.speed_deviation)) return Answer::kUnsure;
  const double width = turned(range.from, range.to), at = turned(range.from, movement.heading);
  const double margin =
      at <= width ? std::min(at, width - at) : -std::min(at - width, double{360} - at);
  return answer(margin, std::atan2(movement.speed_deviation, movement.speed) * 180 / M_PI);
}

}  // namespace

bool meets(const MotionCondition& condition, const std::optional<objects::Movement>& movement,
           bool before) {
  if (!movement || !movement->knows_speed()) return before;
  const double speed = movement->speed, deviation = movement->speed_deviation;
  Answer all = Answer::kYes;
  if (condition.min_speed > 0) all = std::min(all, answer(speed - condition.min_speed, deviation));
  if (condition.max_speed > 0) all = std::min(all, answer(condition.max_speed - speed, deviation));
  if (condition.heading) all = std::min(all, heads(*condition.heading, *movement));
  return all == Answer::kUnsure ? before : all == Answer::kYes;
}

}  // namespace dvnn::zones
