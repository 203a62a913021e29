// SPDX-License-Identifier: Apache-2.0
// Draws curves of measured figures, in SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "tools/evaluate/measured.h"

namespace dvnn::tools {

struct CurvePlot {
  struct Curve {
    std::string name;
    std::vector<std::pair<double, double>> points;  // from left to right
    int dot = -1;                                   // index of a point with a dot; -1: none
  };
  std::string title, across, up;  // what the axes are
  double left = 0, right = 1, low = 0, high = 1;
  std::vector<Curve> curves;
};

std::string svg_of(const CurvePlot& plot);

/// Returns the plot of a report: the metric by bytes, if it has that, or else precision by recall,
/// of each class of one network, or of each network in the mean of its classes.
CurvePlot measured_plot(const std::vector<Measured>& measured, const OrderedJson& report);

}  // namespace dvnn::tools
