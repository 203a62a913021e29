// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "decode/decoder_table.h"
#include "decode/parts/activation.h"
#include "kernels/arithmetic/elementwise.h"
#include "kernels/arithmetic/softmax.h"

namespace dvnn::decode {
namespace {

// Ranks NaN below all numbers, because sorting needs a total order.
float rank_of(float logit) {
  return std::isnan(logit) ? -std::numeric_limits<float>::infinity() : logit;
}

void add_class(size_t class_id, float score, float logit, objects::Objects* out) {
  objects::Object& object = out->add();
  object.kind = objects::Kind::kClassification;
  object.class_id = static_cast<int>(class_id);
  object.confidence = score;
  object.raw_score = logit;
  object.box = {0, 0, 1, 1};  // the whole input
}

struct ClassRule {
  Activation score = Activation::kNone;
  size_t top_k = 5;
  bool every_class = false;  // report all classes above the threshold, not only the best ones
};

// Several outputs are separate heads: the best class of each is reported, and classes are numbered
// continuously over the heads.
class ClassificationDecoder final : public Decoder {
 public:
  ClassificationDecoder(const ClassRule& rule, const std::vector<size_t>& heads)
      : rule_(rule), heads_(heads) {
    const size_t most = *std::max_element(heads.begin(), heads.end());
    logits_.resize(most);
    scores_.resize(most);
    order_.resize(most);
  }
  objects::Kind kind() const override { return objects::Kind::kClassification; }

  Status decode(Span<const ConstTensorView> outputs, float threshold,
                objects::Objects* out) override {
    const size_t before = out->size();
    size_t first = 0;
    for (size_t i = 0; i < heads_.size(); ++i) {
      const size_t count = rule_.every_class   ? heads_[i]
                           : heads_.size() > 1 ? 1
                                               : std::min(rule_.top_k, heads_[i]);
      rank(outputs[i], heads_[i], count);
      for (size_t k = 0; k < count; ++k) {
        const size_t c = static_cast<size_t>(order_[k]);
        if (!(scores_[c] >= threshold)) continue;
        add_class(first + c, scores_[c], logits_[c], out);
      }
      first += heads_[i];
    }
    if (heads_.size() > 1) {
      out->sort_from(before);
    }
    return {};
  }

 private:
  // Moves the indices of a head's `count` best classes to the front.
  void rank(const ConstTensorView& output, size_t classes, size_t count) {
    read_nchw(output, logits_.data());
    std::copy(logits_.begin(), logits_.begin() + static_cast<std::ptrdiff_t>(classes),
              scores_.begin());
    if (rule_.score == Activation::kSoftmax) kernels::softmax(scores_.data(), 1, classes, 1);
    if (rule_.score == Activation::kSigmoid) {
      kernels::sigmoid(scores_.data(), scores_.data(), classes);
    }
    const auto end = order_.begin() + static_cast<std::ptrdiff_t>(classes);
    std::iota(order_.begin(), end, 0);
    std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count), end,
                      [this](int a, int b) {
                        const float sa = rank_of(nth(logits_, a));
                        const float sb = rank_of(nth(logits_, b));
                        return sa > sb || (sa == sb && a < b);
                      });
  }

  ClassRule rule_;
  std::vector<size_t> heads_;
  std::vector<float> logits_, scores_;
  std::vector<int> order_;
};

}  // namespace

DecoderResult create_classification_decoder(const Json& params, Span<const NamedOutput> outputs) {
  constexpr int64_t kMaxClasses = 1 << 20;
  JsonReader in(params, "the parameters");
  ClassRule rule;
  rule.score = read_activation(&in, "score", in.boolean("softmax", false) ? "softmax" : "none");
  rule.top_k = static_cast<size_t>(in.integer("top_k", 1, kMaxClasses, 5));
  rule.every_class = in.boolean("multi_label", false);
  const bool heads = in.boolean("heads", false);
  DVNN_TRY(in.status());
  std::vector<size_t> counts;
  for (const NamedOutput& output : outputs) {
    const int64_t classes = output.desc.shape.elements();
    if (classes > 0 && classes <= kMaxClasses) counts.push_back(output.desc.shape.count());
  }
  if (outputs.empty() || counts.size() != outputs.size() || (!heads && outputs.size() != 1)) {
    return malformed(
        format("needs one output with at most %lld scores, or 'heads' and several; the network has "
               "%zu outputs",
               static_cast<long long>(kMaxClasses), outputs.size()));
  }
  if (rule.score == Activation::kSoftmax && std::count(counts.begin(), counts.end(), 1) > 0) {
    return malformed("'score' is softmax, which is 1 for an output of one number: sigmoid or none");
  }
  return std::unique_ptr<Decoder>(new ClassificationDecoder(rule, counts));
}

}  // namespace dvnn::decode
