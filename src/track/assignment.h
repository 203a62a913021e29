// SPDX-License-Identifier: Apache-2.0
// Solves assignments: of pairs with gains, it finds the set of pairs in which nobody is twice and
// whose gains sum up highest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dvnn::track {

/// Keeps its memory from one question to the next.
class Assignment {
 public:
  static constexpr int kNone = -1;

  /// Begins a question of so many rows and columns.
  void begin(size_t rows, size_t columns);
  /// A pair that may be. Gains of 0 and below, and those that are not numbers, are no pairs: what
  /// is beyond a gate is not offered.
  void offer(size_t row, size_t column, double gain);
  /// The optimum: each row's column, or kNone. Pairs that share nobody with other pairs are taken
  /// at once; each group that hangs together is solved by Jonker and Volgenant's shortest
  /// augmenting paths.
  const std::vector<int>& solve();

 private:
  struct Pair {
    int row, column;
    double gain;
    int next;  // pair of the same group
  };

  int root_of(int node);
  void solve_group(int first);
  void solve_dense(int rows, int columns);

  std::vector<Pair> pairs_;
  std::vector<int> columns_of_, parent_, first_, local_, rows_, members_;
  size_t row_count_ = 0;
  // The state of one group, whose rows are the fewer side.
  std::vector<double> cost_, row_price_, column_price_, distance_;
  std::vector<int> row_of_, way_;
  std::vector<uint8_t> done_;
};

}  // namespace dvnn::track
