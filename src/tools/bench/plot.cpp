// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/plot.h"

#include <algorithm>

#include "base/format.h"
#include "tools/options.h"

namespace dvnn::tools {
namespace {

// Pixels.
constexpr int kWidth = 860, kLeft = 260, kRight = 90, kBar = 14, kGap = 10, kHead = 62, kFoot = 16;
constexpr const char* kColors[] = {"#1769c2", "#e08a1e", "#8a94a3", "#2e8b57"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string text_at(int x, int y, const char* style, const std::string& text) {
  return format("<text x=\"%d\" y=\"%d\" %s>", x, y, style) + escaped(text) + "</text>\n";
}

const char* color_of(size_t series) {
  return kColors[series % (sizeof kColors / sizeof *kColors)];
}

}  // namespace

std::string svg_of_plot(const BarPlot& plot) {
  double most = 0;
  for (const BarPlot::Row& row : plot.rows) {
    for (const double value : row.values) most = std::max(most, value);
  }
  const int group = static_cast<int>(plot.series.size()) * kBar + kGap;
  const int height = kHead + static_cast<int>(plot.rows.size()) * group + kFoot;
  std::string svg = format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
      "font-family=\"DejaVu Sans, sans-serif\" font-size=\"12\" fill=\"#1c2430\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      kWidth, height);
  svg += text_at(kGap, 22, "font-size=\"16\" font-weight=\"bold\"", plot.title);
  int x = kLeft;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    svg += format("<rect x=\"%d\" y=\"36\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", x,
                  color_of(i));
    svg += text_at(x + 18, 47, "", plot.series[i]);
    constexpr int kLetter = 8;
    x += 40 + kLetter * static_cast<int>(plot.series[i].size());
  }
  int y = kHead;
  for (const BarPlot::Row& row : plot.rows) {
    const int middle = y + (group - kGap) / 2 + 4;
    constexpr size_t kMostShown = 36;
    svg += text_at(kLeft - 8, middle, "text-anchor=\"end\"", short_text(row.name, kMostShown));
    for (size_t i = 0; i < row.values.size(); ++i, y += kBar) {
      const double part = most > 0 ? row.values[i] / most : 0;
      const double width = std::max(1.0, part * (kWidth - kLeft - kRight));
      svg += format("<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\" fill=\"%s\"/>\n",
                    kLeft, y, width, kBar - 2, color_of(i));
      svg += text_at(kLeft + static_cast<int>(width) + 6, y + kBar - 4, "fill=\"#667\"",
                     format("%.3g ", row.values[i]) + plot.unit);
    }
    y += kGap;
  }
  return svg + "</svg>\n";
}

Status write_plot(const std::string& path, const BarPlot& plot) {
  return path.empty() ? Status() : write_text(path, svg_of_plot(plot));
}

}  // namespace dvnn::tools
