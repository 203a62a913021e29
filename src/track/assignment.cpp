// SPDX-License-Identifier: Apache-2.0
#include "track/assignment.h"
#include "base/grid.h"
#include "base/nth.h"

#include <limits>

namespace dvnn::track {

void Assignment::begin(size_t rows, size_t columns) {
  row_count_ = rows;
  pairs_.clear();
  columns_of_.assign(rows, kNone);
  parent_.resize(rows + columns);
  for (size_t i = 0; i < parent_.size(); ++i) parent_[i] = static_cast<int>(i);
  first_.assign(rows + columns, kNone);
  local_.assign(rows + columns, kNone);
}

int Assignment::root_of(int node) {
  while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
  return node;
}

void Assignment::offer(size_t row, size_t column, double gain) {
  if (!(gain > 0)) return;
  const int from = static_cast<int>(row), to = static_cast<int>(row_count_ + column);
  pairs_.push_back({from, to, gain, kNone});
  parent_[root_of(from)] = root_of(to);
}

const std::vector<int>& Assignment::solve() {
  for (size_t i = pairs_.size(); i-- > 0;) {
    int& first = first_[root_of(pairs_[i].row)];
    pairs_[i].next = first;
    first = static_cast<int>(i);
  }
  for (int first : first_) {
    if (first == kNone) continue;
    const Pair& pair = pairs_[first];
    if (pair.next == kNone) {
      columns_of_[pair.row] = pair.column - static_cast<int>(row_count_);
    } else {
      solve_group(first);
    }
  }
  return columns_of_;
}

// Solves one connected group as a dense matrix. Pairs that were not offered cost 0 there and are
// dropped from the result, so a row may stay unassigned.
void Assignment::solve_group(int first) {
  rows_.clear();
  members_.clear();
  for (int i = first; i != kNone; i = pairs_[i].next) {
    const Pair& pair = pairs_[i];
    if (local_[pair.row] == kNone) {
      local_[pair.row] = static_cast<int>(rows_.size());
      rows_.push_back(pair.row);
    }
    if (local_[pair.column] == kNone) {
      local_[pair.column] = static_cast<int>(members_.size());
      members_.push_back(pair.column);
    }
  }
  const bool turned = rows_.size() > members_.size();
  if (turned) rows_.swap(members_);
  const int rows = static_cast<int>(rows_.size()), columns = static_cast<int>(members_.size());
  cost_.assign(rows_.size() * members_.size(), 0);
  for (int i = first; i != kNone; i = pairs_[i].next) {
    const Pair& pair = pairs_[i];
    const int row = local_[turned ? pair.column : pair.row];
    const int column = local_[turned ? pair.row : pair.column];
    double& cost = cost_[grid_index(column, row, columns)];
    if (-pair.gain < cost) cost = -pair.gain;
  }
  solve_dense(rows, columns);
  for (int column = 0; column < columns; ++column) {
    const int row = row_of_[column];
    if (row == kNone || nth(cost_, row * columns + column) >= 0) continue;
    const int a = rows_[row], b = members_[column];
    columns_of_[turned ? b : a] = (turned ? a : b) - static_cast<int>(row_count_);
  }
}

// Adds one row after the other along its shortest augmenting path. The prices keep all reduced
// costs at 0 or above, so Dijkstra's algorithm finds the path.
void Assignment::solve_dense(int rows, int columns) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  row_price_.assign(rows, 0);
  column_price_.assign(columns, 0);
  row_of_.assign(columns, kNone);
  way_.resize(columns);
  for (int start = 0; start < rows; ++start) {
    distance_.assign(columns, kInfinity);
    done_.assign(columns, 0);
    int row = start, last = kNone;
    double reached = 0;
    while (true) {
      const double* cost = &cost_[grid_index(0, row, columns)];
      int nearest = kNone;
      for (int column = 0; column < columns; ++column) {
        if (done_[column]) continue;
        const double length = reached + cost[column] - row_price_[row] - column_price_[column];
        if (length < distance_[column]) {
          distance_[column] = length;
          way_[column] = last;
        }
        if (nearest == kNone || distance_[column] < distance_[nearest]) nearest = column;
      }
      reached = distance_[nearest];
      done_[nearest] = 1;
      last = nearest;
      if (row_of_[nearest] == kNone) break;
      row = row_of_[nearest];
    }
    row_price_[start] += reached;
    for (int column = 0; column < columns; ++column) {
      if (!done_[column] || column == last) continue;
      row_price_[row_of_[column]] += reached - distance_[column];
      column_price_[column] -= reached - distance_[column];
    }
    for (int column = last; column != kNone;) {
      const int before = way_[column];
      row_of_[column] = before == kNone ? start : row_of_[before];
      column = before;
    }
  }
}

}  // namespace dvnn::track
