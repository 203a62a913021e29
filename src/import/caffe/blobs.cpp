// SPDX-License-Identifier: Apache-2.0
#include "import/caffe/blobs.h"

#include <cmath>

#include "base/format.h"

namespace dvnn::import {

CaffeBlobs::CaffeBlobs(const caffe::NetParameter& weights) {
  for (const caffe::LayerParameter& layer : weights.layer()) {
    if (layer.blobs_size() > 0) layers_[layer.name()] = &layer;
  }
}

int CaffeBlobs::count(const std::string& layer) const {
  const auto it = layers_.find(layer);
  return it == layers_.end() ? 0 : it->second->blobs_size();
}

Result<std::vector<float>> CaffeBlobs::get(const std::string& layer, int index) const {
  if (index >= count(layer)) {
    return malformed(
        format("the caffemodel has %d of its blobs, number %d is needed", count(layer), index + 1));
  }
  const caffe::BlobProto& blob = layers_.at(layer)->blobs(index);
  std::vector<float> values(blob.data().begin(), blob.data().end());
  if (values.empty()) values.assign(blob.double_data().begin(), blob.double_data().end());
  for (float v : values) {
    if (!std::isfinite(v)) {
      return malformed(format("blob %d holds a value that is not finite", index));
    }
  }
  return values;
}

Result<std::vector<float>> CaffeBlobs::get(const std::string& layer, int index,
                                           size_t elements) const {
  DVNN_ASSIGN(auto values, get(layer, index));
  if (values.size() == elements) return values;
  return malformed(
      format("blob %d holds %zu values, the layer needs %zu", index, values.size(), elements));
}

}  // namespace dvnn::import
