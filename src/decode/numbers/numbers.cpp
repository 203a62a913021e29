// SPDX-License-Identifier: Apache-2.0
// Decoders of numbers that describe the whole picture (embeddings, ages and the like), and the
// decoder "none" that finds nothing.
#include <cmath>

#include "base/format.h"
#include "base/json.h"
#include "decode/decoder_table.h"
#include "decode/parts/activation.h"
#include "decode/parts/heads.h"
#include "kernels/arithmetic/softmax.h"

namespace dvnn::decode {
namespace {

objects::Object& add_whole(objects::Objects* out) {
  objects::Object& object = out->add();
  object.kind = objects::Kind::kAttributes;
  object.confidence = 1;
  object.box = {0, 0, 1, 1};
  return object;
}

class EmbeddingDecoder final : public Decoder {
 public:
  EmbeddingDecoder(size_t output, size_t count, bool normalise)
      : output_(output), count_(count), normalise_(normalise) {}
  objects::Kind kind() const override { return objects::Kind::kAttributes; }

  Status decode(Span<const ConstTensorView> outputs, float, objects::Objects* out) override {
    objects::Object& object = add_whole(out);
    object.embedding.resize(count_);
    read_nchw(outputs[output_], object.embedding.data());
    double squares = 0;
    for (float value : object.embedding) squares += double{value} * double{value};
    if (!std::isfinite(squares)) {
      out->pop_back();
      return {};
    }
    if (normalise_ && squares > 0) {
      const double length = std::sqrt(squares);
      for (float& value : object.embedding) value = static_cast<float>(double{value} / length);
    }
    return {};
  }

 private:
  size_t output_, count_;
  bool normalise_;
};

struct NumberRule {
  std::vector<std::string> names;
  float scale = 1, offset = 0;
  bool expectation = false;  // the numbers are a distribution, whose mean is the result
  bool softmax = false;
};

class NumberDecoder final : public Decoder {
 public:
  NumberDecoder(NumberRule rule, size_t output, size_t count)
      : rule_(std::move(rule)), output_(output), values_(count) {}
  objects::Kind kind() const override { return objects::Kind::kAttributes; }

  Status decode(Span<const ConstTensorView> outputs, float, objects::Objects* out) override {
    read_nchw(outputs[output_], values_.data());
    if (rule_.softmax) kernels::softmax(values_.data(), 1, values_.size(), 1);
    objects::Object& object = add_whole(out);
    for (size_t i = 0; i < rule_.names.size(); ++i) {
      const double value =
          double{(rule_.expectation ? mean() : values_[i]) * rule_.scale} + double{rule_.offset};
      if (std::isfinite(value)) object.numbers.push_back({rule_.names[i], value});
    }
    if (object.numbers.empty()) out->pop_back();
    return {};
  }

 private:
  float mean() const {
    float sum = 0;
    for (size_t i = 0; i < values_.size(); ++i) sum += static_cast<float>(i) * values_[i];
    return sum;
  }
  NumberRule rule_;
  size_t output_;
  std::vector<float> values_;
};

class NoDecoder final : public Decoder {
 public:
  objects::Kind kind() const override { return objects::Kind::kAttributes; }
  Status decode(Span<const ConstTensorView>, float, objects::Objects*) override { return {}; }
};

constexpr int64_t kManyNumbers = 1 << 16;

Result<size_t> output_of_numbers(JsonReader* in, Span<const NamedOutput> outputs) {
  const std::string name = in->text("output", "");
  DVNN_TRY(in->status());
  DVNN_ASSIGN(const size_t index, find_output_or_first(outputs, name));
  const int64_t count = outputs[index].desc.shape.elements();
  if (count > 0 && count <= kManyNumbers) return index;
  return too_large(format("output '%s' has %lld numbers, at the most %lld can be told",
                          outputs[index].name.c_str(), static_cast<long long>(count),
                          static_cast<long long>(kManyNumbers)));
}

}  // namespace

DecoderResult create_embedding_decoder(const Json& params, Span<const NamedOutput> outputs) {
  JsonReader in(params, "the parameters");
  const bool normalise = in.boolean("normalize", true);
  DVNN_ASSIGN(const size_t index, output_of_numbers(&in, outputs));
  const size_t count = outputs[index].desc.shape.count();
  return std::unique_ptr<Decoder>(new EmbeddingDecoder(index, count, normalise));
}

DecoderResult create_number_decoder(const Json& params, Span<const NamedOutput> outputs) {
  JsonReader in(params, "the parameters");
  NumberRule rule;
  rule.names = read_texts(&in, "names");
  rule.scale = static_cast<float>(in.number("scale", 1));
  rule.offset = static_cast<float>(in.number("offset", 0));
  rule.expectation = in.boolean("expectation", false);
  rule.softmax = read_activation(&in, "score", "none") == Activation::kSoftmax;
  if (rule.names.empty()) in.fail("names", "required but missing: what the numbers are called");
  DVNN_ASSIGN(const size_t index, output_of_numbers(&in, outputs));
  const size_t count = outputs[index].desc.shape.count();
  const size_t wanted = rule.expectation ? 1 : count;
  if (rule.names.size() != wanted) {
    return malformed(format("field 'names': output '%s' gives %zu numbers, and there are %zu names",
                            outputs[index].name.c_str(), wanted, rule.names.size()));
  }
  return std::unique_ptr<Decoder>(new NumberDecoder(std::move(rule), index, count));
}

DecoderResult create_no_decoder(const Json&, Span<const NamedOutput>) {
  return std::unique_ptr<Decoder>(new NoDecoder);
}

}  // namespace dvnn::decode
