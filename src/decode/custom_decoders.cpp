// SPDX-License-Identifier: Apache-2.0
#include "decode/custom_decoders.h"

#include <algorithm>

#include "base/environment.h"
#include "base/format.h"
#include "base/result.h"
#include "base/json.h"
#include "base/library.h"
#include "decode/custom_objects.h"
#include "dvnn_decoder.h"
#include "tensor/users_code.h"

namespace dvnn::decode {
namespace {

constexpr size_t kLongestName = 64;    // of a decoder's name
constexpr size_t kMaxFileBytes = 255;  // of a library's file name

objects::Kind kind_of(const dvnn_decoder_class& type) {
  switch (type.kind) {
    case DVNN_CLASSIFICATIONS:
      return objects::Kind::kClassification;
    case DVNN_SEGMENTATIONS:
      return objects::Kind::kSegmentation;
    case DVNN_ATTRIBUTES:
      return objects::Kind::kAttributes;
    default:
      return objects::Kind::kDetection;
  }
}

class LibraryDecoder final : public Decoder {
 public:
  LibraryDecoder(const dvnn_decoder_class* type, void* object, float nms_threshold,
                 Span<const NamedOutput> outputs)
      : class_(type),
        object_(object),
        collector_(kind_of(*type), type->flags & DVNN_DECODER_SUPPRESSES, nms_threshold),
        values_(outputs.size()),
        in_(outputs.size()) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      values_[i].resize(outputs[i].desc.shape.count());
    }
  }
  ~LibraryDecoder() override {
    (void)guarded("freeing it", [this]() -> Status {
      if (class_->destroy) class_->destroy(object_);
      return {};
    });
  }
  LibraryDecoder(const LibraryDecoder&) = delete;
  LibraryDecoder& operator=(const LibraryDecoder&) = delete;

  objects::Kind kind() const override { return kind_of(*class_); }

  Status decode(Span<const ConstTensorView> outputs, float threshold,
                objects::Objects* out) override {
    for (size_t i = 0; i < in_.size(); ++i) {
      read_nchw(outputs[i], values_[i].data());
      in_[i] = values_[i].data();
    }
    collector_.begin(threshold);
    UsersMessage message;
    const Status status = guarded("its code", [&]() -> Status {
      if (class_->decode(object_, in_.data(), threshold, &collector_, &message.target) == 0) {
        return {};
      }
      return unsupported(message.said());
    });
    if (!status.ok()) return named(status.error());
    if (const Status taken = collector_.finish(out); !taken.ok()) return named(taken.error());
    return {};
  }

 private:
  Error named(const Error& error) const {
    return error.within("decoder '" + std::string(class_->name) + "' of a library");
  }

  const dvnn_decoder_class* class_;
  void* object_;
  CustomObjects collector_;
  std::vector<std::vector<float>> values_;
  std::vector<const float*> in_;
};

// Returns the folders for libraries that network files may name.
std::vector<std::string> folders() {
  const char* list = environment("DVNN_DECODER_PATH");
  std::vector<std::string> found;
  for (std::string rest = list ? list : ""; !rest.empty();) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) found.push_back(rest.substr(0, colon));
    rest.erase(0, colon + 1);
  }
  found.emplace_back(DVNN_DECODER_DIR);
  return found;
}

}  // namespace

Status CustomDecoders::add(const dvnn_decoder_class* const* classes) {
  const std::vector<std::string> built_in = decoder_names();
  for (; *classes; ++classes) {
    const dvnn_decoder_class& c = **classes;
    if (c.size < sizeof(dvnn_decoder_class) || !c.name || !*c.name || !c.create || !c.decode ||
        c.kind > DVNN_ATTRIBUTES || (c.flags & ~DVNN_DECODER_SUPPRESSES)) {
      return malformed("a decoder is not described completely");
    }
    if (short_text(c.name, kLongestName) != c.name) {
      return malformed("decoder '" + short_text(c.name, kLongestName) +
                       "' has too long a name, or " + "one that cannot be printed");
    }
    if (std::count(built_in.begin(), built_in.end(), c.name) > 0 || classes_.count(c.name)) {
      return malformed(format("decoder '%s' exists already: choose another name", c.name));
    }
    classes_[c.name] = &c;
  }
  return {};
}

Result<std::shared_ptr<const CustomDecoders>> CustomDecoders::open(const std::string& path) {
  const std::string where = "decoder library '" + path + "'";
  return guarded(where, [&]() -> Result<std::shared_ptr<const CustomDecoders>> {
    DVNN_ASSIGN(const auto list, open_classes<dvnn_decoder_class>(
                                     where, path, "dvnn_decoder_classes_v1", "dvnn_decoder.h"));
    std::shared_ptr<CustomDecoders> library(new CustomDecoders);
    library->path_ = path;
    if (Status s = library->add(list); !s.ok()) return s.error().within(where);
    return std::shared_ptr<const CustomDecoders>(std::move(library));
  });
}

Result<std::shared_ptr<const CustomDecoders>> CustomDecoders::open_named(const std::string& name) {
  if (name.find('/') != std::string::npos || name.size() > kMaxFileBytes || name == "." ||
      name == "..") {
    return malformed("field 'library': '" + short_text(name, kLongestName) +
                     "' is no file's name: a network file names a library without its folder");
  }
  std::string searched;
  for (const std::string& folder : folders()) {
    auto opened = open(folder + "/" + name);
    if (opened.ok() || opened.error().code != ErrorCode::kNotFound) return opened;
    searched += (searched.empty() ? "" : ", ") + folder;
  }
  return Error{ErrorCode::kNotFound,
               "the network names decoder library '" + short_text(name, kLongestName) +
                   "', which is in none of these folders: " + searched +
                   " (see DVNN_DECODER_PATH, or give it by dvdecode's library or dvnet's "
                   "--decoder-library)"};
}

std::string CustomDecoders::names() const {
  return joined(classes_, ", ", [](const auto& one) { return one.first; });
}

Result<std::unique_ptr<Decoder>> CustomDecoders::create(const std::string& name, const Json& params,
                                                        Span<const NamedOutput> outputs) const {
  const auto it = classes_.find(name);
  if (it == classes_.end()) return std::unique_ptr<Decoder>();
  const dvnn_decoder_class* const found = it->second;
  JsonReader in(params, "the parameters");
  const double nms_threshold = in.number("nms_threshold", 0.45);
  DVNN_TRY(in.status());
  std::vector<dvnn_output> given;
  for (const NamedOutput& output : outputs) {
    if (output.desc.shape.rank > DVNN_LAYER_MAX_RANK || output.desc.shape.elements() <= 0) {
      return unsupported("output '" + output.name + "' is " + output.desc.shape.to_string());
    }
    given.push_back({output.name.c_str(), shape_for_users(output.desc)});
  }
  UsersMessage message;
  const std::string text = text_for_users(params);
  void* object = found->create(text.c_str(), given.data(), given.size(), &message.target);
  if (!object) return unsupported(message.said());
  return std::unique_ptr<Decoder>(
      new LibraryDecoder(found, object, static_cast<float>(nms_threshold), outputs));
}

}  // namespace dvnn::decode
