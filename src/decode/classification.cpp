// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/format.h"
#include "base/json.h"
#include "decode/decoder_table.h"
#include "kernels/softmax.h"

namespace dvnn::decode {
namespace {

// NaN is worse than all: sorting needs an order in which every value has a place.
float rank_of(float logit) {
  return std::isnan(logit) ? -std::numeric_limits<float>::infinity() : logit;
}

class ClassificationDecoder final : public Decoder {
 public:
  ClassificationDecoder(size_t classes, bool softmax, size_t top_k)
      : softmax_(softmax), logits_(classes), scores_(classes), order_(classes), top_k_(top_k) {}
  objects::Kind kind() const override { return objects::Kind::kClassification; }

  Status decode(Span<const ConstTensorView> outputs, float threshold,
                objects::Objects* out) override {
    read_nchw(outputs[0], logits_.data());
    scores_ = logits_;
    if (softmax_) kernels::softmax(scores_.data(), 1, scores_.size(), 1);
    std::iota(order_.begin(), order_.end(), 0);
    std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(top_k_),
                      order_.end(), [this](int a, int b) {
                        const float sa = rank_of(logits_[static_cast<size_t>(a)]);
                        const float sb = rank_of(logits_[static_cast<size_t>(b)]);
                        return sa > sb || (sa == sb && a < b);
                      });
    for (size_t k = 0; k < top_k_; ++k) {
      const size_t i = static_cast<size_t>(order_[k]);
      if (!(scores_[i] >= threshold)) continue;
      objects::Object object;
      object.kind = objects::Kind::kClassification;
      object.class_id = static_cast<int>(i);
      object.confidence = scores_[i];
      object.raw_score = logits_[i];
      object.box = {0, 0, 1, 1};  // all that the network was shown
      out->push_back(std::move(object));
    }
    return {};
  }

 private:
  bool softmax_;
  std::vector<float> logits_, scores_;
  std::vector<int> order_;
  size_t top_k_;
};

}  // namespace

DecoderResult create_classification_decoder(const nlohmann::json& params,
                                            Span<const NamedOutput> outputs) {
  constexpr int64_t kMaxClasses = 1 << 20;
  JsonReader in(params, "the parameters");
  const bool softmax = in.boolean("softmax", false);
  const int64_t top_k = in.integer("top_k", 1, kMaxClasses, 5);
  DVNN_TRY(in.status());
  if (outputs.size() != 1 || outputs[0].desc.shape.elements() > kMaxClasses) {
    return Error{ErrorCode::kMalformed,
                 format("needs one output with at most %lld scores, the network has %zu outputs",
                        static_cast<long long>(kMaxClasses), outputs.size())};
  }
  const int64_t classes = outputs[0].desc.shape.elements();
  return std::unique_ptr<Decoder>(new ClassificationDecoder(
      static_cast<size_t>(classes), softmax, static_cast<size_t>(std::min(top_k, classes))));
}

}  // namespace dvnn::decode
