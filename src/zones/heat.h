// SPDX-License-Identifier: Apache-2.0
// Where tracks spend their time: seconds per cell of the ground or of the picture, by label.
// docs/ground.md has the rules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "zones/config.h"

namespace dvnn::zones {

/// A place in metres, or in pixels where no ground is known.
struct HeatPlace {
  double x = 0, y = 0;
};

/// Seconds in the cell from (column * cell, row * cell) to one cell further.
struct HeatCell {
  int32_t column = 0, row = 0;
  double seconds = 0;
};

/// What came together for one label from one report to the next.
struct LabelHeat {
  std::string label;
  double seconds = 0;           // in all
  std::vector<HeatCell> cells;  // the most seconds first, at most kMostTold in all labels
};
struct HeatReport {
  Time from = 0, to = 0;
  bool metres = false;  // else pixels
  double cell = 0;      // side of a cell
  std::vector<LabelHeat> labels;
  double left_out = 0;  // seconds in cells that are not told
};

/// Collects heat. It is used by one thread.
class Heat {
 public:
  /// Cells that are told at once, that are kept, and labels of which they are kept.
  static constexpr size_t kMostTold = 4096, kMostCells = 65536, kMostLabels = 32;

  /// Sets what is collected. A different side of the cells, or a different unit, forgets what was
  /// collected; so call take() before. `cell`: in metres or pixels.
  void configure(const std::optional<HeatConfig>& config, bool metres, double cell);
  bool is_on() const { return config_.has_value(); }
  bool wants(const std::string& label) const;
  /// A track went straight from one place to another, in the time from `begin` to `end`.
  void move(const std::string& label, const HeatPlace& from, Time begin, const HeatPlace& to,
            Time end);
  /// The time of a frame. Reports begin with the first one, and anew after a jump.
  void see(Time now);
  /// The stream jumps: the next report begins with the next frame.
  void jump() { from_.reset(); }
  /// Whether the period is over.
  bool is_due() const;
  /// Returns what came together since the last call, or nothing if that is no time at all.
  std::optional<HeatReport> take();

  /// Returns the seconds in a cell since configure().
  double total(const std::string& label, int32_t column, int32_t row) const;
  /// Returns the labels that have any.
  std::vector<std::string> labels() const;
  bool is_metres() const { return metres_; }
  double cell() const { return cell_; }
  /// Counts up with each change, so that what is drawn is drawn anew.
  uint64_t changes() const { return changes_; }

 private:
  struct Seconds {
    double total = 0, recent = 0;
  };
  struct Label {
    std::unordered_map<uint64_t, Seconds> cells;
    double recent = 0;
  };
  void add(Label* label, double x, double y, double seconds);

  std::optional<HeatConfig> config_;
  bool metres_ = false;
  double cell_ = 0;
  std::map<std::string, Label> labels_;
  size_t cells_ = 0;
  double left_out_ = 0;
  std::optional<Time> from_;
  Time now_ = 0;
  uint64_t changes_ = 0;
};

}  // namespace dvnn::zones
