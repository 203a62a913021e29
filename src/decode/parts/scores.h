// SPDX-License-Identifier: Apache-2.0
// Finds the cells of a head's outputs that contain an object, and its class and score.
#pragma once

#include <vector>

#include "decode/parts/activation.h"
#include "decode/parts/table.h"

namespace dvnn::decode {

/// The numbers of one meaning in a head: their table, and their columns in it.
struct Columns {
  int table = -1;       // -1: the head has none
  int first = 0;        // column of the first anchor's first number
  int anchor_step = 0;  // columns between anchors; 0: all anchors share them
  int step = 1;         // columns between numbers
  int count = 0;        // numbers per anchor
  bool there() const { return table >= 0; }
  size_t numbers() const { return static_cast<size_t>(count); }
  size_t value(int anchor, int k) const {
    return static_cast<size_t>(first + anchor * anchor_step + k * step);
  }
};

/// Copies the numbers of an anchor in a cell, columns.count of them.
void read_columns(const Table& table, const Columns& columns, size_t cell, int anchor, float* to);

/// A head: its cells, and the columns of each meaning.
struct Level {
  Columns scores, objectness, boxes, offsets, points, masks, angle, label;
  size_t cells = 0, first_cell = 0;  // first_cell: number of cells in earlier levels
  int width = 0, height = 1;
  int anchors = 1;
  float stride_x = 1, stride_y = 1;  // pixels between cells
};

/// How numbers become a score.
struct ScoreRule {
  Activation scores = Activation::kNone, objectness = Activation::kNone;
  // score = objectness ^ objectness_power * class ^ class_power.
  float objectness_power = 1, class_power = 1;
  int background = -1;       // the class that is not an object; -1: none
  bool every_class = false;  // a cell may have several classes, not only its best one
};

/// A cell with an object.
struct Hit {
  float score;
  uint32_t cell;
  uint16_t level, anchor;
  int class_id;
};

class ScoreFinder {
 public:
  ScoreFinder() = default;
  explicit ScoreFinder(const ScoreRule& rule) : rule_(rule), strip_(Table::kStripFloats) {}
  /// Appends the cells with a score of at least `threshold`.
  void find(Span<const Table> tables, const Level& level, size_t number, float threshold,
            std::vector<Hit>* hits);

 private:
  struct Place {
    size_t cell, level;
    int anchor;
  };
  bool largest_decides(const Columns& columns) const;
  void find_best(const Table& table, const Columns& columns, int anchor, int background,
                 size_t place, size_t count);
  void find_classes(const Table& table, const Level& level, size_t number, int anchor,
                    float threshold, std::vector<Hit>* hits);
  void find_objects(const Table& table, const Table& scores, const Level& level, size_t number,
                    int anchor, float threshold, std::vector<Hit>* hits);
  void judge(const Table& table, const Columns& columns, const Place& at, float objectness,
             float threshold, std::vector<Hit>* hits);
  void report(const Place& at, int class_id, float number, float objectness, float threshold,
              std::vector<Hit>* hits);

  static constexpr size_t kBlockCells = Table::kMaxStripCells;
  float best_[kBlockCells];     // largest number of each cell in the block
  int32_t which_[kBlockCells];  // its index, or kUnknown
  uint32_t at_[kBlockCells];    // the cells whose number is large enough
  ScoreRule rule_;
  std::vector<float> strip_, row_;
};

}  // namespace dvnn::decode
