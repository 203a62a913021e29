// SPDX-License-Identifier: Apache-2.0
#include "track/tracker.h"

#include "base/format.h"
#include "base/names.h"

namespace dvnn::track {
namespace {

constexpr double kMostEvidence = 1000, kLongest = 3600 * 1000;  // milliseconds

struct Parameter {
  const char* name;
  double most;
  float Settings::*number;  // null: a time
  Time Settings::*time;     // in milliseconds
};
constexpr Parameter kParameters[] = {
    {"min-confidence-start", 1, &Settings::start, nullptr},
    {"min-confidence-find", 1, &Settings::sure, nullptr},
    {"min-confidence-keep", 1, &Settings::weak, nullptr},
    {"min-evidence", kMostEvidence, &Settings::evidence, nullptr},
    {"max-lost-ms", kLongest, nullptr, &Settings::lost},
    {"max-coast-ms", kLongest, nullptr, &Settings::coast},
};

}  // namespace

Status set_parameter(const std::string& property, double value, Settings* settings) {
  DVNN_ASSIGN(const size_t place, find_name(property, names_of(kParameters), "parameter"));
  const Parameter& parameter = kParameters[place];
  if (!(value >= 0 && value <= parameter.most)) {
    return invalid_argument(
        format("%s: %g is not in 0..%g", parameter.name, value, parameter.most));
  }
  if (parameter.number) {
    settings->*parameter.number = static_cast<float>(value);
  } else {
    settings->*parameter.time = static_cast<Time>(value * static_cast<double>(kMillisecond));
  }
  return {};
}

}  // namespace dvnn::track
