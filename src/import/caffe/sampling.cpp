// SPDX-License-Identifier: Apache-2.0
// Layers that cut, sample and compare, of Caffe and of forks that many models come from.
#include <algorithm>

#include "base/format.h"
#include "import/caffe/layers.h"

namespace dvnn::import {
namespace {

using kernels::Operation;

// Returns the size of an interpolated side. Source: the Interp layer of DeepLab and PSPNet.
int64_t interpolated(int64_t size, int64_t wanted, const caffe::InterpParameter& p) {
  if (wanted > 0) return wanted;
  if (p.shrink_factor() > 1) size = (size - 1) / p.shrink_factor() + 1;
  return size + (size - 1) * (p.zoom_factor() - 1);
}

}  // namespace

Status import_abs(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  return importer->done(layer, importer->builder.unary(layer.name(), kernels::Curve::kAbs, in));
}

// Multiplies the second input by the first, a number per channel, and adds the third.
Status import_axpy(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  GraphBuilder& b = importer->builder;
  DVNN_ASSIGN(int scale, importer->bottom(layer, 0));
  DVNN_ASSIGN(const int x, importer->bottom(layer, 1));
  DVNN_ASSIGN(const int y, importer->bottom(layer, 2));
  if (b.shape_of(scale).rank == 2) {
    const Shape shape = b.shape_of(scale);
    DVNN_ASSIGN(scale, b.reshape(layer.name() + "_scale", scale, {shape[0], shape[1], 1, 1}));
  }
  DVNN_ASSIGN(const int scaled, b.binary(layer.name() + "_scaled", Operation::kMul, x, scale));
  return importer->done(layer, b.sum(layer.name(), scaled, y));
}

// Cuts the first input to the size of the second, along `axis` and all that follow.
Status import_crop(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  GraphBuilder& b = importer->builder;
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  DVNN_ASSIGN(const int like, importer->bottom(layer, 1));
  const Shape from = b.shape_of(in), to = b.shape_of(like);
  const caffe::CropParameter& p = layer.crop_param();
  const int axis = p.axis() < 0 ? p.axis() + from.rank : p.axis();
  if (from.rank != to.rank || axis < 0 || axis >= from.rank) {
    return malformed(from.to_string() + " cannot be cropped as " + to.to_string());
  }
  const size_t rank = from.axes();
  std::vector<int64_t> begin(rank, 0), dims = dims_of(from);
  const std::vector<int64_t> step(rank, 1);
  for (int i = axis; i < from.rank; ++i) {
    const auto k = static_cast<size_t>(i);
    const int offsets = p.offset_size();
    if (offsets > 0) begin[k] = p.offset(std::min(i - axis, offsets - 1));
    dims[k] = to[i];
    if (begin[k] + dims[k] > from[i]) {
      return malformed(format("axis %d: %lld elements from %lld on of %d", i,
                              static_cast<long long>(dims[k]), static_cast<long long>(begin[k]),
                              from[i]));
    }
  }
  if (dims == dims_of(from)) return importer->done(layer, in);
  return importer->done(layer, b.slice(layer.name(), in, begin, step, dims));
}

// Interpolates bilinearly, with aligned corners.
Status import_interp(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  GraphBuilder& b = importer->builder;
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  const Shape shape = b.shape_of(in);
  const caffe::InterpParameter& p = layer.interp_param();
  if (shape.rank != 4 || p.pad_beg() != 0 || p.pad_end() != 0) {
    return unsupported("needs a picture without pads");
  }
  int64_t height = p.height(), width = p.width();
  if (layer.bottom_size() > 1) {
    DVNN_ASSIGN(const int like, importer->bottom(layer, 1));
    if (b.shape_of(like).rank != 4) return malformed("needs two pictures");
    height = b.shape_of(like).h();
    width = b.shape_of(like).w();
  }
  height = interpolated(shape.h(), height, p);
  width = interpolated(shape.w(), width, p);
  constexpr int64_t kMost = 1 << 15;
  if (height < 1 || width < 1 || height > kMost || width > kMost) {
    return malformed(format("makes %lld x %lld pixels", static_cast<long long>(width),
                            static_cast<long long>(height)));
  }
  layers::ResizeAttributes resize;
  resize.mode = layers::ResizeAttributes::Mode::kLinear;
  resize.coordinates = layers::ResizeAttributes::Coordinates::kAlignCorners;
  resize.sizes = {shape.n(), shape.c(), static_cast<int>(height), static_cast<int>(width)};
  return importer->done(layer, b.cpu(layer.name(), std::move(resize), {in}));
}

Status import_lrn(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  DVNN_ASSIGN(const int in, importer->bottom(layer, 0));
  const caffe::LRNParameter& p = layer.lrn_param();
  constexpr uint32_t kMost = 1 << 15;
  if (p.norm_region() != caffe::LRNParameter::ACROSS_CHANNELS || p.local_size() % 2 == 0 ||
      p.local_size() > kMost) {
    return unsupported("only norm_region ACROSS_CHANNELS with an odd local_size is supported");
  }
  layers::LrnAttributes lrn;
  lrn.size = static_cast<int>(p.local_size());
  lrn.alpha = p.alpha();
  lrn.beta = p.beta();
  lrn.bias = p.k();
  return importer->done(layer, importer->builder.cpu(layer.name(), lrn, {in}));
}

}  // namespace dvnn::import
