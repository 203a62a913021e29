// SPDX-License-Identifier: Apache-2.0
#include "elements/dvzones/heatpicture.h"

#include <algorithm>
#include <cmath>

namespace dvnn::gst {
namespace {

constexpr int kMostRows = 72, kMostColumns = 256;
constexpr int kSamples = 2;  // per cell of the grid and axis; the hottest one counts
constexpr zones::Time kPeriod = 1000 * zones::kMillisecond;

bool same(const motion::Affine& a, const motion::Affine& b) {
  return a.xx == b.xx && a.xy == b.xy && a.x0 == b.x0 && a.yx == b.yx && a.yy == b.yy &&
         a.y0 == b.y0;
}

}  // namespace

void HeatPicture::configure(const std::optional<zones::Ground>& ground, const image::Size& frame) {
  ground_ = ground;
  frame_ = frame;
  rows_ = static_cast<int>(std::clamp<int64_t>(frame.height, 1, kMostRows));
  columns_ = static_cast<int>(std::clamp<int64_t>(
      static_cast<int64_t>(std::lround(static_cast<double>(rows_) * frame.width /
                                       std::max<double>(1, frame.height))),
      1, kMostColumns));
  cells_.clear();
  grid_.reset();
}

// Finds the cells of the heat that the samples of the grid show.
void HeatPicture::find_cells(const zones::Heat& heat, const motion::Affine& camera) {
  camera_ = camera;
  const motion::Affine to_zones = camera.inverse();
  cells_.clear();
  for (int row = 0; row < rows_ * kSamples; ++row) {
    for (int column = 0; column < columns_ * kSamples; ++column) {
      double x = (column + 0.5) / (columns_ * kSamples) * frame_.width;
      double y = (row + 0.5) / (rows_ * kSamples) * frame_.height;
      to_zones.apply(&x, &y);
      Cell cell;
      cell.there = true;
      if (ground_) {
        const auto place = zones::on_ground(*ground_, frame_, x, y);
        cell.there = place.has_value();
        if (place) x = place->at.x, y = place->at.y;
      }
      if (cell.there) {
        cell.column = static_cast<int32_t>(std::floor(x / heat.cell()));
        cell.row = static_cast<int32_t>(std::floor(y / heat.cell()));
      }
      cells_.push_back(cell);
    }
  }
}

std::shared_ptr<const HeatGrid> HeatPicture::at(zones::Time time, const zones::Heat& heat,
                                                const motion::Affine& camera) {
  if (!heat.is_on()) return nullptr;
  const bool moved = cells_.empty() || !same(camera, camera_);
  const bool due = time < drawn_ || time - drawn_ >= kPeriod;
  if (grid_ && !moved && (!due || heat.changes() == changes_)) return grid_;
  if (moved) find_cells(heat, camera);
  drawn_ = time;
  changes_ = heat.changes();
  auto grid = std::make_shared<HeatGrid>();
  grid->place = {0, 0, static_cast<double>(frame_.width), static_cast<double>(frame_.height)};
  grid->columns = columns_;
  grid->rows = rows_;
  for (const std::string& name : heat.labels()) {
    HeatGrid::Label label;
    label.label = name;
    label.seconds.assign(static_cast<size_t>(columns_) * static_cast<size_t>(rows_), 0);
    size_t sample = 0;
    for (int row = 0; row < rows_ * kSamples; ++row) {
      for (int column = 0; column < columns_ * kSamples; ++column) {
        const Cell& cell = cells_[sample++];
        if (!cell.there) continue;
        float& most =
            label.seconds[static_cast<size_t>(row / kSamples * columns_ + column / kSamples)];
        most = std::max(most, static_cast<float>(heat.total(name, cell.column, cell.row)));
      }
    }
    grid->labels.push_back(std::move(label));
  }
  grid_ = std::move(grid);
  return grid_;
}

}  // namespace dvnn::gst
