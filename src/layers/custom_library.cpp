// SPDX-License-Identifier: Apache-2.0
#include "layers/custom_library.h"

#include <algorithm>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "dvnn_layer.h"
#include "layers/loops/floats.h"
#include "tensor/users_code.h"

namespace dvnn::layers {
namespace {

class LibraryLayer final : public CpuLayer {
 public:
  LibraryLayer(const dvnn_layer_class* type, void* object, Span<const TensorDesc> inputs,
               Span<const TensorDesc> outputs)
      : class_(type), object_(object), in_(inputs.size()), out_(outputs.size()) {
    for (const TensorDesc& desc : inputs) readers_.emplace_back(desc);
    for (const TensorDesc& desc : outputs) writers_.emplace_back(desc);
  }
  ~LibraryLayer() override {
    if (class_->destroy) class_->destroy(object_);
  }

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    for (size_t i = 0; i < in_.size(); ++i) in_[i] = readers_[i].read(inputs[i]);
    for (size_t i = 0; i < out_.size(); ++i) out_[i] = writers_[i].begin(outputs[i]);
    UsersMessage message;
    if (class_->run(object_, in_.data(), out_.data(), &message.target) != 0) {
      return unsupported(class_->type + (": " + message.said()));
    }
    for (size_t i = 0; i < out_.size(); ++i) writers_[i].finish(outputs[i]);
    return {};
  }

 private:
  const dvnn_layer_class* class_;
  void* object_;
  std::vector<FloatReader> readers_;
  std::vector<FloatWriter> writers_;
  std::vector<const float*> in_;
  std::vector<float*> out_;
};

}  // namespace

Status CustomLibrary::add(const dvnn_layer_class* const* classes) {
  const std::vector<std::string> built_in = cpu_layer_names();
  for (; *classes; ++classes) {
    const dvnn_layer_class& c = **classes;
    if (c.size < sizeof(dvnn_layer_class) || !c.type || !c.create || !c.run) {
      return malformed("a layer type is not described completely");
    }
    if (std::count(built_in.begin(), built_in.end(), c.type) > 0 || classes_.count(c.type)) {
      return malformed(format("layer type '%s' exists already: choose another name", c.type));
    }
    classes_[c.type] = &c;
  }
  return {};
}

Result<std::shared_ptr<const CustomLibrary>> CustomLibrary::open(const std::string& path) {
  const std::string where = "layer library '" + path + "'";
  DVNN_ASSIGN(const auto list,
              open_classes<dvnn_layer_class>(where, path, "dvnn_layer_classes_v1", "dvnn_layer.h"));
  std::shared_ptr<CustomLibrary> library(new CustomLibrary);
  if (Status s = library->add(list); !s.ok()) return s.error().within(where);
  return std::shared_ptr<const CustomLibrary>(std::move(library));
}

Result<std::unique_ptr<CpuLayer>> CustomLibrary::create(const std::string& type, const Json& params,
                                                        Span<const TensorDesc> inputs,
                                                        Span<const TensorDesc> outputs) const {
  const auto it = classes_.find(type);
  if (it == classes_.end()) return std::unique_ptr<CpuLayer>();
  const dvnn_layer_class* const found = it->second;
  std::vector<dvnn_shape> in, out;
  for (const TensorDesc& desc : inputs) in.push_back(shape_for_users(desc));
  for (const TensorDesc& desc : outputs) out.push_back(shape_for_users(desc));
  UsersMessage message;
  const std::string text = text_for_users(params);
  void* object =
      found->create(text.c_str(), in.data(), in.size(), out.data(), out.size(), &message.target);
  if (!object) return unsupported(message.said());
  return std::unique_ptr<CpuLayer>(new LibraryLayer(found, object, inputs, outputs));
}

}  // namespace dvnn::layers
