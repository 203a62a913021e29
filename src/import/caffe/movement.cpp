// SPDX-License-Identifier: Apache-2.0
// Layers that join, reshape and decode.
#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "import/caffe/layers.h"

namespace dvnn::import {
namespace {

// Resolves an axis that may count from the end.
Result<int> axis_of(const Shape& shape, int axis) {
  const int from_start = axis < 0 ? axis + shape.rank : axis;
  if (from_start >= 0 && from_start < shape.rank) return from_start;
  return malformed(format("axis %d does not exist in %s", axis, shape.to_string().c_str()));
}

// Adds a CPU layer for this one.
Status add_cpu(CaffeImporter* importer, const caffe::LayerParameter& layer,
               layers::LayerAttributes attributes, std::vector<int> inputs,
               std::vector<int> shape_inputs = {}) {
  return importer->done(layer, importer->builder.cpu(layer.name(), std::move(attributes),
                                                     std::move(inputs), std::move(shape_inputs)));
}

Result<std::vector<int>> all_bottoms(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  std::vector<int> values;
  for (int i = 0; i < layer.bottom_size(); ++i) {
    DVNN_ASSIGN(const int value, importer->bottom(layer, i));
    values.push_back(value);
  }
  if (values.empty()) return malformed("has no input");
  return values;
}

}  // namespace

Status import_input(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  if (layer.top_size() != 1 || layer.input_param().shape_size() != 1) {
    return malformed("needs one output and one input_param.shape");
  }
  const auto& dim = layer.input_param().shape(0).dim();
  return importer->add_input(layer.top(0), std::vector<int64_t>(dim.begin(), dim.end()));
}

// Imports a training file's source of pictures. Their size is that of the crop, if the file gives
// one.
Status import_data(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const int64_t crop = layer.transform_param().crop_size();
  if (layer.top_size() < 1 || (crop == 0 && importer->options.width == 0)) {
    return unsupported(
        "does not say how large pictures are: give --size WxH, or use the deploy prototxt");
  }
  return importer->add_input(layer.top(0), {1, 3, crop, crop});
}

Status import_identity(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  return importer->set_top(layer, 0, in);
}

Status import_split(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  for (int i = 0; i < layer.top_size(); ++i) DVNN_TRY(importer->set_top(layer, i, in));
  return {};
}

Status import_concat(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const auto& p = layer.concat_param();
  DVNN_ASSIGN(const auto inputs, all_bottoms(importer, layer));
  const int axis = p.has_concat_dim() ? static_cast<int>(p.concat_dim()) : p.axis();
  return importer->done(layer, importer->builder.concat(layer.name(), inputs, axis));
}

Status import_eltwise(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  using P = caffe::EltwiseParameter;
  const P& p = layer.eltwise_param();
  DVNN_ASSIGN(auto inputs, all_bottoms(importer, layer));
  const Shape shape = importer->builder.shape_of(inputs[0]);
  for (int value : inputs) {
    if (importer->builder.shape_of(value) != shape) {
      return malformed("inputs differ: " + shape.to_string() + " and " +
                       importer->builder.shape_of(value).to_string());
    }
  }
  if (p.coeff_size() != 0 &&
      (p.coeff_size() != static_cast<int>(inputs.size()) || p.operation() != P::SUM)) {
    return malformed("coeff goes with SUM and needs one value per input");
  }
  const bool plain_sum =
      p.operation() == P::SUM && inputs.size() > 1 && shape.rank == 4 &&
      std::all_of(p.coeff().begin(), p.coeff().end(), [](float c) { return c == 1; });
  if (plain_sum) {
    Result<int> sum = inputs[0];
    for (size_t i = 1; i < inputs.size() && sum.ok(); ++i) {
      sum = importer->builder.sum(layer.name(), sum.value(), inputs[i]);
    }
    return importer->done(layer, sum);
  }
  using kernels::Operation;
  const Operation operation = p.operation() == P::PROD  ? Operation::kMul
                              : p.operation() == P::MAX ? Operation::kMax
                                                        : Operation::kAdd;
  return importer->done(
      layer, importer->builder.combined(layer.name(), operation,
                                        {p.coeff().begin(), p.coeff().end()}, std::move(inputs)));
}

Status import_softmax(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  return importer->done(layer,
                        importer->builder.softmax(layer.name(), in, layer.softmax_param().axis()));
}

Status import_flatten(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  const Shape shape = importer->builder.shape_of(in);
  DVNN_ASSIGN(const int first, axis_of(shape, layer.flatten_param().axis()));
  DVNN_ASSIGN(const int last, axis_of(shape, layer.flatten_param().end_axis()));
  if (last < first) return malformed("end_axis lies before axis");
  std::vector<int64_t> dims;
  for (int i = 0; i < shape.rank; ++i) {
    if (i > first && i <= last) {
      dims.back() *= shape[i];
    } else {
      dims.push_back(shape[i]);
    }
  }
  return importer->done(layer, importer->builder.reshape(layer.name(), in, dims));
}

Status import_reshape(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const auto& p = layer.reshape_param();
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  const Shape shape = importer->builder.shape_of(in);
  if (p.axis() != 0 || p.num_axes() != -1) {
    return unsupported("only axis 0 and num_axes -1 are supported");
  }
  std::vector<int64_t> dims;
  int64_t known = 1, inferred = -1;
  for (int i = 0; i < p.shape().dim_size(); ++i) {
    int64_t d = p.shape().dim(i);
    if (d == 0 && i < shape.rank) d = shape[i];  // 0: as in the input
    if (d == -1 && inferred < 0) {
      inferred = i;
    } else if (d < 1 || d > shape.elements()) {
      return malformed(format("shape.dim %lld does not fit the input %s",
                              static_cast<long long>(p.shape().dim(i)), shape.to_string().c_str()));
    } else if ((known *= d) > shape.elements()) {
      break;
    }
    dims.push_back(d);
  }
  if (inferred >= 0 && shape.elements() % known == 0) {
    nth(dims, inferred) = shape.elements() / known;
    known = shape.elements();
  }
  if (known != shape.elements()) {
    return malformed("the shape does not hold the elements of the input " + shape.to_string());
  }
  return importer->done(layer, importer->builder.reshape(layer.name(), in, dims));
}

Status import_permute(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  const Shape shape = importer->builder.shape_of(in);
  const auto& named = layer.permute_param().order();
  std::vector<int64_t> order(named.begin(), named.end());
  // Axes that are not named follow in their own order, as in Caffe-SSD.
  for (int64_t i = 0; i < shape.rank; ++i) {
    if (std::find(order.begin(), order.end(), i) == order.end()) order.push_back(i);
  }
  return importer->done(layer, importer->builder.permute(layer.name(), in, order));
}

Status import_normalize(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const auto& p = layer.norm_param();
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  const Shape shape = importer->builder.shape_of(in);
  if (shape.rank != 4) return unsupported("needs a 4-dimensional input, has " + shape.to_string());
  const size_t count = p.channel_shared() ? 1 : shape.channels();
  DVNN_ASSIGN(auto scale, importer->blobs.get(layer.name(), 0, count));
  return add_cpu(
      importer, layer,
      layers::NormalizeAttributes{p.across_spatial(), p.channel_shared(), p.eps(), scale}, {in});
}

Status import_prior_box(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const auto& p = layer.prior_box_param();
  DVNN_ASSIGN(const int grid, importer->bottom(layer, 0));
  DVNN_ASSIGN(const int image, importer->bottom(layer, 1));
  const Shape g = importer->builder.shape_of(grid), picture = importer->builder.shape_of(image);
  if (g.rank != 4 || picture.rank != 4) return malformed("needs a feature map and a picture");
  auto list = [](const google::protobuf::RepeatedField<float>& f) {
    return std::vector<float>(f.begin(), f.end());
  };
  const uint32_t img_w = p.img_size() ? p.img_size() : p.img_w();
  const uint32_t img_h = p.img_size() ? p.img_size() : p.img_h();
  const Json params = {{"min_sizes", list(p.min_size())},
                       {"max_sizes", list(p.max_size())},
                       {"aspect_ratios", list(p.aspect_ratio())},
                       {"flip", p.flip()},
                       {"clip", p.clip()},
                       {"variances", list(p.variance())},
                       {"img_w", img_w ? img_w : static_cast<uint32_t>(picture.w())},
                       {"img_h", img_h ? img_h : static_cast<uint32_t>(picture.h())},
                       {"layer_w", g.w()},
                       {"layer_h", g.h()},
                       {"step_w", p.has_step() ? p.step() : p.step_w()},
                       {"step_h", p.has_step() ? p.step() : p.step_h()},
                       {"offset", p.offset()}};
  DVNN_ASSIGN(auto attributes, layers::PriorBoxAttributes::parse(params));
  // Boxes depend only on the parameters and on the sizes of the inputs.
  std::vector<int> sizes = {grid};
  if (img_w == 0) sizes.push_back(image);
  return add_cpu(importer, layer, std::move(attributes), {}, std::move(sizes));
}

Status import_detection_output(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const auto& p = layer.detection_output_param();
  DVNN_ASSIGN(const auto inputs, all_bottoms(importer, layer));
  if (inputs.size() != 3) {
    return malformed(
        format("needs 3 inputs (locations, confidences, priors), has %zu", inputs.size()));
  }
  static constexpr const char* kCodes[] = {"", "corner", "center_size", "corner_size"};
  const Json params = {{"num_classes", p.num_classes()},
                       {"share_location", p.share_location()},
                       {"background_label_id", p.background_label_id()},
                       {"nms_threshold", p.nms_param().nms_threshold()},
                       {"nms_top_k", p.nms_param().has_top_k() ? p.nms_param().top_k() : -1},
                       {"nms_eta", p.nms_param().eta()},
                       {"code_type", kCodes[p.code_type()]},
                       {"variance_encoded_in_target", p.variance_encoded_in_target()},
                       {"keep_top_k", p.keep_top_k()},
                       {"confidence_threshold", p.confidence_threshold()}};
  DVNN_ASSIGN(auto attributes, layers::DetectionOutputAttributes::parse(params));
  return add_cpu(importer, layer, attributes, inputs);
}

}  // namespace dvnn::import
