// SPDX-License-Identifier: Apache-2.0
// Linear assignment: from pairs of a row and a column with a gain each, chooses those with the
// highest sum in which no row and no column occurs twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dvnn::track {

/// A problem is begin(), offer() for each pair, solve(). Memory is kept from one problem to the
/// next.
class Assignment {
 public:
  static constexpr int kNone = -1;

  /// Begins a problem with `rows` rows and `columns` columns.
  void begin(size_t rows, size_t columns);
  /// Adds a possible pair. A gain of 0 or less, or NaN, is ignored.
  void offer(size_t row, size_t column, double gain);
  /// Returns the optimum: each row's column, or kNone. A pair that shares its row and column with
  /// no other is taken at once; each larger connected group is solved by Jonker and Volgenant's
  /// shortest augmenting paths.
  const std::vector<int>& solve();

 private:
  struct Pair {
    int row, column;
    double gain;
    int next;  // the next pair of the same group, or kNone
  };

  int root_of(int node);
  void solve_group(int first);
  void solve_dense(int rows, int columns);

  std::vector<Pair> pairs_;
  std::vector<int> columns_of_, parent_, first_, local_, rows_, members_;
  size_t row_count_ = 0;
  // State while one group is solved; its rows are the smaller of the two sides.
  std::vector<double> cost_, row_price_, column_price_, distance_;
  std::vector<int> row_of_, way_;
  std::vector<uint8_t> done_;
};

}  // namespace dvnn::track
