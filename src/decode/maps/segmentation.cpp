// SPDX-License-Identifier: Apache-2.0
// Decodes the class of each part of the picture.
#include <algorithm>

#include "base/format.h"
#include "base/grid.h"
#include "base/json.h"
#include "decode/decoder_table.h"
#include "decode/parts/heads.h"

namespace dvnn::decode {
namespace {

class SegmentationDecoder final : public Decoder {
 public:
  // `channel` is compared with `bound`; -1: the channels are compared with each other.
  SegmentationDecoder(Table table, int width, int height, int channel, float bound, bool indices)
      : table_(std::move(table)),
        channel_(channel),
        width_(width),
        height_(height),
        bound_(bound),
        indices_(indices),
        strip_(Table::kStripFloats) {}
  objects::Kind kind() const override { return objects::Kind::kSegmentation; }

  int class_count() const override {
    if (channel_ >= 0) return indices_ ? 0 : 2;
    return static_cast<int>(table_.values());
  }

  // A map covers the whole picture, so the threshold does not apply.
  Status decode(Span<const ConstTensorView> outputs, float, objects::Objects* out) override {
    table_.bind(outputs);
    objects::Object& object = out->add();
    object.kind = objects::Kind::kSegmentation;
    object.confidence = 1;
    object.box = {0, 0, 1, 1};
    object.mask.place = {0, 0, 1, 1};
    object.mask.width = width_;
    object.mask.height = height_;
    uint8_t* cells = object.mask.cells.resize(table_.cells());
    const size_t block = table_.strip_cells();
    for (size_t place = 0; place < table_.cells(); place += block) {
      const size_t count = std::min(block, table_.cells() - place);
      uint8_t classes[kMaxCells];
      if (channel_ >= 0) {
        judge(place, count, classes);
      } else {
        choose(place, count, classes);
      }
      for (size_t i = 0; i < count; ++i) {
        cells[table_.cell_of(place + i)] = classes[i];
      }
    }
    return {};
  }

 private:
  static constexpr size_t kMaxCells = 128;

  // Reads one number per cell: the value of class 1, or the class itself.
  void judge(size_t place, size_t count, uint8_t* classes) {
    const Table::Strip strip =
        table_.strip(static_cast<size_t>(channel_), 1, place, count, strip_.data());
    for (size_t i = 0; i < count; ++i) {
      const float value = strip.values[i * strip.stride];
      const bool in_range = value >= 0 && value <= 255;
      classes[i] = indices_ ? static_cast<uint8_t>(in_range ? value : 0.0f)
                            : static_cast<uint8_t>(value >= bound_ ? 1 : 0);
    }
  }

  // Chooses the class with the largest number; of equal ones, the first. NaN is never the largest.
  void choose(size_t place, size_t count, uint8_t* classes) {
    float best[kMaxCells];
    std::fill(best, best + count, -std::numeric_limits<float>::infinity());
    std::fill(classes, classes + count, uint8_t{0});
    for (size_t value = 0; value < table_.values();) {
      const size_t length = table_.run_of(value);
      const Table::Strip strip = table_.strip(value, length, place, count, strip_.data());
      for (size_t k = 0; k < length; ++k) {
        const auto own = static_cast<uint8_t>(value + k);
        for (size_t i = 0; i < count; ++i) {
          const float number = strip.values[i * strip.stride + k];
          const bool better = number > best[i];
          best[i] = better ? number : best[i];
          classes[i] = better ? own : classes[i];
        }
      }
      value += length;
    }
  }

  Table table_;
  int channel_, width_, height_;
  float bound_;
  bool indices_;
  std::vector<float> strip_;
};

}  // namespace

DecoderResult create_segmentation_decoder(const Json& params, Span<const NamedOutput> outputs) {
  constexpr int kMaxClasses = 256;
  JsonReader in(params, "the parameters");
  const std::string name = in.text("output", "");
  const std::string channels = in.text("channels", "");
  const Activation score = read_activation(&in, "score", "none");
  const auto threshold = static_cast<float>(in.number("threshold", 0.5));
  const bool indices = in.boolean("indices", false);
  auto channel = static_cast<int>(in.integer("channel", -1, kMaxClasses - 1, -1));
  if (!channels.empty() && channels != "first" && channels != "last") {
    in.fail("channels", "must be first or last");
  }
  DVNN_TRY(in.status());
  DVNN_ASSIGN(const size_t index, find_output_or_first(outputs, name));
  const Shape& shape = outputs[index].desc.shape;
  std::vector<int> dims(shape.dims, shape.dims + shape.rank);
  if (dims.size() == 4) dims.erase(dims.begin());
  if (dims.size() == 2) dims.insert(dims.begin(), 1);
  if (dims.size() != 3 || shape.elements() <= 0 || (shape.rank == 4 && shape.n() != 1)) {
    return malformed("output '" + outputs[index].name + "' of " + shape.to_string() +
                     " is no map: 1xCxHxW or 1xHxWxC");
  }
  const bool last = channels.empty() ? dims[2] < dims[0] : channels == "last";
  const int height = last ? dims[0] : dims[1], width = last ? dims[1] : dims[2];
  DVNN_ASSIGN(Table table, Table::make(outputs[index], index, grid_size(width, height)));
  if (channel >= static_cast<int>(table.values())) {
    return malformed(format("field 'channel': output '%s' has %zu, and no %d",
                            outputs[index].name.c_str(), table.values(), channel));
  }
  if (table.values() == 1) channel = 0;
  if (table.values() > size_t{kMaxClasses}) {
    return too_large(format("output '%s' has %zu classes, at the most %d can be told",
                            outputs[index].name.c_str(), table.values(), kMaxClasses));
  }
  // A single number is compared without its sigmoid, which is monotonic.
  constexpr float kEven = 0.5f;
  const bool logits = score == Activation::kSigmoid;
  const float bound = !logits              ? threshold
                      : threshold == kEven ? 0
                                           : std::log(threshold / (1 - threshold));
  return std::unique_ptr<Decoder>(
      new SegmentationDecoder(std::move(table), width, height, channel, bound, indices));
}

}  // namespace dvnn::decode
