// SPDX-License-Identifier: Apache-2.0
// Small Caffe models for tests: a prototxt as text, weights filled in from a seed.
#pragma once

#include <google/protobuf/text_format.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "import/caffe/import.h"

namespace dvnn::test {

/// A prototxt with an input of that size and these layers.
inline std::string network_text(int channels, int height, int width, const std::string& layers) {
  return "name: \"t\" input: \"data\" input_shape { dim: 1 dim: " + std::to_string(channels) +
         " dim: " + std::to_string(height) + " dim: " + std::to_string(width) + " } " + layers;
}

/// `layer { name type bottom top extra }`.
inline std::string layer(const std::string& name, const std::string& type,
                         const std::string& bottom, const std::string& top,
                         const std::string& extra = "") {
  return "layer { name: \"" + name + "\" type: \"" + type + "\" bottom: \"" + bottom +
         "\" top: \"" + top + "\" " + extra + " } ";
}

class Weights {
 public:
  explicit Weights(unsigned seed = 1) : random_(seed) {}
  /// Adds a blob of that shape, with values in [low, high], to a layer.
  Weights& blob(const std::string& layer_name, std::vector<int> shape, float low = -0.5f,
                float high = 0.5f) {
    int count = 1;
    for (int d : shape) count *= d;
    caffe::LayerParameter* found = nullptr;
    for (auto& l : *net_.mutable_layer()) {
      if (l.name() == layer_name) found = &l;
    }
    if (!found) {
      found = net_.add_layer();
      found->set_name(layer_name);
    }
    std::uniform_real_distribution<float> value(low, high);
    caffe::BlobProto* blob = found->add_blobs();
    for (int i = 0; i < count; ++i) blob->add_data(value(random_));
    for (int d : shape) blob->mutable_shape()->add_dim(d);
    return *this;
  }
  Weights& blob(const std::string& layer_name, int count, float low = -0.5f, float high = 0.5f) {
    return blob(layer_name, std::vector<int>{count}, low, high);
  }
  const caffe::NetParameter& net() const { return net_; }

 private:
  caffe::NetParameter net_;
  std::mt19937 random_;
};

/// Both files of a model, removed with the object.
class ModelFiles {
 public:
  ModelFiles(const std::string& text, const caffe::NetParameter& weights) {
    prototxt = temporary();
    caffemodel = temporary();
    std::ofstream(prototxt) << text;
    std::ofstream out(caffemodel, std::ios::binary);
    // An empty message makes an empty file, which is another error.
    caffe::NetParameter named = weights;
    named.set_name("weights");
    if (named.layer_size() == 0) named.add_layer()->set_name("none");
    named.SerializeToOstream(&out);
  }
  ~ModelFiles() {
    unlink(prototxt.c_str());
    unlink(caffemodel.c_str());
  }
  Result<network::Model> convert(convert::ConvertOptions options = {},
                                 convert::Report* report = nullptr) const {
    return convert::convert_caffe(prototxt, caffemodel, options, report);
  }
  std::string prototxt, caffemodel;

 private:
  static std::string temporary() {
    std::string path = "/tmp/dvnn-caffe-XXXXXX";
    close(mkstemp(&path[0]));
    return path;
  }
};

}  // namespace dvnn::test
