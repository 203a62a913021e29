// SPDX-License-Identifier: Apache-2.0
// Text from a sequence of scores per character (CTC): number plates, PaddleOCR's recognition.
// Source: Graves et al., "Connectionist Temporal Classification" (2006), best path.
#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "decode/decoder_table.h"
#include "decode/parts/heads.h"
#include "kernels/arithmetic/reductions.h"
#include "kernels/arithmetic/softmax.h"

namespace dvnn::decode {
namespace {

class CtcDecoder final : public Decoder {
 public:
  CtcDecoder(std::vector<std::string> characters, size_t blank, bool softmax, Table table)
      : characters_(std::move(characters)),
        blank_(blank),
        softmax_(softmax),
        table_(std::move(table)),
        row_(table_.values()) {
    for (const std::string& one : characters_) lengths_.push_back(characters_of(one).size());
  }
  objects::Kind kind() const override { return objects::Kind::kAttributes; }

  // The confidence is the mean of the characters' confidences.
  Status decode(Span<const ConstTensorView> outputs, float threshold,
                objects::Objects* out) override {
    table_.bind(outputs);
    objects::Object& object = out->add();
    size_t before = blank_, count = 0;
    float sum = 0;
    for (size_t step = 0; step < table_.cells(); ++step) {
      table_.read(step, 0, row_.size(), row_.data());
      const size_t best = kernels::first_largest(row_.data(), row_.size());
      if (best != blank_ && best != before) {
        if (softmax_) kernels::softmax(row_.data(), 1, row_.size(), 1);
        sum += row_[best];
        ++count;
        object.text += characters_[best];
        // A class may stand for several characters, or for none.
        object.text_confidences.insert(object.text_confidences.end(), lengths_[best], row_[best]);
      }
      before = best;
    }
    object.kind = objects::Kind::kAttributes;
    object.confidence = count > 0 ? sum / static_cast<float>(count) : 0;
    object.box = {0, 0, 1, 1};
    if (count == 0 || !(object.confidence >= threshold)) out->pop_back();
    return {};
  }

 private:
  std::vector<std::string> characters_;  // by class; the blank's is empty
  std::vector<size_t> lengths_;          // in characters
  size_t blank_;
  bool softmax_;
  Table table_;
  std::vector<float> row_;
};

// Reads "alphabet": a string whose characters are the classes, or a list of strings.
std::vector<std::string> read_alphabet(JsonReader* in) {
  constexpr size_t kMaxClasses = 65536;
  const Json* value = in->member("alphabet");
  std::vector<std::string> characters;
  if (value && value->is_string()) {
    characters = characters_of(value->get<std::string>());
  } else if (value && value->is_array() && value->size() <= kMaxClasses) {
    for (const Json& item : *value) {
      characters.push_back(item.is_string() ? item.get<std::string>() : "");
    }
  }
  if (characters.empty()) in->fail("alphabet", "must be a text, or a list of texts");
  return characters;
}

}  // namespace

DecoderResult create_ctc_decoder(const Json& params, Span<const NamedOutput> outputs) {
  constexpr int64_t kMaxClasses = 65536;
  JsonReader in(params, "the parameters");
  std::vector<std::string> characters = read_alphabet(&in);
  const int64_t classes = static_cast<int64_t>(characters.size()) + 1;
  const int64_t blank = in.integer("blank", -1, kMaxClasses, 0);
  const bool softmax = read_activation(&in, "score", "none") == Activation::kSoftmax;
  if (blank >= classes) in.fail("blank", "is the index of no class; -1: the last one");
  DVNN_TRY(in.status());
  if (outputs.size() != 1) {
    return malformed(format("needs one output, the network has %zu", outputs.size()));
  }
  const auto blank_at = static_cast<size_t>(blank < 0 ? classes - 1 : blank);
  characters.insert(characters.begin() + static_cast<std::ptrdiff_t>(blank_at), "");
  const Shape& shape = outputs[0].desc.shape;
  const int64_t elements = shape.elements();
  bool fits = elements > 0 && elements % classes == 0;
  fits = fits && std::find(shape.dims, shape.dims + shape.rank, classes) != shape.dims + shape.rank;
  if (!fits) {
    return malformed(format(
        "field 'alphabet': with the blank it has %lld classes, output '%s' is %s",
        static_cast<long long>(classes), outputs[0].name.c_str(), shape.to_string().c_str()));
  }
  DVNN_ASSIGN(Table table, Table::make(outputs[0], 0, static_cast<size_t>(elements / classes)));
  return std::unique_ptr<Decoder>(
      new CtcDecoder(std::move(characters), blank_at, softmax, std::move(table)));
}

}  // namespace dvnn::decode
