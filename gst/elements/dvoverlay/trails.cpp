// SPDX-License-Identifier: Apache-2.0
#include "elements/dvoverlay/trails.h"

namespace dvnn::gst {
namespace {

constexpr size_t kMostTrails = 1000;
// Steps are at least this fraction (1/250) of a trail's length apart in time.
constexpr GstClockTime kMostSteps = 250;

}  // namespace

void Trails::begin(GstClockTime now, GstClockTime length) {
  if (now < now_) trails_.clear();
  now_ = now;
  length_ = length;
  for (auto at = trails_.begin(); at != trails_.end();) {
    auto& steps = at->second.steps;
    while (!steps.empty() && now - steps.front().time > length) steps.pop_front();
    at = steps.empty() ? trails_.erase(at) : std::next(at);
  }
}

void Trails::add(gint network, guint64 track, const objects::Point& foot, int color) {
  const auto key = std::make_pair(network, track);
  auto at = trails_.find(key);
  if (at == trails_.end()) {
    if (trails_.size() == kMostTrails) return;
    at = trails_.emplace(key, Trail()).first;
  }
  Trail& trail = at->second;
  trail.color = color;
  // The last step follows the track until it is far enough from the one before.
  const size_t count = trail.steps.size();
  if (count > 1 && now_ - trail.steps[count - 2].time < length_ / kMostSteps) {
    trail.steps.pop_back();
  }
  trail.steps.push_back({now_, foot});
}

void Trails::draw(std::vector<draw::Figure>* figures) const {
  for (const auto& [key, trail] : trails_) {
    draw::Figure figure;
    for (const Step& step : trail.steps) figure.points.push_back(step.foot);
    figure.tapers = true;
    figure.color = trail.color;
    figures->push_back(std::move(figure));
  }
}

}  // namespace dvnn::gst
