// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/curve_plot.h"

#include <glib.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/format.h"
#include "base/json.h"

namespace dvnn::tools {
namespace {

// Sizes in pixels.
constexpr int kPlotWidth = 720, kPlotLeft = 70, kPlotTop = 50, kPlotHigh = 360, kPlotRight = 200;
constexpr int kPlotFoot = 60, kPlotWide = kPlotWidth - kPlotLeft - kPlotRight;
constexpr int kMostNames = 20;
constexpr const char* kPlotColors[] = {"#1769c2", "#e08a1e", "#2e8b57", "#c2185b",
                                       "#6a4fb3", "#8a94a3", "#0097a7", "#8d6e63"};
constexpr int kSteps = 5;  // parts of an axis

std::string plot_text(double x, double y, const char* style, const std::string& text) {
  const std::unique_ptr<char, decltype(&g_free)> safe(
      g_markup_escape_text(printable(text).c_str(), -1), g_free);
  return format("<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, style) + safe.get() + "</text>\n";
}

const char* plot_color(size_t i) {
  return kPlotColors[i % (sizeof kPlotColors / sizeof *kPlotColors)];
}

double x_of(const CurvePlot& plot, double value) {
  return kPlotLeft + kPlotWide * (value - plot.left) / (plot.right - plot.left);
}

double y_of(const CurvePlot& plot, double value) {
  return kPlotTop + kPlotHigh * (plot.high - value) / (plot.high - plot.low);
}

std::string draw_axes(const CurvePlot& plot) {
  std::string svg;
  for (int i = 0; i <= kSteps; ++i) {
    const double across = plot.left + (plot.right - plot.left) * i / kSteps;
    const double up = plot.low + (plot.high - plot.low) * i / kSteps;
    const double x = x_of(plot, across), y = y_of(plot, up);
    svg += format("<path d=\"M%.1f %d v%d M%d %.1f h%d\" stroke=\"#d4d8de\"/>\n", x, kPlotTop,
                  kPlotHigh, kPlotLeft, y, kPlotWide);
    svg += plot_text(x, kPlotTop + kPlotHigh + 18, "text-anchor=\"middle\" fill=\"#667\"",
                     format("%.6g", across));
    svg += plot_text(kPlotLeft - 8, y + 4, "text-anchor=\"end\" fill=\"#667\"", format("%.4g", up));
  }
  svg += plot_text(kPlotLeft + kPlotWide / 2.0, kPlotTop + kPlotHigh + 42, "text-anchor=\"middle\"",
                   plot.across);
  const double middle = kPlotTop + kPlotHigh / 2.0;
  return svg +
         plot_text(
             16, middle,
             format("text-anchor=\"middle\" transform=\"rotate(-90 16 %.1f)\"", middle).c_str(),
             plot.up);
}

std::string draw_curve(const CurvePlot& plot, size_t index) {
  const CurvePlot::Curve& curve = plot.curves[index];
  const char* color = plot_color(index);
  std::string path;
  for (const auto& [x, y] : curve.points)
    path += format("%s%.1f %.1f", path.empty() ? "M" : "L", x_of(plot, x), y_of(plot, y));
  std::string svg =
      "<path d=\"" + path + format("\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", color);
  if (curve.dot >= 0) {
    const auto& [x, y] = curve.points[static_cast<size_t>(curve.dot)];
    svg += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\"/>\n", x_of(plot, x),
                  y_of(plot, y), color);
  }
  if (index >= kMostNames) return svg;
  constexpr int kLine = 18;
  const double x = kPlotLeft + kPlotWide + 16, y = kPlotTop + 8 + kLine * double(index);
  svg += format("<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", x, y - 10,
                color);
  return svg + plot_text(x + 18, y, "", short_text(curve.name, 24));
}

// Precision at 101 recalls, up to the largest recall.
CurvePlot::Curve curve_of_class(const MeasuredClass& of) {
  CurvePlot::Curve curve = {of.label, {}, -1};
  const auto& precisions = of.half.precisions;
  for (size_t i = 0; i < precisions.size() && precisions[i] > 0; ++i)
    curve.points.emplace_back(double(i) / double(precisions.size() - 1), precisions[i]);
  return curve;
}

CurvePlot::Curve curve_of_network(const Measured& of) {
  CurvePlot::Curve curve = {base_name(of.path), {}, -1};
  const std::vector<MeasuredClass>& classes = of.detector->classes;
  const size_t count = classes.empty() ? 0 : classes[0].half.precisions.size();
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (const MeasuredClass& one : classes) sum += one.half.precisions[i];
    curve.points.emplace_back(double(i) / double(count - 1), sum / double(classes.size()));
  }
  return curve;
}

CurvePlot plot_of_bytes(const OrderedJson& of) {
  CurvePlot plot = {base_name(of["network"].get<std::string>()),
                    "bytes of weights",
                    of["metric"].get<std::string>(),
                    0,
                    1,
                    0,
                    1,
                    {}};
  CurvePlot::Curve curve = {"8 bits, layer by layer", {}, -1};
  double least = 1, most = 0;
  for (const OrderedJson& point : of["points"]) {
    curve.points.emplace_back(point["bytes"].get<double>(), point["value"].get<double>());
    least = std::min(least, curve.points.back().second);
    most = std::max(most, curve.points.back().second);
  }
  curve.dot = of["chosen"].get<int>();
  const auto [left, right] = std::minmax_element(curve.points.begin(), curve.points.end());
  plot.left = left->first;
  plot.right = std::max(right->first, plot.left + 1);
  constexpr double kTwentieth = 20;
  plot.low = std::floor(least * kTwentieth) / kTwentieth;
  plot.high = std::max(std::ceil(most * kTwentieth) / kTwentieth, plot.low + 1 / kTwentieth);
  plot.curves.push_back(std::move(curve));
  return plot;
}

}  // namespace

std::string svg_of(const CurvePlot& plot) {
  const int height = kPlotTop + kPlotHigh + kPlotFoot;
  std::string svg = format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
      "font-family=\"sans-serif\" font-size=\"13\" fill=\"#1c2430\">\n"
      "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
      kPlotWidth, height, kPlotWidth, height, kPlotWidth, height);
  svg += plot_text(kPlotLeft, 28, "font-size=\"16\"", plot.title) + draw_axes(plot);
  for (size_t i = 0; i < plot.curves.size(); ++i) svg += draw_curve(plot, i);
  return svg + "</svg>\n";
}

CurvePlot measured_plot(const std::vector<Measured>& measured, const OrderedJson& report) {
  if (report.contains("quantized")) return plot_of_bytes(report["quantized"]);
  CurvePlot plot = {base_name(measured[0].path), "recall", "precision", 0, 1, 0, 1, {}};
  if (measured.size() == 1 && measured[0].detector) {
    for (const MeasuredClass& of : measured[0].detector->classes)
      plot.curves.push_back(curve_of_class(of));
    return plot;
  }
  plot.title = "mean of classes";
  for (const Measured& of : measured) {
    if (of.detector) plot.curves.push_back(curve_of_network(of));
  }
  return plot;
}

}  // namespace dvnn::tools
