// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/plot.h"

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/format.h"
#include "tools/options.h"

namespace dvnn::tools {
namespace {

// Sizes in pixels.
constexpr int kWidth = 860, kLeft = 260, kRight = 90, kBar = 14, kGap = 10, kHead = 62, kFoot = 16;
constexpr int kPanelHead = 46, kBetweenPanels = 18;
constexpr const char* kColors[] = {"#1769c2", "#e08a1e", "#8a94a3", "#2e8b57"};
constexpr const char* kFaint = "fill=\"#667\"";

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

// Maps times to pixels.
class Axis {
 public:
  Axis(const BarPlot::Panel& panel, BarPlot::Scale scale)
      : logarithmic_(scale == BarPlot::Scale::kLogarithmic) {
    double least = 0;
    for (const BarPlot::Row& row : panel.rows) {
      for (const double ms : row.milliseconds) {
        if (ms <= 0) continue;
        most_ = std::max(most_, ms);
        least = least > 0 ? std::min(least, ms) : ms;
      }
    }
    if (most_ <= 0) most_ = 1;
    // A logarithmic scale begins at a power of ten, so that the shortest bar has some length, too.
    if (logarithmic_) least_ = std::pow(10, std::floor(std::log10(least > 0 ? least : most_)));
    if (logarithmic_ && least_ >= most_) least_ = most_ / 10;
  }

  [[nodiscard]] double pixels(double ms) const {
    constexpr double kLong = kWidth - kLeft - kRight;
    if (!logarithmic_) return kLong * ms / most_;
    return ms <= least_ ? 0 : kLong * std::log(ms / least_) / std::log(most_ / least_);
  }

  /// Returns evenly spaced round times, as many as fit.
  [[nodiscard]] std::vector<double> marks() const {
    std::vector<double> marks;
    if (logarithmic_) {
      for (double ms = least_; ms <= most_; ms *= 10) marks.push_back(ms);
      return marks;
    }
    constexpr double kMarks = 6;
    const double power = std::pow(10, std::floor(std::log10(most_ / kMarks)));
    double step = power;
    for (const double factor : {2, 5, 10}) {
      if (most_ / step > kMarks) step = power * factor;
    }
    for (int i = 0; i * step <= most_; ++i) marks.push_back(i * step);
    return marks;
  }

 private:
  double least_ = 0, most_ = 0;
  bool logarithmic_;
};

int height_of(const BarPlot::Panel& panel, size_t series) {
  return static_cast<int>(panel.rows.size()) * (static_cast<int>(series) * kBar + kGap);
}

std::string draw_marks(const Axis& axis, int top, int height) {
  std::string svg;
  for (const double ms : axis.marks()) {
    const int x = kLeft + static_cast<int>(axis.pixels(ms));
    svg += format("<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#d4d8de\"/>\n", x, x, top,
                  top + height);
    svg += text_at(x, top - 6, "text-anchor=\"middle\" fill=\"#667\" font-size=\"11\"",
                   ms > 0 ? time_text(ms) : "0");
  }
  return svg;
}

std::string draw_row(const BarPlot::Row& row, const Axis& axis, int top) {
  constexpr size_t kMostShown = 36;
  const int bars = static_cast<int>(row.milliseconds.size()) * kBar;
  std::string svg = text_at(kLeft - 8, top + bars / 2 + 4, "text-anchor=\"end\"",
                            short_text(row.name, kMostShown));
  for (size_t i = 0; i < row.milliseconds.size(); ++i, top += kBar) {
    const double width = std::max(1.0, axis.pixels(row.milliseconds[i]));
    svg += format("<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\" fill=\"%s\"/>\n",
                  kLeft, top, width, kBar - 2, color_of(i));
    svg += text_at(kLeft + static_cast<int>(width) + 6, top + kBar - 4, kFaint,
                   time_text(row.milliseconds[i]));
  }
  return svg;
}

std::string draw_series(const std::vector<std::string>& series) {
  std::string svg;
  int x = kLeft;
  for (size_t i = 0; i < series.size(); ++i) {
    svg += format("<rect x=\"%d\" y=\"36\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", x,
                  color_of(i));
    svg += text_at(x + 18, 47, "", series[i]);
    constexpr int kLetter = 8;
    x += 40 + kLetter * static_cast<int>(series[i].size());
  }
  return svg;
}

}  // namespace

std::string time_text(double milliseconds) {
  if (milliseconds <= 0) return "0";
  const double microseconds = milliseconds * 1e3;
  // Below 999.5, %.3g uses no exponent.
  if (microseconds < 999.5) return format("%.3g \u00b5s", microseconds);
  if (milliseconds < 999.5) return format("%.3g ms", milliseconds);
  return format("%.3g s", milliseconds / 1e3);
}

std::string svg_of_plot(const BarPlot& plot) {
  int height = kHead + kFoot;
  for (const BarPlot::Panel& panel : plot.panels) {
    height += kPanelHead + height_of(panel, plot.series.size()) + kBetweenPanels;
  }
  std::string svg = format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
      "font-family=\"DejaVu Sans, sans-serif\" font-size=\"12\" fill=\"#1c2430\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      kWidth, height, kWidth, height);
  svg += text_at(kGap, 22, "font-size=\"16\" font-weight=\"bold\"", plot.title);
  svg += draw_series(plot.series);
  int y = kHead;
  for (const BarPlot::Panel& panel : plot.panels) {
    const Axis axis(panel, plot.scale);
    svg += text_at(kGap, y + kPanelHead - 10, "font-weight=\"bold\"", panel.title);
    y += kPanelHead;
    const int tall = height_of(panel, plot.series.size());
    svg += draw_marks(axis, y - 4, tall);
    for (const BarPlot::Row& row : panel.rows) {
      svg += draw_row(row, axis, y);
      y += static_cast<int>(row.milliseconds.size()) * kBar + kGap;
    }
    y += kBetweenPanels;
  }
  return svg + "</svg>\n";
}

Status write_plot(const std::string& path, const BarPlot& plot) {
  return path.empty() ? Status() : replace_file(path, {svg_of_plot(plot)});
}

}  // namespace dvnn::tools
