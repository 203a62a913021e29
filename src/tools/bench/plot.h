// SPDX-License-Identifier: Apache-2.0
// Times as a picture: bars, as SVG.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/options.h"

namespace dvnn::tools {

/// Groups of bars, one group for each row, in it one bar for each series.
struct BarPlot {
  struct Row {
    std::string name;
    std::vector<double> milliseconds;  // as many as there are series
  };
  /// Rows that are compared with one another: they have a scale of their own.
  struct Panel {
    std::string title;  // may be empty
    std::vector<Row> rows;
  };
  enum class Scale { kLinear, kLogarithmic };
  std::string title;
  std::vector<std::string> series;
  std::vector<Panel> panels;
  Scale scale = Scale::kLinear;
};

std::string svg_of_plot(const BarPlot& plot);

/// "34.1 µs", "12.4 ms" or "2.35 s".
std::string time_text(double milliseconds);

inline constexpr Option kPlotOption = {"plot", 0, Takes::kFile, "FILE.svg",
                                       "Draw the times as bars"};

/// Writes it where --plot was given; `path` may be empty.
Status write_plot(const std::string& path, const BarPlot& plot);

}  // namespace dvnn::tools
