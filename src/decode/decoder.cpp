// SPDX-License-Identifier: Apache-2.0
#include "decode/decoder.h"

#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "base/result.h"
#include "decode/custom_decoders.h"
#include "decode/decoder_table.h"

namespace dvnn::decode {
namespace {

struct Entry {
  const char* name;
  DecoderResult (*create)(const Json&, Span<const NamedOutput>);
  ImageOwner image;
};

#define DVNN_ENTRY(name, create, image) {name, create, image},
constexpr Entry kDecoders[] = {DVNN_DECODERS(DVNN_ENTRY)};
#undef DVNN_ENTRY

// Wraps every decoder. Refuses outputs for which the decoder was not created, because a tensor's
// description may come from another element or an older network, and stops exceptions.
class CheckedDecoder final : public Decoder {
 public:
  CheckedDecoder(std::unique_ptr<Decoder> decoder, Span<const NamedOutput> outputs)
      : decoder_(std::move(decoder)), outputs_(outputs.begin(), outputs.end()) {}
  objects::Kind kind() const override { return decoder_->kind(); }
  int class_count() const override { return decoder_->class_count(); }

  Status decode(Span<const ConstTensorView> outputs, float threshold,
                objects::Objects* out) override {
    if (outputs.size() != outputs_.size()) {
      return invalid_argument(format("the decoder was made for %zu outputs and is given %zu",
                                     outputs_.size(), outputs.size()));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorDesc &made = outputs_[i].desc, &given = outputs[i].desc;
      if (made == given && outputs[i].data) continue;
      return invalid_argument(format("output %zu is %s %s %s%s, the decoder was made for %s %s %s",
                                     i, to_string(given.type), to_string(given.layout),
                                     given.shape.to_string().c_str(),
                                     outputs[i].data ? "" : " without memory", to_string(made.type),
                                     to_string(made.layout), made.shape.to_string().c_str()));
    }
    return guarded("decoding",
                   [&]() -> Status { return decoder_->decode(outputs, threshold, out); });
  }

 private:
  std::unique_ptr<Decoder> decoder_;
  std::vector<NamedOutput> outputs_;
};

// An error is one line, while names of outputs are as the network has them.
Error refused(const Error& why, const std::string& what) {
  return {why.code, printable(why.within(what).message)};
}

// Creates a decoder from a library. `known` lists our own decoders for the error.
DecoderResult create_custom(const std::string& name, const Json& params,
                            Span<const NamedOutput> outputs, const CustomDecoders* library,
                            const std::string& known) {
  constexpr size_t kLongName = 64;
  const std::string what = "decoder '" + short_text(name, kLongName) + "'";
  std::shared_ptr<const CustomDecoders> named;
  if (!library && params.is_object() && params.contains("library")) {
    JsonReader in(params, "the parameters");
    const std::string file = in.text("library");
    if (!in.ok()) return in.status().error().within(what);
    auto opened = CustomDecoders::open_named(file);
    if (!opened.ok()) return opened.error().within(what);
    named = std::move(opened.value());
    library = named.get();
  }
  if (library) {
    auto decoder = guarded("making it", [&] { return library->create(name, params, outputs); });
    if (!decoder.ok()) return refused(decoder.error(), what);
    if (decoder.value()) {
      return DecoderResult(std::make_unique<CheckedDecoder>(std::move(decoder.value()), outputs));
    }
  }
  return unsupported("unknown " + what + " (known: " + known +
                     (library ? "; in '" + library->path() + "': " + library->names() : "") + ")");
}

}  // namespace

DecoderResult create_decoder(const std::string& name, const Json& params,
                             Span<const NamedOutput> outputs, const CustomDecoders* library) {
  const auto thresholds = read_class_thresholds(params);
  if (!thresholds.ok())
    return refused(thresholds.error(), "decoder '" + short_text(name, 64) + "'");
  std::string known;
  for (const Entry& entry : kDecoders) {
    if (name == entry.name) {
      auto decoder = guarded("making it", [&] { return entry.create(params, outputs); });
      if (!decoder.ok()) return refused(decoder.error(), "decoder '" + name + "'");
      return DecoderResult(std::make_unique<CheckedDecoder>(std::move(decoder.value()), outputs));
    }
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  return create_custom(name, params, outputs, library, known);
}

Json* no_image(Json*) {
  return nullptr;
}

Json* own_image(Json* params) {
  return params;
}

static bool is_in_pixels(const Json& params, bool by_default) {
  const auto unit = params.find("unit");
  return unit == params.end() ? by_default : *unit == "pixels";
}

Json* image_of_pixels(Json* params) {
  return is_in_pixels(*params, true) ? params : nullptr;
}

Json* image_if_pixels(Json* params) {
  return is_in_pixels(*params, false) ? params : nullptr;
}

Json* image_of_rule(Json* params) {
  const auto anchors = params->find("anchors");
  if (anchors == params->end() || !anchors->is_object()) return nullptr;
  const auto rule = anchors->find("rule");
  return rule != anchors->end() && *rule == "min-boxes" ? &*anchors : nullptr;
}

void set_input_size(const std::string& name, const image::Size& input, Json* params) {
  if (!params->is_object()) return;
  ImageOwner find_owner = own_image;  // the default, for decoders of libraries
  for (const Entry& entry : kDecoders) {
    if (name == entry.name) find_owner = entry.image;
  }
  Json* const owner = find_owner(params);
  if (!owner || owner->contains("image")) return;
  (*owner)["image"] = {static_cast<int>(input.width), static_cast<int>(input.height)};
}

std::vector<std::string> decoder_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kDecoders) names.push_back(entry.name);
  return names;
}

namespace {

constexpr const char* kMember = "class_thresholds";

Error wrong(const std::string& problem) {
  return {ErrorCode::kMalformed, std::string("field '") + kMember + "': " + problem};
}

}  // namespace

float threshold_of(const ClassThresholds& thresholds, const std::string& label, float others) {
  const auto own = thresholds.find(label);
  return own == thresholds.end() ? others : own->second;
}

float least_threshold(const ClassThresholds& thresholds, float others) {
  for (const auto& [label, threshold] : thresholds) others = std::min(others, threshold);
  return others;
}

Result<ClassThresholds> read_class_thresholds(const Json& params) {
  ClassThresholds thresholds;
  const auto at = params.is_object() ? params.find(kMember) : params.end();
  if (at == params.end()) return thresholds;
  if (!at->is_object()) return wrong(shown(*at) + " is not an object of confidences by label");
  for (const auto& [label, value] : at->items()) {
    const double confidence = value.is_number() ? value.get<double>() : -1;
    if (!(confidence >= 0 && confidence <= 1)) {
      return wrong("'" + short_text(label, 80) + "' has " + shown(value) +
                   ", not a confidence of 0..1");
    }
    thresholds[label] = static_cast<float>(confidence);
  }
  return thresholds;
}

void set_class_thresholds(const std::map<std::string, double>& thresholds, Json* params) {
  (*params)[kMember] = thresholds;
}

}  // namespace dvnn::decode
