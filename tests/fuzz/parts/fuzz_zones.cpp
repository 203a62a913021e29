// SPDX-License-Identifier: Apache-2.0
// Areas and lines as users write them, and tracks that walk at them: {"zones": dvzones' text,
// "frame": [width, height], "walk": [[track, milliseconds, x, y], …]}.
#include <cmath>

#include "base/json.h"
#include "json_mutator.h"
#include "target.h"
#include "zones/zones.h"

namespace dvnn::fuzz::zones_target {

DVNN_FUZZ_JSON("zones", "frame", "walk", "areas", "lines", "name", "points", "unit", "fractions",
               "pixels", "labels", "person", "anchor", "foot", "centre", "overlap", "share", "band",
               "dwell", "idle", "idle-distance", "crowd", "crowd-time", "cover", "ground", "height",
               "tilt", "field-of-view", "heat", "cell", "period", "distances", "below", "occupied",
               "free", "min-speed", "max-speed", "heading", "distance-below", "distance-time")

namespace {

double number_of(const Json& list, size_t index, double fallback) {
  return list.is_array() && index < list.size() && list[index].is_number()
             ? list[index].get<double>()
             : fallback;
}

// Whatever the walks are, those inside have entered and not left.
void check_counts(const zones::Zones& zones) {
  for (const zones::AreaState& state : zones.areas()) {
    if (state.all.entered - state.all.left != state.all.inside) std::abort();
    zones::AreaCounts sum;
    for (const auto& [label, counts] : state.by_label) {
      sum.entered += counts.entered;
      sum.left += counts.left;
    }
    if (sum.entered != state.all.entered || sum.left != state.all.left) std::abort();
  }
  for (size_t i = 1; i < zones.events().size(); ++i) {
    if (zones.events()[i].time < zones.events()[i - 1].time) std::abort();
  }
}

void walk(const Json& steps, zones::Zones* zones) {
  constexpr size_t kMostSteps = 64;
  zones::Time now = 0;
  for (size_t i = 0; steps.is_array() && i < steps.size() && i < kMostSteps; ++i) {
    const double wait = std::clamp(number_of(steps[i], 1, 40), 0.0, 1e12);
    now += static_cast<zones::Time>(wait) * zones::kMillisecond;
    const double x = number_of(steps[i], 2, 0), y = number_of(steps[i], 3, 0);
    const auto track = static_cast<uint64_t>(std::clamp(number_of(steps[i], 0, 1), 1.0, 9.0));
    zones::Sighting sighting{track, track % 2 ? "person" : "car", {x - 5, y - 20, x + 5, y}};
    // Ten pixels are a metre, and every other one goes fast.
    sighting.ground = objects::Movement{x / 10, y / 10, 0.1, track % 2 ? 5.0 : 0.5, 0.1, 90};
    zones->update(now, {&sighting, 1});
    zones->take_heat(false);
    check_counts(*zones);
  }
  zones->end();
  check_counts(*zones);
  for (const zones::AreaState& state : zones->areas()) {
    if (state.all.inside != 0) std::abort();
  }
}

}  // namespace

static void prepare() {}

static void try_input(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto parsed = parse_json(text, "it");
  const Json none;
  const auto part = [&](const char* name) -> const Json& {
    if (!parsed.ok() || !parsed.value().is_object()) return none;
    const auto found = parsed.value().find(name);
    return found == parsed.value().end() ? none : *found;
  };
  const Json& shapes = part("zones");
  const auto config = zones::parse_config(shapes.is_null() ? text : json_text(shapes), "zones");
  if (!fuzz::is_good(config)) return;
  ++fuzz::accepted;
  // As caps and metas have sizes.
  const Json& frame = part("frame");
  const image::Size size_of_frame{std::floor(std::clamp(number_of(frame, 0, 200), 1.0, 65535.0)),
                                  std::floor(std::clamp(number_of(frame, 1, 100), 1.0, 65535.0))};
  zones::Zones zones;
  zones.configure(config.value(), size_of_frame);
  walk(part("walk"), &zones);
  // The same shapes in another frame, with what they have counted.
  zones.configure(config.value(), {size_of_frame.height, size_of_frame.width});
  walk(part("walk"), &zones);
}

DVNN_FUZZ_JSON_TARGET(zones)

}  // namespace dvnn::fuzz::zones_target
