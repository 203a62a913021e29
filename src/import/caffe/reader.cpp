// SPDX-License-Identifier: Apache-2.0
#include "import/caffe/reader.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include "base/file.h"
#include "base/format.h"
#include "import/model_file.h"

namespace dvnn::import {
namespace {

constexpr uint64_t kMaxTextBytes = uint64_t{16} << 20;
constexpr size_t kMaxWarnings = 5;

class Collector final : public google::protobuf::io::ErrorCollector {
 public:
  explicit Collector(std::vector<std::string>* warnings) : warnings_(warnings) {}
  void AddError(int line, int column, const std::string& message) override {
    if (error_.empty()) error_ = format("line %d, column %d: ", line + 1, column + 1) + message;
  }
  void AddWarning(int line, int, const std::string& message) override {
    if (warnings_ && warnings_->size() < kMaxWarnings) {
      warnings_->push_back(format("line %d: ", line + 1) + message);
    }
  }
  const std::string& error() const { return error_; }

 private:
  std::vector<std::string>* warnings_;
  std::string error_;
};

const char* modern_type(caffe::V1LayerParameter::LayerType type) {
  using V1 = caffe::V1LayerParameter;
  switch (type) {
    case V1::CONCAT:
      return "Concat";
    case V1::CONVOLUTION:
      return "Convolution";
    case V1::DATA:
      return "Data";
    case V1::DROPOUT:
      return "Dropout";
    case V1::FLATTEN:
      return "Flatten";
    case V1::INNER_PRODUCT:
      return "InnerProduct";
    case V1::ABSVAL:
      return "AbsVal";
    case V1::LRN:
      return "LRN";
    case V1::POOLING:
      return "Pooling";
    case V1::RELU:
      return "ReLU";
    case V1::SIGMOID:
      return "Sigmoid";
    case V1::SOFTMAX:
      return "Softmax";
    case V1::SOFTMAX_LOSS:
      return "SoftmaxWithLoss";
    case V1::SPLIT:
      return "Split";
    case V1::TANH:
      return "TanH";
    case V1::ELTWISE:
      return "Eltwise";
    case V1::POWER:
      return "Power";
    case V1::SLICE:
      return "Slice";
    case V1::DECONVOLUTION:
      return "Deconvolution";
    case V1::NONE:
      break;
  }
  return "(none)";
}

// Converts V1 layers to today's form.
void modernise(caffe::NetParameter* net) {
  for (caffe::V1LayerParameter& old : *net->mutable_layers()) {
    caffe::LayerParameter* layer = net->add_layer();
    layer->set_name(old.name());
    layer->set_type(modern_type(old.type()));
    layer->mutable_bottom()->Swap(old.mutable_bottom());
    layer->mutable_top()->Swap(old.mutable_top());
    layer->mutable_blobs()->Swap(old.mutable_blobs());
    layer->mutable_include()->Swap(old.mutable_include());
    layer->mutable_exclude()->Swap(old.mutable_exclude());
    if (old.has_concat_param()) layer->mutable_concat_param()->Swap(old.mutable_concat_param());
    if (old.has_convolution_param()) {
      layer->mutable_convolution_param()->Swap(old.mutable_convolution_param());
    }
    if (old.has_inner_product_param()) {
      layer->mutable_inner_product_param()->Swap(old.mutable_inner_product_param());
    }
    if (old.has_pooling_param()) layer->mutable_pooling_param()->Swap(old.mutable_pooling_param());
    if (old.has_power_param()) layer->mutable_power_param()->Swap(old.mutable_power_param());
    if (old.has_eltwise_param()) layer->mutable_eltwise_param()->Swap(old.mutable_eltwise_param());
    if (old.has_relu_param()) layer->mutable_relu_param()->Swap(old.mutable_relu_param());
    if (old.has_softmax_param()) layer->mutable_softmax_param()->Swap(old.mutable_softmax_param());
  }
  net->clear_layers();
}

}  // namespace

Result<caffe::NetParameter> read_prototxt(const std::string& path,
                                          std::vector<std::string>* warnings) {
  DVNN_ASSIGN(const std::string text, read_file(path, kMaxTextBytes));
  if (text.empty()) return malformed("'" + path + "' is empty");
  Collector collector(warnings);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kMaxMessageDepth);
  const auto parse = [&](google::protobuf::MessageLite* to) {
    google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
    return parser.Parse(&stream, static_cast<caffe::NetParameter*>(to));
  };
  caffe::NetParameter net;
  DVNN_TRY(check_message_memory(path, text.size(), net, parse));
  if (!parse(&net)) {
    return malformed("'" + path + "': " +
                     (collector.error().empty() ? "not a Caffe prototxt" : collector.error()));
  }
  modernise(&net);
  return net;
}

Result<caffe::NetParameter> read_caffemodel(const std::string& path) {
  caffe::NetParameter net;
  DVNN_TRY(parse_model_file(path, "a caffemodel", &net));
  modernise(&net);
  if (net.layer_size() == 0) return malformed("'" + path + "' holds no layers: not a caffemodel?");
  return net;
}

}  // namespace dvnn::import
