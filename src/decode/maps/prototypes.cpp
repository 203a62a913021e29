// SPDX-License-Identifier: Apache-2.0
#include "decode/parts/detector.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/format.h"
#include "base/grid.h"

namespace dvnn::decode {
namespace {

class PrototypeMasks final : public MaskMaker {
 public:
  PrototypeMasks(Table table, int width, int height)
      : table_(std::move(table)), width_(width), height_(height), row_(table_.values()) {}

  void bind(Span<const ConstTensorView> outputs) override { table_.bind(outputs); }

  // Computes only the prototypes' cells within the box.
  void make(const Box& box, const float* coefficients, objects::Mask* mask) override {
    auto clipped = [](float part, int size, bool up) {
      const float at = std::clamp(part, 0.0f, 1.0f) * static_cast<float>(size);
      return static_cast<int>(up ? std::ceil(at) : std::floor(at));
    };
    const int x0 = clipped(box.x0, width_, false), x1 = clipped(box.x1, width_, true);
    const int y0 = clipped(box.y0, height_, false), y1 = clipped(box.y1, height_, true);
    if (x1 <= x0 || y1 <= y0) return;
    mask->width = x1 - x0;
    mask->height = y1 - y0;
    mask->place = {static_cast<double>(x0) / width_, static_cast<double>(y0) / height_,
                   static_cast<double>(x1) / width_, static_cast<double>(y1) / height_};
    uint8_t* cells = mask->cells.resize(grid_size(mask->width, mask->height));
    size_t cell = 0;
    for (int y = y0; y < y1; ++y) {
      for (int x = x0; x < x1; ++x) {
        table_.read(grid_index(x, y, width_), 0, row_.size(), row_.data());
        float sum = 0;
        for (size_t k = 0; k < row_.size(); ++k) sum += coefficients[k] * row_[k];
        const float sure = sigmoid_of(sum);
        cells[cell++] = std::isnan(sure) ? 0 : static_cast<uint8_t>(std::lrint(sure * 255));
      }
    }
  }

 private:
  Table table_;
  int width_, height_;
  std::vector<float> row_;
};

}  // namespace

Result<std::unique_ptr<MaskMaker>> make_prototype_masks(Span<const NamedOutput> outputs,
                                                        const std::string& name, int count) {
  // Heads per stride have coefficients with as many channels; the prototypes are the finest map.
  std::optional<size_t> finest;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Shape& shape = outputs[i].desc.shape;
    if (!name.empty() && outputs[i].name != name) continue;
    if (shape.rank != 4 || shape.n() != 1 || shape.c() != count) continue;
    if (!finest || shape.pixels() > outputs[*finest].desc.shape.pixels()) finest = i;
  }
  if (finest) {
    const NamedOutput& output = outputs[*finest];
    const Shape& shape = output.desc.shape;
    DVNN_ASSIGN(Table table, Table::make(output, *finest, shape.pixels()));
    return std::unique_ptr<MaskMaker>(new PrototypeMasks(std::move(table), shape.w(), shape.h()));
  }
  return malformed(format("field 'prototypes': the network has no output%s%s of 1x%dxHxW",
                          name.empty() ? "" : " ", name.c_str(), count));
}

}  // namespace dvnn::decode
