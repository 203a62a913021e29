// SPDX-License-Identifier: Apache-2.0
// Draws times as bars, in SVG.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/options.h"

namespace dvnn::tools {

/// Groups of bars: one group per row, with one bar per series.
struct BarPlot {
  struct Row {
    std::string name;
    std::vector<double> milliseconds;  // one per series
  };
  /// Rows that are compared with each other, on a scale of their own.
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

/// Formats a time: "34.1 µs", "12.4 ms" or "2.35 s".
std::string time_text(double milliseconds);

inline constexpr Option kPlotOption = {"plot", 0, Takes::kFile, "FILE.svg",
                                       "Draw the times as bars"};

/// Writes the plot to `path`, unless that is empty (no --plot).
Status write_plot(const std::string& path, const BarPlot& plot);

}  // namespace dvnn::tools
