// SPDX-License-Identifier: Apache-2.0
#include "zones/heat.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dvnn::zones {
namespace {

// Cells that one way may cross; what is faster is another object.
constexpr double kMostCrossed = 4096;
constexpr double kMostCoordinate = 1 << 30;

double length_of(Time time) {
  return static_cast<double>(time) * 1e-9;
}

uint64_t key_of(int32_t column, int32_t row) {
  return static_cast<uint64_t>(static_cast<uint32_t>(column)) << 32 | static_cast<uint32_t>(row);
}

// Appends the parts of the way from `from` to `to` at which it crosses multiples of `cell`.
void add_crossings(double from, double to, double cell, std::vector<double>* parts) {
  const double low = std::min(from, to) / cell, high = std::max(from, to) / cell;
  for (double k = std::ceil(low); k <= high; ++k) {
    const double part = (k * cell - from) / (to - from);
    if (part > 0 && part < 1) parts->push_back(part);
  }
}

}  // namespace

void Heat::configure(const std::optional<HeatConfig>& config, bool metres, double cell) {
  if (!config || metres != metres_ || cell != cell_) {
    labels_.clear();
    cells_ = 0;
    left_out_ = 0;
    ++changes_;
  }
  config_ = config;
  metres_ = metres;
  cell_ = cell;
  from_.reset();
}

bool Heat::wants(const std::string& label) const {
  if (!config_) return false;
  const std::vector<std::string>& labels = config_->labels;
  return labels.empty() || std::find(labels.begin(), labels.end(), label) != labels.end();
}

void Heat::add(Label* label, double x, double y, double seconds) {
  const double column = std::floor(x / cell_), row = std::floor(y / cell_);
  if (!(std::fabs(column) < kMostCoordinate && std::fabs(row) < kMostCoordinate)) {
    left_out_ += seconds;
    return;
  }
  const uint64_t key = key_of(static_cast<int32_t>(column), static_cast<int32_t>(row));
  auto at = label->cells.find(key);
  if (at == label->cells.end()) {
    if (cells_ == kMostCells) {
      left_out_ += seconds;
      return;
    }
    ++cells_;
    at = label->cells.emplace(key, Seconds()).first;
  }
  at->second.total += seconds;
  at->second.recent += seconds;
}

void Heat::move(const std::string& name, const HeatPlace& from, Time begin, const HeatPlace& to,
                Time end) {
  const double seconds = length_of(end - begin);
  if (!wants(name) || !(seconds > 0)) return;
  ++changes_;
  auto label = labels_.find(name);
  if (label == labels_.end() && labels_.size() == kMostLabels) {
    left_out_ += seconds;
    return;
  }
  if (label == labels_.end()) label = labels_.emplace(name, Label()).first;
  label->second.recent += seconds;
  const double crossed = (std::fabs(to.x - from.x) + std::fabs(to.y - from.y)) / cell_;
  if (!(crossed < kMostCrossed)) {
    left_out_ += seconds;
    return;
  }
  std::vector<double> parts = {0};
  if (to.x != from.x) add_crossings(from.x, to.x, cell_, &parts);
  if (to.y != from.y) add_crossings(from.y, to.y, cell_, &parts);
  std::sort(parts.begin(), parts.end());
  parts.push_back(1);
  for (size_t i = 1; i < parts.size(); ++i) {
    const double share = parts[i] - parts[i - 1], middle = (parts[i] + parts[i - 1]) / 2;
    if (!(share > 0)) continue;
    add(&label->second, from.x + middle * (to.x - from.x), from.y + middle * (to.y - from.y),
        share * seconds);
  }
}

void Heat::see(Time now) {
  if (!from_) from_ = now;
  now_ = now;
}

bool Heat::is_due() const {
  return config_ && from_ && now_ - *from_ >= config_->period;
}

std::optional<HeatReport> Heat::take() {
  if (!config_ || !from_ || now_ <= *from_) return {};
  HeatReport report;
  report.from = *from_;
  report.to = now_;
  report.metres = metres_;
  report.cell = cell_;
  report.left_out = left_out_;
  struct Told {
    size_t label;
    HeatCell cell;
  };
  std::vector<Told> all;
  for (auto& [name, label] : labels_) {
    if (!(label.recent > 0)) continue;
    for (auto& [key, seconds] : label.cells) {
      if (!(seconds.recent > 0)) continue;
      all.push_back({report.labels.size(),
                     {static_cast<int32_t>(static_cast<uint32_t>(key >> 32)),
                      static_cast<int32_t>(static_cast<uint32_t>(key)), seconds.recent}});
      seconds.recent = 0;
    }
    report.labels.push_back({name, label.recent, {}});
    label.recent = 0;
  }
  std::sort(all.begin(), all.end(), [](const Told& a, const Told& b) {
    if (a.cell.seconds != b.cell.seconds) return a.cell.seconds > b.cell.seconds;
    return std::make_pair(a.cell.row, a.cell.column) < std::make_pair(b.cell.row, b.cell.column);
  });
  for (size_t i = 0; i < all.size(); ++i) {
    if (i < kMostTold) {
      report.labels[all[i].label].cells.push_back(all[i].cell);
    } else {
      report.left_out += all[i].cell.seconds;
    }
  }
  left_out_ = 0;
  from_ = now_;
  return report;
}

double Heat::total(const std::string& name, int32_t column, int32_t row) const {
  const auto label = labels_.find(name);
  if (label == labels_.end()) return 0;
  const auto cell = label->second.cells.find(key_of(column, row));
  return cell == label->second.cells.end() ? 0 : cell->second.total;
}

std::vector<std::string> Heat::labels() const {
  std::vector<std::string> names;
  for (const auto& [name, label] : labels_) names.push_back(name);
  return names;
}

}  // namespace dvnn::zones
