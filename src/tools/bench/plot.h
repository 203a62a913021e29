// SPDX-License-Identifier: Apache-2.0
// Times as a picture: bars, as SVG.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace dvnn::tools {

/// A group of bars for each row, one for each series.
struct BarPlot {
  std::string title, unit;
  std::vector<std::string> series;
  struct Row {
    std::string name;
    std::vector<double> values;  // as many as there are series
  };
  std::vector<Row> rows;
};

std::string svg_of_plot(const BarPlot& plot);

/// Writes it where --plot was given; `path` may be empty.
Status write_plot(const std::string& path, const BarPlot& plot);

}  // namespace dvnn::tools
