// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/format.h"
#include "base/json.h"
#include "decode/box.h"
#include "decode/decoder_table.h"
#include "kernels/boxes/ssd.h"

namespace dvnn::decode {
namespace {

constexpr float kMaxClasses = 65536;  // most labels in a file
constexpr int kRowLength = kernels::kDetectionRowLength;

class DetectionOutputDecoder final : public Decoder {
 public:
  explicit DetectionOutputDecoder(size_t elements) : rows_(elements) {}
  objects::Kind kind() const override { return objects::Kind::kDetection; }

  Status decode(Span<const ConstTensorView> outputs, float threshold,
                objects::Objects* out) override {
    read_nchw(outputs[0], rows_.data());
    const size_t first = out->size();
    for (size_t i = 0; i + kRowLength <= rows_.size(); i += kRowLength) {
      const float* row = &rows_[i];
      // Written so that NaN drops the row.
      if (!(row[0] >= 0 && row[2] >= threshold && row[1] >= 0 && row[1] < kMaxClasses)) continue;
      const Box box = {row[3], row[4], row[5], row[6]};
      if (!std::isfinite(row[2]) || !is_finite(box)) continue;
      objects::Object& object = out->add();
      object.class_id = static_cast<int>(row[1]);
      object.confidence = row[2];
      object.box = to_corners(box);
    }
    out->sort_from(first);
    return {};
  }

 private:
  std::vector<float> rows_;
};

}  // namespace

DecoderResult create_detection_output_decoder(const Json&, Span<const NamedOutput> outputs) {
  if (outputs.size() != 1 || outputs[0].desc.shape.rank != 4 ||
      outputs[0].desc.shape[3] != kRowLength) {
    return malformed(format("needs one output of shape 1x1xNx%d, the network has %zu (first: %s)",
                            kRowLength, outputs.size(),
                            outputs.empty() ? "none" : outputs[0].desc.shape.to_string().c_str()));
  }
  return std::unique_ptr<Decoder>(new DetectionOutputDecoder(outputs[0].desc.shape.count()));
}

}  // namespace dvnn::decode
