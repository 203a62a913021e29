// SPDX-License-Identifier: Apache-2.0
// The weights of a caffemodel, found by layer name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "caffe.pb.h"

namespace dvnn::import {

class CaffeBlobs {
 public:
  explicit CaffeBlobs(const caffe::NetParameter& weights);
  /// Number of blobs of a layer; 0 if the model does not have it.
  int count(const std::string& layer) const;
  /// Returns blob `index` of a layer: any number of finite floats.
  Result<std::vector<float>> get(const std::string& layer, int index) const;
  /// Returns blob `index` of a layer: exactly `elements` finite floats, or an error that names the
  /// blob; the caller adds the layer.
  Result<std::vector<float>> get(const std::string& layer, int index, size_t elements) const;

 private:
  std::map<std::string, const caffe::LayerParameter*> layers_;
};

}  // namespace dvnn::import
