// SPDX-License-Identifier: Apache-2.0
// Walks over the layers, and has their table; the layers themselves are in the files beside.
#include "import/caffe/import.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <strings.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/file.h"
#include "base/format.h"
#include "base/nth.h"
#include "import/caffe/layers.h"
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

namespace {

// A row; old lower-case spellings of types match, too.
struct Entry {
  const char* type;
  Status (*import)(CaffeImporter*, const caffe::LayerParameter&);
};

constexpr Entry kLayers[] = {
#define DVNN_ROW(type, import) {type, import},
    DVNN_CAFFE_LAYERS(DVNN_ROW)
#undef DVNN_ROW
};

bool same_name(const std::string& a, const char* b) {
  return strcasecmp(a.c_str(), b) == 0;
}

// Returns whether a layer is for training only, hence not part of a deployed network.
bool for_training_only(const caffe::LayerParameter& layer) {
  if (layer.has_phase() && layer.phase() == caffe::TRAIN) return true;
  bool included = layer.include_size() == 0;
  for (const auto& rule : layer.include()) {
    included |= !rule.has_phase() || rule.phase() == caffe::TEST;
  }
  for (const auto& rule : layer.exclude()) {
    if (!rule.has_phase() || rule.phase() == caffe::TEST) return true;
  }
  return !included;
}

// Lists the layer's inputs that are results of other layers.
std::string blobs_before(const CaffeImporter& importer, const caffe::LayerParameter& layer) {
  std::string list;
  for (const std::string& name : layer.bottom()) {
    const auto it = importer.blobs_by_name.find(name);
    if (it == importer.blobs_by_name.end() || it->second == importer.builder.graph.input) continue;
    list += (list.empty() ? "" : ",") + name;
  }
  return list.empty() ? "NAME" : list;
}

Status import_layer(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  if (importer->options.custom_layers.count(caffe_custom_type(layer))) {
    Status status = import_custom(importer, layer);
    if (status.ok()) return status;
    return status.error().within("layer '" + layer.name() + "' (" + caffe_custom_type(layer) + ")");
  }
  for (const Entry& entry : kLayers) {
    if (same_name(layer.type(), entry.type)) {
      Status status = entry.import(importer, layer);
      if (status.ok()) return status;
      return refused_layer(status.error(), "layer '" + layer.name() + "' (" + layer.type() + ")",
                           static_cast<size_t>(layer.bottom_size()), importer->builder.graph);
    }
  }
  return unsupported("layer '" + layer.name() + "': type '" + layer.type() +
                     "' is not supported: docs/converter.md lists those that are, and "
                     "--layer-types declares your own; cut the model before it: --outputs " +
                     blobs_before(*importer, layer));
}

// Returns the layers of a deployed network.
std::vector<const caffe::LayerParameter*> deployed_layers(const caffe::NetParameter& net) {
  std::vector<const caffe::LayerParameter*> layers;
  for (const caffe::LayerParameter& layer : net.layer()) {
    if (!for_training_only(layer)) layers.push_back(&layer);
  }
  return layers;
}

// Drops the layers that the wanted blobs do not need. The value of a blob that several layers write
// in place is that of the last one.
Status cut(const ImportOptions& options, std::vector<const caffe::LayerParameter*>* layers,
           std::set<std::string>* needed) {
  std::vector<std::string> made;
  for (const caffe::LayerParameter* layer : *layers) {
    made.insert(made.end(), layer->top().begin(), layer->top().end());
  }
  for (const std::string& name : options.outputs) {
    if (std::find(made.begin(), made.end(), name) == made.end()) {
      return invalid_argument("--outputs " + name + ": the model makes no such blob; it makes " +
                              some_names(made));
    }
    needed->insert(name);
  }
  std::vector<const caffe::LayerParameter*> kept;
  for (size_t i = layers->size(); i-- > 0;) {
    const caffe::LayerParameter& layer = *(*layers)[i];
    bool is_needed = false;
    for (const std::string& top : layer.top()) is_needed |= needed->count(top) > 0;
    if (!is_needed) continue;
    needed->insert(layer.bottom().begin(), layer.bottom().end());
    kept.push_back(&layer);
  }
  std::reverse(kept.begin(), kept.end());
  *layers = std::move(kept);
  return {};
}

Status import_inputs(const caffe::NetParameter& net, const std::set<std::string>& needed,
                     CaffeImporter* importer) {
  for (int i = 0; i < net.input_size(); ++i) {
    if (!needed.empty() && needed.count(net.input(i)) == 0) continue;
    std::vector<int64_t> dims;
    if (i < net.input_shape_size()) {
      dims.assign(net.input_shape(i).dim().begin(), net.input_shape(i).dim().end());
    } else if (net.input_dim_size() >= 4 * (i + 1)) {
      dims.assign(net.input_dim().begin() + 4 * i, net.input_dim().begin() + 4 * (i + 1));
    }
    DVNN_TRY(importer->add_input(net.input(i), dims));
  }
  return {};
}

// Sets the graph's outputs: the requested blobs, or else those that no layer reads, as Caffe does.
// The graph's nodes are no guide, because two layers may have become one.
void set_outputs(const std::vector<const caffe::LayerParameter*>& layers, CaffeImporter* importer) {
  Graph& graph = importer->builder.graph;
  for (const std::string& name : importer->options.outputs) {
    graph.outputs.push_back(importer->blobs_by_name[name]);
    graph.output_names.push_back(name);
  }
  if (!graph.outputs.empty()) return;
  std::map<std::string, size_t> made;  // by blob: number of layers and tops before it
  size_t count = 0;
  for (const caffe::LayerParameter* layer : layers) {
    for (const std::string& blob : layer->bottom()) made.erase(blob);
    for (const std::string& blob : layer->top()) made[blob] = ++count;
  }
  std::map<size_t, std::string> left;
  for (const auto& [blob, at] : made) left[at] = blob;
  for (const auto& [at, blob] : left) {
    const auto known = importer->blobs_by_name.find(blob);
    if (known == importer->blobs_by_name.end() || known->second == graph.input) continue;
    graph.outputs.push_back(known->second);
    graph.output_names.push_back(blob);
  }
}

}  // namespace

Result<int> CaffeImporter::bottom(const caffe::LayerParameter& layer, int index) const {
  if (index >= layer.bottom_size()) {
    return malformed(format("needs input %d, has %d", index + 1, layer.bottom_size()));
  }
  const auto it = blobs_by_name.find(layer.bottom(index));
  if (it == blobs_by_name.end()) {
    return malformed("input '" + layer.bottom(index) + "' is made by no layer before it");
  }
  return it->second;
}

Status CaffeImporter::set_top(const caffe::LayerParameter& layer, int index, int value) {
  if (index >= layer.top_size()) return malformed("has no output (top)");
  blobs_by_name[layer.top(index)] = value;
  return {};
}

Status CaffeImporter::done(const caffe::LayerParameter& layer, const Result<int>& value) {
  if (!value.ok()) return value.error();
  if (layer.top_size() != 1) return malformed(format("has %d outputs, needs 1", layer.top_size()));
  nth(builder.graph.values, value.value()).name = layer.top(0);
  return set_top(layer, 0, value.value());
}

Status CaffeImporter::add_input(const std::string& name, std::vector<int64_t> dims) {
  input_names.push_back(name);
  if (const GivenInput* given = find_given(options, name)) {
    DVNN_ASSIGN(const auto values, fill_given(*given, &dims));
    DVNN_ASSIGN(blobs_by_name[name], builder.constant(name, dims, {values.begin(), values.end()}));
    return {};
  }
  if (builder.graph.input >= 0) {
    return ask_for_values(input_names);
  }
  if (dims.size() == 4 && options.width > 0) dims[2] = options.height, dims[3] = options.width;
  if (dims.size() == 4) dims[0] = 1;  // files give the batch size of training
  DVNN_ASSIGN(blobs_by_name[name], builder.input(name, dims));
  return {};
}

Result<Graph> import_caffe(const caffe::NetParameter& net, const caffe::NetParameter& weights,
                           const ImportOptions& options) {
  constexpr int kMaxLayers = 20000;
  CaffeImporter importer(weights, options);
  Graph& graph = importer.builder.graph;
  graph.name = net.name();
  if (net.layer_size() > kMaxLayers) {
    return too_large(format("%d layers, the limit is %d", net.layer_size(), kMaxLayers));
  }
  std::vector<const caffe::LayerParameter*> layers = deployed_layers(net);
  std::set<std::string> needed;  // empty: all are needed
  if (!options.outputs.empty()) DVNN_TRY(cut(options, &layers, &needed));
  DVNN_TRY(import_inputs(net, needed, &importer));
  for (const caffe::LayerParameter* layer : layers) DVNN_TRY(import_layer(&importer, *layer));
  DVNN_TRY(check_given(options, importer.input_names));
  if (graph.input < 0) return malformed("no input: neither an 'input' field nor an Input layer");
  set_outputs(layers, &importer);
  if (graph.outputs.empty()) return malformed("there are no layers");
  return std::move(graph);
}

}  // namespace dvnn::import
